"""Recv_Proc, Figure 8: broker threads forward messages over the link, and receivers take them."""

from rockdove.capacity.petri import INT, Net
from rockdove.capacity.vma.net.colour import (
    MSG,
    MSG_ON_LINK,
    MSG_X_TIME,
    REQ,
    RT_X_MSG,
    SECOND,
    THREAD,
    THREAD_X_MSG,
)
from rockdove.capacity.vma.scenario import Scenario


def recv_proc(scenario: Scenario) -> Net:
    """Request, Process, Forward, Receive, Deliver.

    Chosen where the figure is lost:

    - Thread_Pool has the n2 broker threads, as Section 6.3 sees it in this figure. A free one asks the broker for a
      message (Request), is busy with it for a service time (Process), and is free again when the message is on the link
      (Forward).
    - Whether a message is lost shows at the end of the link (Receive), with probability p = 1 - q; Lost counts them.
    - The acknowledgement (Delete_Req) reaches the broker at once.
    """
    net = Net(
        "Recv_Proc",
        {"n2": scenario.n2, "q": scenario.q, "D_link": round(scenario.link_s * SECOND)},
        recv_proc.__doc__ or "",
        SECOND,
    )
    net.port("Req", REQ)
    net.port("Msg_Out", MSG_X_TIME)
    net.port("Delete_Req", MSG)
    net.port("Receivers", RT_X_MSG)
    net.place("Thread_Pool", THREAD, "times(n2, thread)")
    net.place("Processing", THREAD_X_MSG)
    net.place("Link", MSG_ON_LINK)
    net.place("Received", MSG_X_TIME)
    net.place("Lost", INT, [0])

    net.transition("Request", {"Thread_Pool": "thread"}, {"Req": "req"})
    net.transition("Process", {"Msg_Out": "(msg, busy)"}, {"Processing": "(thread, msg) @+ busy"})
    net.transition("Forward", {"Processing": "(thread, msg)"}, {"Thread_Pool": "thread", "Link": "msg @+ D_link"})
    net.transition(
        "Receive",
        {"Link": "msg", "Lost": "n"},
        {"Received": "(msg, now) if ok else empty", "Lost": "n if ok else n + 1"},
        code="ok = bernoulli(q)",
    )
    net.transition(
        "Deliver",
        {"Received": "(msg, recvtime)"},
        {"Receivers": "(recvtime, msg)", "Delete_Req": "msg"},
    )
    return net
