"""The functions of Algorithms 1 to 4, under the paper's names."""

from typing import Any

Msg = Any
Msgs = tuple[Msg, ...]
IdxVis = tuple[int, str]
LIdxVis = tuple[IdxVis, ...]


def set_o_time_zero(msg: Msg) -> Msg:
    """The message as it stands in the queue, where nothing has been dequeued yet."""
    return type(msg)(msg[0], msg[1], msg[2], msg[3], 0)


def pick(lindexxvis: LIdxVis, msgid: int) -> tuple[IdxVis, LIdxVis]:
    """The entry of a message and the others.

    Algorithms 1 and 2 look at the head of the list Invisible alone; it is brought there by this. A message without an
    entry gives the entry (0, invisible), which is nobody's.
    """
    for place, entry in enumerate(lindexxvis):
        if entry[0] == msgid:
            return entry, lindexxvis[:place] + lindexxvis[place + 1 :]
    return (0, "invisible"), lindexxvis


def cancel_timer(msgd: Msg, msgs: Msgs, indexxvis: IdxVis, lindexxvis: LIdxVis) -> tuple[Msgs, LIdxVis]:
    """Algorithm 1: cancel the timer on the message and delete its real content in the queue."""
    msgd0 = set_o_time_zero(msgd)
    if indexxvis[0] == msgd.id:
        place = msgs.index(msgd0)
        return msgs[:place] + msgs[place + 1 :], lindexxvis
    return msgs, (indexxvis, *lindexxvis)


def trigger_timer(n: int, indexxvis: IdxVis, lindexxvis: LIdxVis, lindexxvis2: LIdxVis) -> tuple[LIdxVis, LIdxVis]:
    """Algorithm 2: trigger the timer on the message and make it ready to be sent, at the head.

    The else branch is that of a message that has been delivered and deleted. As `pick` found no entry for it, there is
    none to put back.
    """
    if indexxvis[0] == n:
        return ((indexxvis[0], "visible"), *lindexxvis), lindexxvis2
    return lindexxvis, lindexxvis2


def get_index_msg(msgs: Msgs, index: int) -> Msg:
    """Algorithm 3: find the message in the queue, in a loop where the paper has a recursion."""
    for msg in msgs:
        if msg[0] == index:
            return msg
    raise LookupError(f"message {index} is not in the queue")


def if_msg_arrived(msgs: Msgs, index: int) -> bool:
    """Algorithm 4: whether the message is in the queue."""
    for msg in msgs:  # noqa: SIM110 - half the time of any(), and the guard is tested at every change
        if msg[0] == index:
            return True
    return False


# As they stand in inscriptions.
FUNCTIONS = {
    "setOTimeZero": set_o_time_zero,
    "pick": pick,
    "cancelTimer": cancel_timer,
    "triggerTimer": trigger_timer,
    "getIndexMsg": get_index_msg,
    "ifMsgArrived": if_msg_arrived,
}
