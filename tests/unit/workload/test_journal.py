"""What goes into notes goes into a trace, in the columns that the trace's reference names."""

from msgspec import Struct, field

from rockdove.trace import Event
from rockdove.workload.answer import Answer
from rockdove.workload.journal import Journal, Partition
from rockdove.workload.payload import Stamp, write

PLACE = Partition(2, "bench-run-2", "http://h/000000000000/bench-run-2")
STAMP = Stamp("run", 2, 1, 7)
ANSWER: Answer[object] = Answer(None, 1_000_000, 1_000_500, 500)


class Delivered(Struct):
    body: str
    message_id: str = "id-1"
    attributes: dict[str, str] = field(default_factory=lambda: {"SentTimestamp": "999", "ApproximateReceiveCount": "3"})


def test_events_of_a_message() -> None:
    events: list[Event] = []
    journal = Journal("run", events.append)
    body = write(STAMP, b"payload")
    journal.sent(PLACE, STAMP, len(body), "id-1", ANSWER)
    assert journal.got(PLACE, "r", Delivered(body), ANSWER) == STAMP
    journal.deleted(PLACE, "r", "id-1", ANSWER)
    journal.missed(PLACE, "r", ANSWER)
    common = {"event_time": 1_000_500, "account": "000000000000", "queue": PLACE.name, "latency_us": 500, "status": 200}
    known = [{name: value for name, value in event._asdict().items() if value is not None} for event in events]
    message = {"message_id": "id-1"}
    who = {"sender": "bench-run-2/s1", "seq": 7, "bytes": len(body)}
    taken = {"receiver": "r", "attempt": 3, "enqueued_at": 999_000, "dequeued_at": 1_000_500, "checksum_ok": True}
    assert known == [
        common | message | who | {"op": "send", "sent_at": 1_000_000},
        common | message | who | taken | {"op": "receive"},
        common | message | {"op": "delete", "receiver": "r"},
        common | {"op": "miss", "receiver": "r"},
    ]
    assert (len(journal.notes.sent), len(journal.notes.got), len(journal.notes.deleted), journal.notes.misses) == (
        1,
    ) * 4


def test_a_damaged_message_has_no_sender() -> None:
    events: list[Event] = []
    journal = Journal("run", events.append)
    assert journal.got(PLACE, "r", Delivered(write(STAMP, b"payload")[:-1] + "?"), ANSWER) is None
    assert (events[0].sender, events[0].seq, events[0].checksum_ok) == (None, None, False)
    assert journal.notes.got[0].seq == -1


def test_a_message_of_another_run_or_queue_is_not_ours() -> None:
    journal = Journal("run")
    for stamp in (Stamp("other", 2, 1, 7), Stamp("run", 3, 1, 7)):
        assert journal.got(PLACE, "r", Delivered(write(stamp, b"")), ANSWER) is None


def test_a_url_without_an_account_has_none() -> None:
    assert Partition(0, "q", "http://h/queue/q").account is None
