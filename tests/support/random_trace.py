"""Random traces: what servers and clients could have recorded, lost, repeated and recorded twice."""

from typing import Any

from hypothesis import strategies as st

from tests.support.made_trace import Event, event

QUEUES = ("jobs", "mail", "logs.fifo")


@st.composite
def events(draw: st.DrawFn) -> list[Event]:
    """A few queues with a few messages each; at least one event."""
    found: list[Event] = []
    for queue in draw(st.lists(st.sampled_from(QUEUES), min_size=1, max_size=3, unique=True)):
        for number in range(draw(st.integers(0, 12))):
            # Now and then it was sent again under the same number.
            seq = number - draw(st.sampled_from([0, 0, 0, 1]))
            found += draw(_message(queue, f"{queue}-{draw(st.integers(0, 3))}-{number}", seq))
        for _ in range(draw(st.integers(0, 3))):
            more = draw(SIDES)
            found.append(event("miss", draw(TIMES), queue=queue, latency_us=draw(LATENCIES), **more))
        for _ in range(draw(st.sampled_from([0, 0, 0, 1, 2, 3]))):
            found.append(event("purge", draw(TIMES), queue=queue))
        found.append(event("send", draw(TIMES), queue=queue, status=draw(st.sampled_from([500, None]))))
    return draw(st.permutations(found))


# Coarse times, so that some are the same.
TIMES = st.integers(0, 600).map(lambda tenths: tenths / 10)
# Some clients do not know whose queue it is.
UNKNOWN: Event = {"account": None}
SIDES = st.sampled_from([{"side": "server"}, {"side": "client"}, {"side": "client", **UNKNOWN}])
LATENCIES = st.one_of(st.none(), st.integers(0, 5_000_000))
STATUS = st.sampled_from([200, 200, 200, 200, 503, None])


@st.composite
def _message(draw: st.DrawFn, queue: str, name: str, seq: int) -> list[Event]:
    born = draw(TIMES)
    enqueued = draw(st.sampled_from([born, born, round(born), None]))
    found = []
    for op in ("send", "receive", "receive", "delete", "change_visibility", "expire", "dead_letter"):
        if op in ("expire", "dead_letter") and draw(st.integers(0, 5)):
            continue
        for side in draw(st.sampled_from([(), ("server",), ("server",), ("client",), ("server", "client")])):
            if side == "client" and op in ("expire", "dead_letter"):
                continue
            time = born if op == "send" else draw(TIMES)
            more: dict[str, Any] = {"queue": queue, "side": side, "node": f"a {side}", "latency_us": draw(LATENCIES)}
            more |= {"enqueued_at": enqueued, "sent_at": enqueued, "status": draw(STATUS)}
            if op == "receive":
                more |= {"dequeued_at": draw(st.sampled_from([time, None])), "checksum_ok": draw(CHECKSUMS)}
            if side == "client":
                more |= {"sender": "someone", "seq": seq, "receiver": draw(st.sampled_from(["x", "y"]))}
                more |= draw(st.sampled_from([{}, UNKNOWN]))
            found.append(event(op, time, name, **more))
    if draw(st.integers(0, 4)) == 0:
        # Sent once more, and taken for a copy.
        again = draw(TIMES)
        found.append(event("send", again, name, queue=queue, enqueued_at=again, sent_at=again))
    return found


CHECKSUMS = st.sampled_from([True, True, False, None])


def same(part: int, rate: float | None, whole: int) -> bool:
    """Whether a rate is that of these counts."""
    if rate is None or not whole:
        return rate is None and not whole
    return abs(part / whole - rate) < 1e-9
