"""What the index and the journal of a queue have given, as one."""

from msgspec.structs import replace

from rockdove.store.base import Claimed, Page, Scanned, Want


def rest_of(want: Want, claimed: Claimed) -> Want | None:
    """What is still wanted; None: nothing, or the caller has to see to something first."""
    room_bytes = want.room_bytes - claimed.bytes
    if claimed.dead or claimed.crowded or claimed.gone or len(claimed.entries) >= want.limit:
        return None
    if want.room_bytes and room_bytes <= 0:
        return None
    return replace(want, limit=want.limit - len(claimed.entries), room_bytes=room_bytes if want.room_bytes else 0)


def both(first: Claimed, second: Claimed) -> Claimed:
    entries = [*first.entries, *second.entries]
    times = [time for time in (first.next_us, second.next_us) if time is not None]
    return Claimed(
        entries,
        [*first.dead, *second.dead],
        None if entries else min(times, default=None),
        first.claimed_us or second.claimed_us,
        [*first.expired, *second.expired],
        first.bytes + second.bytes,
        crowded=not entries and (first.crowded or second.crowded),
        landing=not entries and (first.landing or second.landing),
        gone=not entries and (first.gone or second.gone),
    )


def merged(one: Scanned, other: Scanned, page: Page) -> Scanned:
    """Both in the order of ids; neither may have been looked through to the end."""
    ends = [each.after for each in (one, other) if each.after is not None]
    end = min(ends, default=None)
    entries = sorted((*one.entries, *other.entries), key=lambda entry: entry.id)
    if end is not None:
        entries = [entry for entry in entries if entry.id <= end]
    if len(entries) > page.limit:
        entries = entries[: page.limit]
        end = entries[-1].id
    room_bytes = page.room_bytes
    for at, entry in enumerate(entries):
        if room_bytes <= 0:
            return Scanned(entries[:at], entries[at - 1].id)
        room_bytes -= len(entry.message.body)
    return Scanned(entries, end)
