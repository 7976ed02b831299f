"""Limits that fit the machine, and each other."""

import logging
import resource

import msgspec

from rockdove.server.limit import Limits

# Files of the store, of the log, and connections that are being turned away.
_OTHER_FILES = 200

# Of all connections, those that one address may have at most, if there is a limit for one.
ADDRESS_SHARE = 0.7

log = logging.getLogger("rockdove")


def fitting(limits: Limits) -> Limits:
    """What the process may have open, it may have open; if connections could take all of it, fewer are let in."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    room = most - _OTHER_FILES
    if most != resource.RLIM_INFINITY and room < limits.max_connections:
        given = (most, room, limits.max_connections)
        log.warning("the limit of %d open files leaves room for %d connections, not %d", *given)
        limits = msgspec.structs.replace(limits, max_connections=max(room, 1))
    return shared(limits)


def shared(limits: Limits) -> Limits:
    """One address does not get all connections, however few there are."""
    most = max(int(limits.max_connections * ADDRESS_SHARE), 1)
    if limits.max_connections_per_address <= most:
        return limits
    log.warning(
        "one address may have %d connections, not %d: that is %d %% of all %d; 0 would let it have any number",
        *(most, limits.max_connections_per_address, 100 * ADDRESS_SHARE, limits.max_connections),
    )
    return msgspec.structs.replace(limits, max_connections_per_address=most)
