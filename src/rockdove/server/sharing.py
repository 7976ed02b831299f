"""What front-ends tell each other through the owner, so that it counts for the whole service."""

from collections.abc import Callable
from functools import partial

import msgspec

from rockdove.core.errors import StoreError
from rockdove.server.failures import Failures
from rockdove.server.figures import Figures, encode
from rockdove.server.signin import wrong_passwords
from rockdove.server.tracer import Tracer
from rockdove.store.remote.owner import Owner
from rockdove.store.remote.store import RemoteStore

# What the owner is asked for, and asks for.
METRICS = "metrics"
FAILURES = "failures"
WRONG_PASSWORDS = "wrong-passwords"
LIVE = "live"
FIGURES = "figures"
# What front-ends tell: the address of a bad signature; the account of a wrong password; a message that has kept the id
# of another queue.
FAILURE = "failure"
WRONG_PASSWORD = "wrong-password"
NAME = "name"

_encode_name = msgspec.msgpack.Encoder().encode
_decode_failures = msgspec.msgpack.Decoder(dict[str, list[float]]).decode


class Sharing:
    """Of one front-end. Figures count from the moment at which the owner was reached: when it is a new one, they all
    begin anew, and no sum ever falls by a part of it."""

    def __init__(
        self,
        remote: RemoteStore,
        counted: Callable[[], Figures],
        failures: Failures,
        wrong_passwords: Failures,
        tracer: Tracer | None,
    ) -> None:
        self._remote = remote
        self._counted = counted
        self._before = Figures()
        remote.on_return = self._begin_anew
        remote.link.questions[FIGURES] = self._figures
        self._share(failures, FAILURE, FAILURES)
        self._share(wrong_passwords, WRONG_PASSWORD, WRONG_PASSWORDS)
        if tracer is not None:
            tracer.tell_name = lambda id, name: remote.tell(NAME, _encode_name((id, name)))
            remote.told[NAME] = tracer.hear_name

    def _share(self, failures: Failures, one: str, all_of_them: str) -> None:
        remote = self._remote
        failures.tell = lambda place: remote.tell(one, place.encode())
        remote.told[one] = partial(_hear_failure, failures)
        # Those that the front-end had heard of which this one follows.
        remote.call(all_of_them, b"", partial(_take_failures, failures))

    def _begin_anew(self) -> None:
        self._before = self._counted()

    def _figures(self) -> bytes:
        figures = self._counted()
        figures.add(self._before, sign=-1)
        return encode(figures)


def _hear_failure(failures: Failures, payload: bytes) -> None:
    failures.hear(payload.decode())


def _take_failures(failures: Failures, payload: bytes | StoreError) -> None:
    if isinstance(payload, bytes):
        failures.take(_decode_failures(payload))


class SharedFailures:
    """What front-ends have told the owner, for those that begin later."""

    def __init__(self, owner: Owner) -> None:
        _keep(owner, Failures(), FAILURE, FAILURES)
        _keep(owner, wrong_passwords(), WRONG_PASSWORD, WRONG_PASSWORDS)


def _keep(owner: Owner, failures: Failures, one: str, all_of_them: str) -> None:
    owner.told[one] = partial(_hear_failure, failures)
    owner.calls[all_of_them] = lambda payload, done: done(msgspec.msgpack.encode(failures.recent()))
