"""What the verbs of `rockdove.store.remote.asked` do to a store."""

from collections.abc import Callable
from typing import Any, Protocol, TypeAlias

from rockdove.store.base import Physical, Scanned, Store
from rockdove.store.common.gone import GonePhysical, gone
from rockdove.store.remote import asked, told

Verbs: TypeAlias = dict[type, Callable[[Any], None]]


class Asks(Protocol):
    """Has verbs done."""

    def ask(self, done: Callable[[Any], None], kind: Any, *words: Any) -> None:
        """``kind`` is one of `rockdove.store.remote.asked`, and the words are what it has but its token."""

    def ask_together(self, done: Callable[[Any], None], kind: Any, *words: Any) -> None:
        """The same, perhaps in one with others of its kind."""


class Desk(Protocol):
    """Where verbs arrive."""

    @property
    def store(self) -> Store: ...

    def physical(self, number: int) -> Physical: ...

    def outcome(self, token: int, kind: Callable[[int, Any], Any] = ...) -> Callable[[Any], None]:
        """What a call of the store tells its outcome to."""


def physical_verbs(desk: Desk) -> Verbs:
    physical, outcome = desk.physical, desk.outcome
    return {
        asked.Append: lambda verb: physical(verb.physical).append(verb.drafts, outcome(verb.token, told.DoneAppended)),
        asked.ClaimEntries: lambda verb: physical(verb.physical).claim(
            verb.want, outcome(verb.token, told.DoneClaimed)
        ),
        asked.Move: lambda verb: physical(verb.physical).move(
            verb.id, verb.visible_us, verb.receive_count, outcome(verb.token)
        ),
        asked.Remove: lambda verb: physical(verb.physical).remove(verb.id, verb.receive_count, outcome(verb.token)),
        asked.RemoveAll: lambda verb: physical(verb.physical).remove_all(verb.ids, outcome(verb.token, told.DoneFlags)),
        asked.Release: lambda verb: physical(verb.physical).release(verb.entries, outcome(verb.token)),
        asked.CountEntries: lambda verb: physical(verb.physical).count(outcome(verb.token, told.DoneCounts)),
        asked.Find: lambda verb: physical(verb.physical).find(verb.id, outcome(verb.token, told.DoneEntry)),
        asked.Holds: lambda verb: physical(verb.physical).holds(verb.groups, outcome(verb.token, told.DoneFlags)),
    }


def browsing_verbs(desk: Desk) -> Verbs:
    """Browsing, upkeep and transfers, as far as the store has them."""
    store, physical, outcome = desk.store, desk.physical, desk.outcome
    verbs: Verbs = {}

    def on_place(kind: Callable[[int, Any], Any], empty: Any, act: Callable[[Any, Physical, Any], None]) -> Any:
        """A verb on one physical queue; of one that is gone, the outcome is ``empty``."""

        def do(verb: Any) -> None:
            place, done = physical(verb.physical), outcome(verb.token, kind)
            if isinstance(place, GonePhysical):
                done(empty)
            else:
                act(verb, place, done)

        return do

    if (browsing := store.browsing) is not None:
        verbs |= {
            asked.Oldest: on_place(told.DonePlain, None, lambda verb, place, done: browsing.oldest(place, done)),
            asked.Sights: on_place(
                told.DoneSights, [], lambda verb, place, done: browsing.sight(place, verb.limit, done)
            ),
            asked.Read: on_place(told.DoneEntries, [], lambda verb, place, done: browsing.read(place, verb.ids, done)),
            asked.Scan: on_place(
                told.DoneScanned,
                Scanned([], None),
                lambda verb, place, done: browsing.scan(place, verb.page, done),
            ),
        }
    if (upkeep := store.upkeep) is not None:
        verbs |= {
            asked.Expire: on_place(
                told.DoneIds, [], lambda verb, place, done: upkeep.expire(place, verb.sent_after_us, done)
            ),
            asked.Retime: on_place(
                told.DonePlain, None, lambda verb, place, done: upkeep.retime(place, verb.delay_us, done)
            ),
        }
    if (transfers := store.transfers) is not None:

        def transfer(verb: asked.Transfer) -> None:
            source, target = physical(verb.source), physical(verb.target)
            done = outcome(verb.token, told.DoneAppended)
            if isinstance(target, GonePhysical):
                done(gone())
            elif isinstance(source, GonePhysical):
                done([])
            else:
                transfers.transfer(source, verb.ids, target, verb.drafts, done)

        verbs[asked.Transfer] = transfer
    return verbs


def record_verbs(desk: Desk) -> Verbs:
    records, outcome = desk.store.records, desk.outcome
    return {
        asked.Reserve: lambda verb: records.reserve(verb.number, verb.uid, outcome(verb.token, told.DoneReserved)),
        asked.PutQueue: lambda verb: records.put_queue(verb.queue, verb.quota, verb.seen, outcome(verb.token)),
        asked.DropQueue: lambda verb: records.drop_queue(verb.queue, verb.deleted_us, verb.seen, outcome(verb.token)),
        asked.PutTask: lambda verb: records.put_task(verb.task, verb.seen, outcome(verb.token)),
        asked.DropTask: lambda verb: records.drop_task(verb.task, verb.seen, outcome(verb.token)),
        asked.PutTopic: lambda verb: records.put_topic(verb.topic, verb.seen, outcome(verb.token)),
        asked.DropTopic: lambda verb: records.drop_topic(verb.topic, verb.seen, outcome(verb.token)),
        asked.PutAccount: lambda verb: records.put_account(verb.account, verb.seen, outcome(verb.token)),
        asked.DropAccount: lambda verb: records.drop_account(verb.id, verb.seen, outcome(verb.token)),
        asked.CatchUp: lambda verb: records.catch_up(outcome(verb.token)),
    }


def lease_verbs(desk: Desk) -> Verbs:
    leases, physical, outcome = desk.store.leases, desk.physical, desk.outcome
    if leases is None:
        return {}
    return {
        asked.MakeLease: lambda verb: leases.lease(
            verb.name,
            [place for number in verb.physical if not isinstance(place := physical(number), GonePhysical)],
            verb.want,
            verb.even_empty,
            outcome(verb.token, told.DoneLeased),
        ),
        asked.AckLeases: lambda verb: leases.ack(
            verb.queue, verb.consumer, verb.shard, verb.sequence, verb.tell_ids, outcome(verb.token, told.DoneEnded)
        ),
        asked.ReleaseLeases: lambda verb: leases.release(
            verb.queue, verb.consumer, verb.forget, outcome(verb.token, told.DoneEnded)
        ),
        asked.PageLeases: lambda verb: leases.page(
            verb.queue, verb.consumer, verb.after, verb.limit, outcome(verb.token, told.DoneLeases)
        ),
        asked.ListHolders: lambda verb: leases.holders(
            verb.queue, verb.consumer, verb.limit, outcome(verb.token, told.DoneHolders)
        ),
        asked.ListHoldings: lambda verb: leases.holdings(outcome(verb.token, told.DoneHoldings)),
        asked.ListSilent: lambda verb: leases.silent(verb.before_us, outcome(verb.token, told.DoneSilent)),
    }


def publication_verbs(desk: Desk) -> Verbs:
    publications, physical, outcome = desk.store.publications, desk.physical, desk.outcome
    if publications is None:
        return {}

    def publish(verb: asked.PublishAttempt) -> None:
        parts = [(physical(number), drafts) for number, drafts in verb.parts]
        done = outcome(verb.token, told.DonePublished)
        if any(isinstance(place, GonePhysical) for place, _ in parts):
            done(gone())
        else:
            publications.publish(verb.name, verb.attempt, parts, done)

    def commit(verb: asked.CommitBatch) -> None:
        place, done = physical(verb.place), outcome(verb.token, told.DoneDecision)
        if isinstance(place, GonePhysical):
            done(gone())
        else:
            publications.commit(verb.name, verb.winners, verb.partly, place, done)

    return {
        asked.CommitBatch: commit,
        asked.AwaitLanding: lambda verb: publications.landed(verb.name, outcome(verb.token, told.DonePlain)),
        asked.DiscardStage: lambda verb: publications.discard(
            verb.name, verb.prefix, outcome(verb.token, told.DonePlain)
        ),
        asked.StageChunk: lambda verb: publications.stage(
            verb.name, verb.attempt, verb.chunk, verb.parcels, verb.size_bytes, outcome(verb.token, told.DoneStanding)
        ),
        asked.LookAtPublication: lambda verb: publications.look(
            verb.name, verb.attempt, outcome(verb.token, told.DoneStanding)
        ),
        asked.ReadChunks: lambda verb: publications.chunks(
            verb.name, verb.attempt, outcome(verb.token, told.DoneChunks)
        ),
        asked.PublishAttempt: publish,
    }
