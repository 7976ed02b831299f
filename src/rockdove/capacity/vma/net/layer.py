"""The two upper layers: Layer 1 (Figure 4) and Layer 2 (Figure 5)."""

from rockdove.capacity.petri import Net
from rockdove.capacity.vma.net.broker import broker
from rockdove.capacity.vma.net.colour import L_IDX_VIS, MSG, MSG_X_TIME, MSGS, REQ, RT_X_MSG, SECOND, SENDER
from rockdove.capacity.vma.net.recv_proc import recv_proc
from rockdove.capacity.vma.net.send_proc import send_proc
from rockdove.capacity.vma.scenario import Option, Scenario


def layer_1(scenario: Scenario) -> Net:
    """Senders (Sender) and Receivers (RTxMsg), with the subtransition Cloud_queue between them."""
    net = Net("Layer_1", description=layer_1.__doc__ or "", second=SECOND)
    net.place("Senders", SENDER, "sender")
    net.place("Receivers", RT_X_MSG)
    net.substitute("Cloud_queue", layer_2(scenario), {"Senders": "Senders", "Receivers": "Receivers"})
    return net


def layer_2(scenario: Scenario) -> Net:
    """The subtransitions Send_Proc, Broker and Recv_Proc, joined by places.

    The figure's places are lost, but for Queue and Msg_Vis (Queue_Index under in-order), which senders and broker
    share. Between broker and receivers there are Req (a thread asks), Msg_Out (a message for it) and Delete_Req (an
    acknowledgement).
    """
    visible = "Queue_Index" if scenario.option is Option.IN_ORDER else "Msg_Vis"
    net = Net("Layer_2", description=layer_2.__doc__ or "", second=SECOND)
    net.port("Senders", SENDER)
    net.place("Queue", MSGS)
    net.place(visible, L_IDX_VIS)
    net.place("Req", REQ)
    net.place("Msg_Out", MSG_X_TIME)
    net.place("Delete_Req", MSG)
    net.port("Receivers", RT_X_MSG)
    _join(net, "Send_Proc", send_proc(scenario), ("Senders", "Queue", visible))
    _join(net, "Broker", broker(scenario), ("Queue", visible, "Req", "Msg_Out", "Delete_Req"))
    _join(net, "Recv_Proc", recv_proc(scenario), ("Req", "Msg_Out", "Delete_Req", "Receivers"))
    return net


def _join(net: Net, name: str, page: Net, shared: tuple[str, ...]) -> None:
    net.substitute(name, page, {each: each for each in shared})
