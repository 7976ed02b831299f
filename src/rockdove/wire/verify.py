"""Verification of signatures, AWS's version 4: in the Authorization header and in presigned URLs. No sockets."""

from binascii import b2a_hex
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from hashlib import sha256 as _sha256
from hmac import compare_digest
from operator import itemgetter
from typing import TypeVar

from msgspec import Struct

from rockdove.core.account import Account
from rockdove.core.clock import SECOND_US, Clock
from rockdove.core.errors import InvalidClientTokenId, SignatureDoesNotMatch
from rockdove.wire.claim import Claim, gathered, read
from rockdove.wire.signature import ALGORITHM, canonical, canonical_path, sha256, signing_key, text_to_sign

# How far a client's clock may be off, either way.
SKEW_S = 15 * 60
_SKEW_US = SKEW_S * SECOND_US
# What is longer is verified each time, and not remembered: the scope of a signature, the names of all headers.
LONGEST_SCOPE = 128
LONGEST_NAMES = 2_048
# Signing keys remembered at most.
MOST_KEYS = 4_096
# Bytes that the habits of an account's clients take at most, and those of all accounts.
MOST_BYTES_OF_ACCOUNT = 256 * 1024
MOST_BYTES = 32 * 1024 * 1024
# About what a habit takes, a layout, and a header in it, besides their texts.
_HABIT_BYTES = 1_500
_LAYOUT_BYTES = 800
_NAME_BYTES = 100
# Times of signatures remembered at most: many requests have the same second.
MOST_TIMES = 1_024
# Of a signature in hexadecimal digits, at the end of an Authorization header.
_DIGITS = 64
_BLOCK_BYTES = 64
_LINE = f"{ALGORITHM}\n".encode()

K = TypeVar("K")
V = TypeVar("V")
ByKey = Callable[[str], tuple[Account, str] | None]
Headers = Mapping[bytes, bytes]


class _Signer:
    """HMAC-SHA256 under one signing key, with both halves of the key taken in beforehand."""

    def __init__(self, key: bytes) -> None:
        padded = key.ljust(_BLOCK_BYTES, b"\0")
        self.inner = _sha256(bytes(byte ^ 0x36 for byte in padded))
        self.outer = _sha256(bytes(byte ^ 0x5C for byte in padded))

    def sign(self, text: bytes) -> bytes:
        """In hexadecimal digits."""
        inner, outer = self.inner.copy(), self.outer.copy()
        inner.update(text)
        outer.update(inner.digest())
        return b2a_hex(outer.digest())


class _Layout(Struct, frozen=True):
    """Where the signed headers of a request stand: the names as the client spells them, and what is around them."""

    pick: Callable[[Headers], tuple[bytes, ...]]
    date: bytes
    body_sha256: bytes | None
    text: bytes


class _Habit:
    """What all requests of one client on one day have in common: all of the Authorization header but the signature."""

    def __init__(self, claim: Claim, secret: str, signer: _Signer) -> None:
        self.access_key = claim.access_key
        self.secret = secret
        self.inner, self.outer = signer.inner, signer.outer
        self.day = claim.scope[:8].encode()
        self.scope = f"\n{claim.scope}\n".encode()
        self.layouts: dict[tuple[bytes, ...], _Layout] = {}


class _Share:
    """What is remembered for the clients of one account."""

    def __init__(self) -> None:
        self.starts: list[bytes] = []
        self.bytes = 0


class Verifier:
    """Tells whose request it is. Raises the fault that AWS has for what is wrong with a signature.

    A client's second request is quick: the header's beginning and the order of headers are known, so that nothing is
    parsed. Whatever does not verify that way is looked at again from the start, by the book.
    """

    def __init__(self, by_key: ByKey, clock: Clock) -> None:
        self._by_key = by_key
        self._now_us = clock.now_us
        self._habits: dict[bytes, _Habit] = {}
        # By the account's id.
        self._shares: dict[str, _Share] = {}
        self._bytes = 0
        # By access key and scope; the secret is there to see that it is still the same.
        self._signers: dict[tuple[str, str], tuple[str, _Signer]] = {}
        self._times: dict[bytes, int] = {}

    def verify(
        self, method: bytes, target: bytes, headers: Headers, body: bytes, hosts: Sequence[bytes] = ()
    ) -> Account:
        """``target`` is path and query; ``hosts`` are names of this service, besides ``Host``, that may be signed."""
        authorization = headers.get(b"Authorization") or headers.get(b"authorization")
        habit = None if authorization is None else self._habits.get(authorization[:-_DIGITS])
        layout = None if habit is None else habit.layouts.get(tuple(headers))
        if authorization is None or habit is None or layout is None or b"?" in target:
            return self._verify_fully(authorization, method, target, headers, body, hosts)
        # The second and further requests of a client. No calls but of what is written in C, as far as can be.
        time = headers[layout.date]
        time_us = self._times.get(time)
        found = self._by_key(habit.access_key)
        body_sha256 = b2a_hex(_sha256(body).digest())
        if (
            time_us is not None
            and -_SKEW_US <= time_us - self._now_us() <= _SKEW_US
            and time[:8] == habit.day
            and found is not None
            and found[1] == habit.secret
            and (layout.body_sha256 is None or headers[layout.body_sha256] == body_sha256)
        ):
            path = b"/" if target == b"/" else canonical_path(target)
            request = layout.text % (method, path, *layout.pick(headers), body_sha256)
            inner, outer = habit.inner.copy(), habit.outer.copy()
            inner.update(b"%b%b%b%b" % (_LINE, time, habit.scope, b2a_hex(_sha256(request).digest())))
            outer.update(inner.digest())
            if compare_digest(b2a_hex(outer.digest()), authorization[-_DIGITS:]):
                return found[0]
        return self._verify_fully(authorization, method, target, headers, body, hosts)

    def _learn(
        self,
        authorization: bytes | None,
        claim: Claim,
        account: Account,
        secret: str,
        signer: _Signer,
        headers: Headers,
    ) -> None:
        """Only what has verified is remembered, and only if it is short: nobody can fill the memory."""
        if len(claim.scope) > LONGEST_SCOPE or sum(map(len, headers)) > LONGEST_NAMES:
            return
        _put(self._signers, (claim.access_key, claim.scope), (secret, signer), MOST_KEYS)
        layout = _layout(claim.names, headers)
        if authorization is None or layout is None:
            return
        _put(self._times, headers[layout.date], claim.seconds * SECOND_US, MOST_TIMES)
        start, names = authorization[:-_DIGITS], tuple(headers)
        habit = self._habits.get(start)
        if habit is not None and habit.secret == secret and names in habit.layouts:
            return
        share = self._make_room(account.id, len(start) + _HABIT_BYTES + _layout_bytes(layout, headers))
        # What was known may have had to go.
        habit = self._habits.get(start)
        if habit is None or habit.secret != secret:
            habit = self._habits[start] = _Habit(claim, secret, signer)
            share.starts.append(start)
        habit.layouts[names] = layout

    def _make_room(self, account: str, number: int) -> _Share:
        """For so many bytes; if there is not enough, all that is known of the account, or of all, is forgotten."""
        if self._bytes + number > MOST_BYTES:
            self._habits.clear()
            self._shares.clear()
            self._bytes = 0
        share = self._shares.get(account)
        if share is not None and share.bytes + number > MOST_BYTES_OF_ACCOUNT:
            for start in share.starts:
                self._habits.pop(start, None)
            self._bytes -= share.bytes
            share = None
        if share is None:
            share = self._shares[account] = _Share()
        share.bytes += number
        self._bytes += number
        return share

    # By the book.

    def _verify_fully(
        self,
        authorization: bytes | None,
        method: bytes,
        target: bytes,
        headers: Headers,
        body: bytes,
        hosts: Sequence[bytes],
    ) -> Account:
        path, _, query = target.partition(b"?")
        all_headers = gathered(headers)
        claim = read(all_headers, query)
        self._check_time(claim)
        _check_headers(claim, all_headers)
        body_sha256 = sha256(body)
        if all_headers.get(b"x-amz-content-sha256", body_sha256) != body_sha256:
            raise SignatureDoesNotMatch(
                "X-Amz-Content-Sha256 is not the hash of the request's body; unsigned bodies are not taken."
            )
        found = self._by_key(claim.access_key)
        if found is None:
            raise InvalidClientTokenId()
        account, secret = found
        signer = self._signer(claim, secret)
        paths = [canonical_path(path) + b"\n" + each for each in claim.queries()]
        for host in (all_headers.get(b"host", b""), *hosts):
            values = {**all_headers, b"host": host}
            for each in paths:
                request = canonical(method, each, claim.names, values, body_sha256)
                signature = signer.sign(text_to_sign(claim.time, claim.scope, request))
                if compare_digest(signature, claim.signature):
                    self._learn(authorization, claim, account, secret, signer, headers)
                    return account
        raise SignatureDoesNotMatch()

    def _signer(self, claim: Claim, secret: str) -> _Signer:
        known = self._signers.get((claim.access_key, claim.scope))
        if known is not None and known[0] == secret:
            return known[1]
        return _Signer(signing_key(secret, claim.scope))

    def _check_time(self, claim: Claim) -> None:
        now = self._now_us() // SECOND_US
        if claim.seconds > now + SKEW_S:
            raise SignatureDoesNotMatch(
                f"Signature not yet current: {claim.time} is still later than {_text(now + SKEW_S)} "
                f"({_text(now)} + {SKEW_S // 60} min.). Set your clock."
            )
        if claim.expires_s is not None:
            if now >= claim.seconds + claim.expires_s:
                raise SignatureDoesNotMatch(
                    f"Signature expired: {_text(claim.seconds + claim.expires_s)} is now earlier than {_text(now)} "
                    f"(the URL was signed at {claim.time} for {claim.expires_s} s)."
                )
        elif claim.seconds < now - SKEW_S:
            raise SignatureDoesNotMatch(
                f"Signature expired: {claim.time} is now earlier than {_text(now - SKEW_S)} "
                f"({_text(now)} - {SKEW_S // 60} min.). Set your clock."
            )


def _check_headers(claim: Claim, headers: Headers) -> None:
    """What decides about a request must be signed: its host, and all that AWS's protocols put into headers."""
    if b"host" not in claim.names:
        raise SignatureDoesNotMatch("The header Host must be signed.")
    absent = [name.decode("latin-1") for name in claim.names if name not in headers]
    if absent:
        raise SignatureDoesNotMatch(f"Headers that are signed are not in the request: {', '.join(absent)}.")
    unsigned = {name for name in headers if name.startswith(b"x-amz-")}.difference(claim.names)
    if unsigned:
        names = b", ".join(sorted(unsigned)).decode("latin-1")
        raise SignatureDoesNotMatch(f"Headers of the request are not signed: {names}.")


def _layout(names: Sequence[bytes], headers: Headers) -> _Layout | None:
    """None where the quick way would have to look closer: a header twice, or the time elsewhere."""
    spelled = {name.lower(): name for name in headers}
    date = spelled.get(b"x-amz-date")
    if len(spelled) != len(headers) or date is None:
        return None
    lines = b"".join(name.replace(b"%", b"%%") + b":%b\n" for name in names)
    signed = b";".join(names).replace(b"%", b"%%")
    # The second line is the path, the third the query, which is empty.
    text = b"%b\n%b\n\n" + lines + b"\n" + signed + b"\n%b"
    # There are at least two, Host and the date, so that it gives a tuple.
    pick = itemgetter(*(spelled[name] for name in names))
    return _Layout(pick, date, spelled.get(b"x-amz-content-sha256"), text)


def _layout_bytes(layout: _Layout, headers: Headers) -> int:
    return _LAYOUT_BYTES + len(layout.text) + sum(map(len, headers)) + _NAME_BYTES * len(headers)


def _put(known: dict[K, V], key: K, value: V, most: int) -> None:
    if len(known) >= most:
        known.clear()
    known[key] = value


def _text(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y%m%dT%H%M%SZ")
