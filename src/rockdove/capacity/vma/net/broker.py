"""Broker, Figure 7 (out of order) and Figure 10 (in order): gives visible messages to those who ask for them."""

from rockdove.capacity.petri import Net
from rockdove.capacity.vma.net.colour import L_IDX_VIS, MSG, MSG_TIMEOUT, MSG_X_TIME, MSGS, REQ, SECOND
from rockdove.capacity.vma.net.function import FUNCTIONS
from rockdove.capacity.vma.net.service import service
from rockdove.capacity.vma.net.visibility_timeout import visibility_timeout
from rockdove.capacity.vma.scenario import Option, Scenario


def broker(scenario: Scenario) -> Net:
    """Get_Msg, or Get_Oldest_Msg under in-order, and the subtransition Visibility_Timeout.

    Chosen where the figures are lost:

    - A message is given out for a request (REQ); Recv_Proc has one for each broker thread that is free.
    - The time that the thread will take is drawn here and goes along (MsgxTime). Timer is set to the visibility
      timeout, but not to less than this attempt: a message is visible again only when it was lost, and there are no
      duplicates. The paper's experiments have none either.
    - Queue_Index is a list of the same form as Msg_Vis. Its last entry is the number of the next message that was never
      given out, whether or not it has arrived; those before it were lost and wait to be given out again. The head is
      the one to give out; Get_Oldest_Msg waits until it has arrived (Algorithm 4).
    """
    is_ordered = scenario.option is Option.IN_ORDER
    visible = "Queue_Index" if is_ordered else "Msg_Vis"
    constants = {
        "mu2": scenario.broker_rate / SECOND,
        "D_link": round(scenario.link_s * SECOND),
        "timeout": round(scenario.timeout_s * SECOND),
    }
    net = Net("Broker", {**FUNCTIONS, **constants}, broker.__doc__ or "", SECOND)

    net.port("Queue", MSGS, [()])
    net.port(visible, L_IDX_VIS, [((1, "visible"),)] if is_ordered else [()])
    net.place("Invisible", L_IDX_VIS, [()])
    net.place("Timer", MSG_TIMEOUT)
    net.port("Req", REQ)
    net.port("Msg_Out", MSG_X_TIME)
    net.port("Delete_Req", MSG)

    following = "rest or [(msgid + 1, visible)]" if is_ordered else "rest"
    net.transition(
        "Get_Oldest_Msg" if is_ordered else "Get_Msg",
        {visible: "[(msgid, visible), *rest]", "Req": "req", "Invisible": "hidden"},
        {
            visible: following,
            "Invisible": "hidden + [(msgid, invisible)]",
            "Msg_Out": "(Msg(msg.id, msg.msgContent, msg.AT, msg.IT, now), busy)",
            "Timer": "msgid @+ max(timeout, busy + D_link)",
        },
        reads={"Queue": "msgs"},
        guard="ifMsgArrived(msgs, msgid)" if is_ordered else "",
        code=f"msg = getIndexMsg(msgs, msgid); busy = {service('mu2', scenario.broker_scv)}",
    )
    shared = ("Queue", visible, "Invisible", "Timer", "Delete_Req")
    net.substitute("Visibility_Timeout", visibility_timeout(scenario), {name: name for name in shared})
    return net
