"""Looking at all messages of a physical queue in the index."""

from collections.abc import Iterable

from rockdove.core.ids import physical_of
from rockdove.core.message import Entry
from rockdove.store.base import Counts, Page, Scanned, Sight
from rockdove.store.base.browsing import MOST_PASSED
from rockdove.store.cassandra.index.entry import Kind, Row, Spot, segment_of
from rockdove.store.cassandra.index.place import Place
from rockdove.store.cassandra.index.segment import Segment
from rockdove.store.common.tasks import at_once

# Of so many messages it is found out each time whether they are there, so that counts are exact also after a front-end
# has died; of more now and then.
MOST_CHECKED = 5_000
# So many messages are removed at a time for their age.
EXPIRE_AT_ONCE = 1_000
# Segments, and messages, that are read at once.
MOST_AT_ONCE = 8
MOST_READ = 100


async def count(place: Place) -> Counts:
    """What others do meanwhile is counted before or after. Raises `StoreError`."""
    await place.directory.look(everything=True)
    now_us = place.clock.now_us()
    segments = list(place.directory.segments.values())
    whole = [each for each in segments if _is_whole(each, now_us)]
    spots = await _read_all(place, [each for each in segments if not _is_whole(each, now_us)])
    if len(spots) <= MOST_CHECKED or place.check.is_due:
        spots = await _checked(place, spots)
    else:
        spots = [spot for spot in spots if spot not in place.check.void]
    # Of several entries of a message, the last one.
    last = {spot.id: spot for spot in sorted(spots, key=lambda spot: spot.turn)}
    kinds = {each.number: each.kind for each in segments}
    later = [spot for spot in last.values() if spot.visible_us > now_us]
    delayed = sum(kinds[spot.segment] is Kind.SENT for spot in later)
    visible = sum(each.size or 0 for each in whole) + len(last) - len(later)
    return Counts(visible, len(later) - delayed, delayed)


def _is_whole(segment: Segment, now_us: int) -> bool:
    """Whether all that it had when it was closed is there, and visible."""
    if segment.size is None or segment.is_touched or segment.kind is not Kind.SENT:
        return False
    return segment.until_us <= now_us


async def _read_all(place: Place, segments: list[Segment]) -> list[Spot]:
    """Entries, but those that are being removed."""
    found: list[Spot] = []
    for at in range(0, len(segments), MOST_AT_ONCE):
        some = segments[at : at + MOST_AT_ONCE]
        for spots in await at_once(*(place.tables.read_segment(place.name, each.number) for each in some)):
            found += [spot for spot in spots if spot not in place.known.dropping]
    return found


async def _checked(place: Place, spots: list[Spot]) -> list[Spot]:
    place.check.begin()
    counting = await _that_count(place, spots)
    place.check.end(set(spots) - set(counting) if len(spots) > MOST_CHECKED else set())
    return counting


async def _that_count(place: Place, spots: list[Spot]) -> list[Spot]:
    rows = await place.tables.states(place.queue, list({spot.id for spot in spots}))
    counting: list[Spot] = []
    strayed: list[tuple[Spot, Row]] = []
    for spot in spots:
        row = rows[spot.id]
        if row is not None and row.state.adopted:
            strayed.append((spot, row))
        elif row is not None and row.state.spot(spot.id) == spot:
            counting.append(spot)
    if strayed:
        await place.strayed(strayed)
    return counting


async def sight(place: Place, limit: int) -> list[Sight]:
    """Raises `StoreError`."""
    await place.directory.look(everything=True)
    segments = sorted(place.directory.segments.values(), key=lambda each: each.from_us)
    spots: list[Spot] = []
    for at in range(0, len(segments), MOST_AT_ONCE):
        some = segments[at : at + MOST_AT_ONCE]
        if spots and len(spots) >= limit and some[0].from_us > spots[limit - 1].visible_us:
            break
        spots += await _that_count(place, await _read_all(place, some))
        spots.sort(key=lambda spot: (spot.visible_us, spot.id))
    rows = await place.tables.states(place.queue, [spot.id for spot in spots[:limit]])
    return [
        Sight(spot.visible_us, spot.id, row.state.bytes) for spot in spots[:limit] if (row := rows[spot.id]) is not None
    ]


async def oldest(place: Place) -> int | None:
    """Of those that wait, the first segments tell; of those in flight, the first ids. Raises `StoreError`."""
    await place.directory.look(everything=True)
    segments = sorted(place.directory.segments.values(), key=lambda each: each.number)
    held = await _read_all(place, [each for each in segments if each.kind is Kind.HELD])
    times = await _sent(place, sorted({spot.id for spot in held})[:MOST_READ])
    for segment in segments:
        if times and segment.made_us > min(times):
            break
        if segment.kind is Kind.SENT:
            spots = await _that_count(place, await _read_all(place, [segment]))
            times += await _sent(place, [spot.id for spot in spots])
    return min(times, default=None)


async def _sent(place: Place, ids: list[int]) -> list[int]:
    rows = await place.tables.states(place.queue, ids)
    return [row.sent_us for row in rows.values() if row is not None and not row.state.adopted]


async def scan(place: Place, page: Page) -> Scanned:
    """Raises `StoreError`."""
    await place.directory.look(everything=True)
    segments = sorted(place.directory.segments.values(), key=lambda each: each.number)
    others = await _read_all(place, [each for each in segments if each.kind is Kind.HELD or each.is_far])
    waiting = {spot.id for spot in others if spot.id > page.after}
    first = segment_of(page.after) if physical_of(page.after) == place.number else 0
    found: list[Entry] = []
    room_bytes, passed, last = page.room_bytes, 0, None

    async def take(wanted: Iterable[int]) -> bool:
        """Whether there is room for more."""
        nonlocal room_bytes, passed, last
        some = sorted(wanted)
        for at in range(0, len(some), MOST_READ):
            entries = await place.read(some[at : at + MOST_READ])
            rows = {id: entries[id] for id in some[at : at + MOST_READ] if id in entries}
            for id, entry in rows.items():
                if len(found) == page.limit or room_bytes <= 0 or passed >= MOST_PASSED:
                    return False
                last = id
                passed += 1
                message = entry.message
                group = None if message.extra is None else message.extra.group_id
                if page.sent_from_us <= message.sent_us < page.sent_until_us and page.group in (None, group):
                    found.append(entry)
                    room_bytes -= len(message.body)
        return True

    for segment in segments:
        if segment.kind is not Kind.SENT or segment.is_far or segment.number < first:
            continue
        spots = await _read_all(place, [segment])
        here = {spot.id for spot in spots if spot.id > page.after}
        # Messages in flight, or delayed, have the ids of this segment, or of those before.
        before = {id for id in waiting if segment_of(id) <= segment.number}
        waiting -= before
        if not await take(here | before):
            return Scanned(found, last)
    return Scanned(found, None) if await take(waiting) else Scanned(found, last)


async def expire(place: Place, sent_after_us: int) -> list[int]:
    """Raises `StoreError`."""
    await place.directory.look(everything=True)
    segments = [
        each for each in place.directory.segments.values() if each.kind is Kind.SENT and each.made_us < sent_after_us
    ]
    removed: list[int] = []
    for segment in sorted(segments, key=lambda each: each.number):
        spots = await _that_count(place, await _read_all(place, [segment]))
        rows = await place.tables.states(place.queue, [spot.id for spot in spots])
        old = [id for id, row in rows.items() if row is not None and row.sent_us < sent_after_us]
        found, _ = await place.remove_all(old[: EXPIRE_AT_ONCE - len(removed)])
        removed += sorted(found)
        if len(removed) >= EXPIRE_AT_ONCE:
            return removed
    return removed + await _expire_held(place, sent_after_us)


async def _expire_held(place: Place, sent_after_us: int) -> list[int]:
    held = await _read_all(place, [each for each in place.directory.segments.values() if each.kind is Kind.HELD])
    rows = await place.tables.states(place.queue, sorted({spot.id for spot in held})[:EXPIRE_AT_ONCE])
    old = [id for id, row in rows.items() if row is not None and row.sent_us < sent_after_us]
    return sorted((await place.remove_all(old))[0]) if old else []
