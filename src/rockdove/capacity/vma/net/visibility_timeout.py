"""Visibility_Timeout, Figure 9: a timer for each message that is under way."""

from rockdove.capacity.petri import LOW, Net
from rockdove.capacity.vma.net.colour import L_IDX_VIS, MSG, MSG_TIMEOUT, MSGS, SECOND
from rockdove.capacity.vma.net.function import FUNCTIONS
from rockdove.capacity.vma.scenario import Option, Scenario


def visibility_timeout(scenario: Scenario) -> Net:
    """Cancel (Algorithm 1) and Trigger (Algorithm 2), over Queue, Msg_Vis, Invisible, Timer and Delete_Req.

    Chosen where the figure is lost:

    - Cancel does not take the timer: its token cannot be taken before its time. Trigger takes it then and finds no
      entry in Invisible, which is the else branch of Algorithm 2.
    - Trigger is of low priority, so that an acknowledgement of the same moment is heard first.
    - Under in-order, Queue_Index stands in for Msg_Vis.
    """
    net = Net("Visibility_Timeout", FUNCTIONS, visibility_timeout.__doc__ or "", SECOND)
    visible = "Queue_Index" if scenario.option is Option.IN_ORDER else "Msg_Vis"

    net.port("Queue", MSGS)
    net.port(visible, L_IDX_VIS)
    net.port("Invisible", L_IDX_VIS)
    net.port("Timer", MSG_TIMEOUT)
    net.port("Delete_Req", MSG)

    net.transition(
        "Cancel",
        {"Delete_Req": "msgd", "Queue": "msgs", "Invisible": "hidden"},
        {"Queue": "left", "Invisible": "lindexxvis"},
        code="left, lindexxvis = cancelTimer(msgd, msgs, *pick(hidden, msgd.id))",
    )
    net.transition(
        "Trigger",
        {"Timer": "n", visible: "lindexxvis", "Invisible": "hidden"},
        {visible: "shown", "Invisible": "lindexxvis2"},
        code="indexxvis, rest = pick(hidden, n); shown, lindexxvis2 = triggerTimer(n, indexxvis, lindexxvis, rest)",
        priority=LOW,
    )
    return net
