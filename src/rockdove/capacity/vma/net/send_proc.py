"""Send_Proc, Figure 6: messages are made, sent by threads over the link, and put into the queue."""

from rockdove.capacity.petri import INT, Net
from rockdove.capacity.vma.net.colour import (
    L_IDX_VIS,
    L_MSG_X_TIME,
    MSG,
    MSG_TIMED,
    MSGS,
    SECOND,
    SENDER,
    THREAD,
    THREAD_X_MSG,
    UNIT_TIMED,
)
from rockdove.capacity.vma.net.service import service
from rockdove.capacity.vma.scenario import Option, Scenario

# The nodes that keep a copy of each message; writing to them takes no time.
REPLICAS = 3


def send_proc(scenario: Scenario) -> Net:
    """13 places and 7 transitions, as the paper counts them.

    Figure 6 itself is lost. Known are the counts, the places Thread_Pool, Msg_ID (which starts at 1), Queue and
    Msg_Vis, and what a sender does. Chosen:

    - Next paces Produce, so that messages are made by a Poisson process. Senders has the one sender that makes them.
    - Buffer holds messages that wait for a thread, with the time since which they do (LMsgxTime), first come first
      served.
    - The link delays a MsgTimed, which has no IT and OT yet. Locate sets IT.
    - Locate and Replicate are what Section 6.1 tells of a sender: find the queue, put the message into its nodes
      redundantly. Both take no time.
    - The paper says that this net serves both options. Under in-order, the interface place is Queue_Index, which points
      at messages before they arrive, so Enqueue leaves it as it is.
    """
    net = Net(
        "Send_Proc",
        {
            "arrival": scenario.arrival / SECOND,
            "mu1": scenario.sender_rate / SECOND,
            "n1": scenario.n1,
            "D_link": round(scenario.link_s * SECOND),
            "replicas": REPLICAS,
        },
        send_proc.__doc__ or "",
        SECOND,
    )
    is_ordered = scenario.option is Option.IN_ORDER
    visible = "Queue_Index" if is_ordered else "Msg_Vis"

    net.port("Senders", SENDER)
    net.place("Next", UNIT_TIMED, "unit @+ round(exponential(arrival))")
    net.place("Msg_ID", INT, [1])
    net.place("Produced", MSG)
    net.place("Buffer", L_MSG_X_TIME, [()])
    net.place("Thread_Pool", THREAD, "times(n1, thread)")
    net.place("Sending", THREAD_X_MSG)
    net.place("Link", MSG_TIMED)
    net.place("Arrived", MSG)
    net.place("Nodes", INT, "replicas")
    net.place("Stored", MSG)
    net.port("Queue", MSGS)
    net.port(visible, L_IDX_VIS)

    net.transition(
        "Produce",
        {"Next": "unit", "Msg_ID": "n"},
        {
            "Next": "unit @+ round(exponential(arrival))",
            "Msg_ID": "n + 1",
            "Produced": "Msg(n, A, now, 0, 0)",
        },
        reads={"Senders": "sender"},
    )
    net.transition("Join", {"Produced": "msg", "Buffer": "waiting"}, {"Buffer": "waiting + [(msg, now)]"})
    net.transition(
        "Get_Thread",
        {"Buffer": "[(msg, since), *waiting]", "Thread_Pool": "thread"},
        {"Buffer": "waiting", "Sending": f"(thread, msg) @+ {service('mu1', scenario.sender_scv)}"},
    )
    net.transition(
        "Send",
        {"Sending": "(thread, msg)"},
        {"Thread_Pool": "thread", "Link": "MsgTimed(msg.id, msg.msgContent, msg.AT) @+ D_link"},
    )
    net.transition("Locate", {"Link": "MsgTimed(msgid, content, at)"}, {"Arrived": "Msg(msgid, content, at, now, 0)"})
    net.transition("Replicate", {"Arrived": "msg"}, {"Stored": "msg"}, reads={"Nodes": "copies"})
    net.transition(
        "Enqueue",
        {"Stored": "msg", "Queue": "msgs"} | ({} if is_ordered else {visible: "lidxvis"}),
        {"Queue": "msgs + [msg]"} | ({} if is_ordered else {visible: "lidxvis + [(msg.id, visible)]"}),
    )
    return net
