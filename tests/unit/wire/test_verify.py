"""Signatures: what botocore has signed is accepted, and nothing else."""

import gc
import hashlib
import tracemalloc
from dataclasses import replace
from datetime import UTC, datetime
from email.utils import formatdate
from typing import Any
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from rockdove.core.account import Account
from rockdove.core.clock import ManualClock
from rockdove.core.errors import (
    Fault,
    IncompleteSignature,
    InvalidClientTokenId,
    MalformedQueryString,
    MissingAuthenticationToken,
    SignatureDoesNotMatch,
)
from rockdove.wire import claim, form, verify
from rockdove.wire.signature import Credentials, sign
from rockdove.wire.verify import Verifier
from tests.support.signing import HOST, Plan, Wire, by_header, by_url, stamp

NOW = 1_800_000_000
KEY, SECRET = "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
ALICE = Account(id="111111111111", name="alice", created_us=0)
JSON = {"Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": "AmazonSQS.SendMessage"}
SEND = Plan(headers=JSON, body=b'{"QueueUrl": "http://x/1/q", "MessageBody": "hello"}')
LIST = Plan("GET", "/?Action=ListQueues&Version=2012-11-05")


class Keys:
    """Access keys that a test may change."""

    def __init__(self) -> None:
        self.known = {KEY: (ALICE, SECRET)}

    def by_key(self, access_key: str) -> tuple[Account, str] | None:
        return self.known.get(access_key)


class Desk:
    """A verifier, its keys and its clock."""

    def __init__(self) -> None:
        self.keys = Keys()
        self.clock = ManualClock(NOW * 1_000_000)
        self.verifier = Verifier(self.keys.by_key, self.clock)

    def accepts(self, wire: Wire, hosts: tuple[bytes, ...] = ()) -> None:
        assert self.verifier.verify(*wire.parts, hosts) is ALICE

    def refuses(self, wire: Wire, fault: type[Fault] = SignatureDoesNotMatch) -> str:
        with pytest.raises(fault) as caught:
            self.verifier.verify(*wire.parts)
        assert SECRET not in caught.value.message
        return caught.value.message


@pytest.fixture
def desk() -> Desk:
    return Desk()


def signed(plan: Plan = SEND, at: float = NOW, **options: Any) -> Wire:
    return by_header(plan, KEY, SECRET, at, **options)


def presigned(plan: Plan = LIST, at: float = NOW, **options: Any) -> Wire:
    return by_url(plan, KEY, SECRET, at, **options)


# Whatever botocore signs.

_text = st.text(st.characters(codec="utf-8", exclude_characters="\r\n"), max_size=8)
_odd = st.sampled_from(
    ["", ".", "..", "~", "%", "a b", "a+b", "%2F", "ü", "*'()!", "=", "&", ";", "a%20b", "/", "0" * 12]
)
_quoted = st.one_of(_text, _odd).flatmap(
    lambda text: st.sampled_from([quote(text, safe=""), quote(text, safe="~*'()!"), quote(text).replace("%2F", "%2f")])
)
_path = st.lists(_quoted, max_size=4).map(lambda parts: "/" + "/".join(parts))
_pair = st.tuples(_quoted, st.one_of(_quoted, _text.map(quote_plus)))
_query = st.lists(_pair, max_size=4).map(lambda pairs: "&".join(f"{name}={value}" for name, value in pairs))
_value = st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7E), max_size=12)
_spaced = st.lists(_value, max_size=3).map("  ".join)
_name = st.sampled_from(["X-Amz-Meta", "x-amz-Thing", "Accept", "X-Other", "amz-sdk-request", "Content-Type"])
_headers = st.dictionaries(_name, _spaced, max_size=4)
_body = st.binary(max_size=60)
_plans = st.builds(
    lambda method, path, query, headers, body: Plan(method, f"{path}?{query}" if query else path, headers, body),
    st.sampled_from(["GET", "POST"]),
    _path,
    _query,
    _headers,
    _body,
)


@settings(deadline=None, max_examples=300)
@example(Plan("GET", "/?X-Amz-=1&X-Amz-=2", {}, b""))
@given(plan=_plans)
def test_what_botocore_signs_in_the_header_is_accepted(plan: Plan) -> None:
    desk = Desk()
    wire = signed(plan)
    desk.accepts(wire)
    # The second time by what was remembered of the first.
    desk.accepts(wire)


@settings(deadline=None, max_examples=300)
@given(plan=_plans.map(lambda plan: replace(plan, body=b"")))
def test_what_botocore_presigns_is_accepted(plan: Plan) -> None:
    assume("X-Amz" not in plan.target)
    Desk().accepts(presigned(plan))


def _changed(text: str, at: int, alphabet: str) -> str:
    """One character of a text is another."""
    at %= len(text)
    return text[:at] + alphabet[(alphabet.find(text[at]) + 1) % len(alphabet)] + text[at + 1 :]


_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"


@settings(deadline=None, max_examples=300)
@given(data=st.data(), warm=st.booleans(), at=st.integers(0, 10_000))
def test_any_change_of_a_signed_request_is_refused(data: st.DataObject, warm: bool, at: int) -> None:
    plan = Plan("POST", "/111111111111/jobs", {**JSON, "X-Other": "a value"}, data.draw(st.binary(min_size=1)))
    wire = signed(plan)
    authorization = wire.headers["Authorization"]
    start, _, signature = authorization.rpartition("=")
    body = bytearray(plan.body)
    body[at % len(body)] ^= 1 + at % 255
    name = data.draw(st.sampled_from(["X-Amz-Target", "X-Other", "Content-Type", "Host"]))
    changed = data.draw(
        st.sampled_from(
            [
                replace(wire, body=bytes(body)),
                replace(wire, body=plan.body + b" "),
                replace(wire, method="GET"),
                replace(wire, target="/" + _changed(wire.target[1:], at, _LETTERS)),
                replace(wire, target=wire.target + "/"),
                replace(wire, target=wire.target + "?a=b"),
                wire.header(name, _changed(wire.headers[name], at, _LETTERS)),
                wire.header(name, None),
                wire.header("X-Amz-Date", stamp(NOW + 1)),
                wire.header("X-Amz-Date", None),
                wire.header("X-Amz-New", "unsigned"),
                wire.header("Authorization", f"{start}={_changed(signature, at, '0123456789abcdef')}"),
                wire.header("Authorization", authorization.replace("us-east-1", "us-east-2")),
                wire.header("Authorization", authorization.replace(";x-other", "")),
                wire.header("Authorization", authorization.replace(KEY, "AKIDOTHER")),
            ]
        )
    )
    desk = Desk()
    if warm:
        desk.accepts(wire)
    desk.refuses(changed, Fault)


@settings(deadline=None, max_examples=200)
@given(at=st.integers(0, 10_000), which=st.integers(0, 10_000))
def test_any_change_of_a_presigned_url_is_refused(at: int, which: int) -> None:
    wire = presigned(Plan("GET", "/111111111111/jobs?Action=SendMessage&MessageBody=a%20b%2Bc"))
    path, _, query = wire.target.partition("?")
    pairs = query.split("&")
    which %= len(pairs)
    name, _, value = pairs[which].partition("=")
    others = pairs[:which] + pairs[which + 1 :]
    for changed in (
        [*others, f"{name}={_changed(value, at, _LETTERS)}"],
        [*others, f"{name}{value}="],
        others,
        [*pairs, "MessageBody=other"],
        [*pairs, pairs[which]],
    ):
        Desk().refuses(replace(wire, target=f"{path}?{'&'.join(changed)}"), Fault)
    Desk().refuses(replace(wire, method="POST"))
    Desk().refuses(replace(wire, body=b"MessageBody=other"))
    Desk().refuses(wire.header("Host", "other.test"))
    Desk().refuses(wire.header("X-Amz-Target", "AmazonSQS.PurgeQueue"))


def test_parameters_may_come_in_any_order(desk: Desk) -> None:
    """The signature is over the sorted ones."""
    path, _, query = presigned().target.partition("?")
    desk.accepts(replace(presigned(), target=f"{path}?{'&'.join(reversed(query.split('&')))}"))


# Parameters without name and value, which botocore signs as such.
EMPTY = ["a=1&&b=2", "&a=1", "a=1&", "&", "&&=&&", "b&&a"]


@pytest.mark.parametrize(
    "query", ["a=b+c", "a=b%20c", "a=%2f", "a", "=", "a=1&a=0", "a==", "%zz=1", "b=%C3%BC&a=*", *EMPTY]
)
def test_odd_queries(desk: Desk, query: str) -> None:
    """As botocore signs them, and as AWS documents it, which is what curl and others do."""
    desk.accepts(signed(Plan("GET", f"/?{query}")))


def test_a_query_in_the_documented_encoding(desk: Desk) -> None:
    """Signed as `a=b%20c%2F`, sent in another encoding of the same."""
    wire = signed(Plan("GET", "/?a=b%20c%2F"))
    desk.accepts(replace(wire, target="/?a=b+c%2f"))
    desk.refuses(replace(wire, target="/?a=b%2Bc%2f"))


@pytest.mark.parametrize("query", ["a=1&&b=2", "&b=2&a=1", "a=1&b=2&&"])
def test_empty_parameters_need_not_be_signed(desk: Desk, query: str) -> None:
    """They say nothing; some signers leave them away."""
    wire = signed(Plan("GET", "/?a=1&b=2"))
    desk.accepts(replace(wire, target=f"/?{query}"))
    desk.refuses(replace(wire, target=f"/?{query}&c"))


def test_a_presigned_url_with_empty_parameters(desk: Desk) -> None:
    path, _, query = presigned().target.partition("?")
    desk.accepts(replace(presigned(), target=f"{path}?&{query.replace('&', '&&')}&"))


def test_our_own_signer(desk: Desk) -> None:
    headers = {"Host": HOST, **JSON}
    added = sign(
        Credentials(KEY, SECRET), "us-east-1", "POST", "/", headers, SEND.body, datetime.fromtimestamp(NOW, UTC)
    )
    desk.accepts(Wire("POST", "/", headers | added, SEND.body))


def test_white_space_in_headers_does_not_count(desk: Desk) -> None:
    wire = signed(replace(SEND, headers={**JSON, "X-Other": "a b"}))
    for _ in range(2):
        desk.accepts(wire)
        desk.accepts(wire.header("X-Other", "  a   b\t"))
    desk.refuses(wire.header("X-Other", "ab"))


def test_a_header_in_two_spellings_counts_with_both_values(desk: Desk) -> None:
    """Whoever adds one that the service would prefer breaks the signature."""
    wire = signed()
    method, target, headers, body = wire.parts
    for doubled in ({**headers, b"x-amz-target": b"evil"}, {b"x-amz-target": b"evil", **headers}):
        with pytest.raises(SignatureDoesNotMatch):
            desk.verifier.verify(method, target, doubled, body)
    twice = signed(replace(SEND, headers={**JSON, "X-Other": "a,b"}))
    method, target, headers, body = twice.header("X-Other", None).parts
    assert desk.verifier.verify(method, target, {**headers, b"X-Other": b"a", b"x-other": b" b"}, body) is ALICE
    assert desk.verifier.verify(method, target, {**headers, b"X-Other": b"a", b"x-other": b" b"}, body) is ALICE
    with pytest.raises(SignatureDoesNotMatch):
        desk.verifier.verify(method, target, {**headers, b"X-Other": b"b", b"x-other": b"a"}, body)


def test_headers_in_lower_case(desk: Desk) -> None:
    wire = signed()
    lower = replace(wire, headers={name.lower(): value for name, value in wire.headers.items()})
    desk.accepts(lower)
    desk.accepts(lower)
    desk.refuses(replace(lower, body=b"other"))


def test_a_name_of_the_service_that_only_its_proxy_knows(desk: Desk) -> None:
    wire = signed()
    inside = wire.header("Host", "10.0.0.1:9324")
    desk.refuses(inside)
    desk.accepts(inside, hosts=(b"wrong", HOST.encode()))
    desk.refuses(inside)


# The body's hash.


def test_the_hash_of_the_body_in_a_header(desk: Desk) -> None:
    right = hashlib.sha256(SEND.body).hexdigest()
    wire = signed(replace(SEND, headers={**JSON, "X-Amz-Content-Sha256": right}))
    for _ in range(2):
        desk.accepts(wire)
        desk.refuses(replace(wire, body=b"other"))


@pytest.mark.parametrize("value", ["UNSIGNED-PAYLOAD", "STREAMING-AWS4-HMAC-SHA256-PAYLOAD", "0" * 64, ""])
def test_a_body_that_is_not_signed_is_refused(desk: Desk, value: str) -> None:
    """Outside S3 AWS signs bodies: a hash that is none proves nothing."""
    text = desk.refuses(signed(replace(SEND, headers={**JSON, "X-Amz-Content-Sha256": value})))
    assert "unsigned bodies are not taken" in text


# Time.


@pytest.mark.parametrize("off", [-900, -899, 0, 899, 900])
def test_a_clock_may_be_off_by_a_quarter_of_an_hour(desk: Desk, off: int) -> None:
    desk.accepts(signed(at=NOW + off))


def test_an_older_signature_is_refused_with_both_times(desk: Desk) -> None:
    wire = signed()
    desk.accepts(wire)
    desk.clock.advance(900)
    desk.accepts(wire)
    desk.clock.advance(1)
    text = desk.refuses(wire)
    assert text.startswith(f"Signature expired: {stamp(NOW)} is now earlier than {stamp(NOW + 1)} ({stamp(NOW + 901)} ")


def test_a_signature_of_the_future_is_refused_with_both_times(desk: Desk) -> None:
    text = desk.refuses(signed(at=NOW + 901))
    assert text.startswith(f"Signature not yet current: {stamp(NOW + 901)} is still later than {stamp(NOW + 900)} (")
    assert stamp(NOW) in text


def test_a_presigned_url_is_good_until_it_expires(desk: Desk) -> None:
    wire = presigned(expires=3_600)
    desk.clock.advance(3_599)
    desk.accepts(wire)
    desk.clock.advance(1)
    text = desk.refuses(wire)
    assert text.startswith(f"Signature expired: {stamp(NOW + 3_600)} is now earlier than {stamp(NOW + 3_600)} ")


def test_a_presigned_url_of_the_future_is_refused(desk: Desk) -> None:
    desk.accepts(presigned(at=NOW + 900))
    desk.refuses(presigned(at=NOW + 901))


@pytest.mark.parametrize("expires", [0, -1, 604_801, 10**9])
def test_a_presigned_url_is_good_for_a_week_at_most(desk: Desk, expires: int) -> None:
    desk.accepts(presigned(expires=604_800))
    desk.refuses(presigned(expires=expires), IncompleteSignature)


def test_midnight(desk: Desk) -> None:
    """The day of the signature counts, not the service's."""
    midnight = NOW - NOW % 86_400
    desk.clock.advance(midnight - NOW + 60)
    wire = signed(at=midnight - 60)
    desk.accepts(wire)
    desk.accepts(wire)


def test_the_date_of_the_scope_is_that_of_the_request(desk: Desk) -> None:
    wire = signed()
    day = stamp(NOW)[:8]
    desk.refuses(wire.header("Authorization", wire.headers["Authorization"].replace(day, str(int(day) + 1))))
    moved = wire.header("X-Amz-Date", stamp(NOW - 86_400))
    desk.clock.advance(-86_400)
    desk.refuses(moved)


def test_the_time_in_the_header_date(desk: Desk) -> None:
    wire = signed(replace(SEND, headers={**JSON, "Date": "now"}))
    assert "X-Amz-Date" not in wire.headers
    desk.accepts(wire)
    desk.accepts(wire)
    desk.refuses(wire.header("Date", formatdate(NOW + 1, usegmt=True)))
    desk.refuses(wire.header("Date", "yesterday"), IncompleteSignature)


# Whose.


def test_an_unknown_key(desk: Desk) -> None:
    desk.refuses(by_header(SEND, "AKIDOTHER", SECRET, NOW), InvalidClientTokenId)


def test_another_secret(desk: Desk) -> None:
    desk.refuses(by_header(SEND, KEY, SECRET[:-1], NOW))


def test_a_secret_that_changes_while_its_key_is_remembered(desk: Desk) -> None:
    old, new = signed(), by_header(SEND, KEY, "new", NOW)
    desk.accepts(old)
    desk.keys.known[KEY] = (ALICE, "new")
    desk.refuses(old)
    desk.accepts(new)
    desk.accepts(new)
    del desk.keys.known[KEY]
    desk.refuses(new, InvalidClientTokenId)


def test_any_region_of_the_client_is_taken_if_it_is_what_was_signed(desk: Desk) -> None:
    """One service is one region, whatever its clients call it; but the region signed cannot be changed."""
    wire = signed(region="eu-central-1")
    desk.accepts(wire)
    desk.refuses(wire.header("Authorization", wire.headers["Authorization"].replace("eu-central-1", "us-east-1")))


def test_another_service(desk: Desk) -> None:
    wire = signed()
    text = desk.refuses(wire.header("Authorization", wire.headers["Authorization"].replace("/sqs/", "/s3/")))
    assert "'sqs'" in text
    desk.refuses(wire.header("Authorization", wire.headers["Authorization"].replace("aws4_request", "aws5_request")))


def test_session_tokens_are_refused_clearly(desk: Desk) -> None:
    assert "temporary credentials" in desk.refuses(signed(token="a-token"), InvalidClientTokenId)


# What is no signature.


def test_no_signature(desk: Desk) -> None:
    desk.refuses(Wire("POST", "/", {"Host": HOST, **JSON}, SEND.body), MissingAuthenticationToken)
    desk.refuses(Wire("GET", LIST.target, {"Host": HOST}), MissingAuthenticationToken)


START, DIGITS = "AWS4-HMAC-SHA256 Credential=a/20270115/us-east-1/sqs/aws4_request", "0" * 64


@pytest.mark.parametrize(
    "authorization",
    [
        "",
        "Basic abc",
        "AWS4-HMAC-SHA256",
        "AWS4-HMAC-SHA256 ",
        START,
        f"AWS4-HMAC-SHA256 Credential=a, SignedHeaders=host, Signature={DIGITS}",
        f"{START}, SignedHeaders=host, Signature=0",
        f"{START}, SignedHeaders=Host, Signature={DIGITS}",
        f"{START}, SignedHeaders=x;host, Signature=" + "0" * 64,
        f"{START}, SignedHeaders=;, Signature={DIGITS}",
    ],
)
def test_what_is_incomplete(desk: Desk, authorization: str) -> None:
    headers = {"Host": HOST, "X-Amz-Date": stamp(NOW), "Authorization": authorization}
    desk.refuses(Wire("POST", "/", headers), IncompleteSignature)


@pytest.mark.parametrize("date", ["", "today", "2027-01-15T08:00:00Z", "20270115T080000", "20279915T080000Z"])
def test_a_date_that_is_none(desk: Desk, date: str) -> None:
    desk.refuses(signed().header("X-Amz-Date", date), Fault)


@pytest.mark.parametrize("name", ["Algorithm", "Credential", "Date", "Expires", "SignedHeaders", "Signature"])
def test_a_url_that_lacks_something(desk: Desk, name: str) -> None:
    wire = presigned()
    path, _, query = wire.target.partition("?")
    left = [pair for pair in query.split("&") if not pair.startswith(f"X-Amz-{name}=")]
    assert f"X-Amz-{name}" in desk.refuses(replace(wire, target=f"{path}?{'&'.join(left)}"), IncompleteSignature)


def test_signed_twice(desk: Desk) -> None:
    wire = presigned()
    desk.refuses(wire.header("Authorization", signed().headers["Authorization"]), IncompleteSignature)


def test_signature_version_2(desk: Desk) -> None:
    target = "/?Action=ListQueues&AWSAccessKeyId=a&SignatureVersion=2&SignatureMethod=HmacSHA256&Signature=abc"
    assert "version 4" in desk.refuses(Wire("GET", target, {"Host": HOST}), IncompleteSignature)


def test_the_host_must_be_signed(desk: Desk) -> None:
    wire = signed()
    text = desk.refuses(wire.header("Authorization", wire.headers["Authorization"].replace("host;", "")))
    assert "Host" in text


# What is remembered.


def test_what_is_remembered_is_bounded(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MOST_KEYS", "MOST_TIMES"):
        monkeypatch.setattr(verify, name, 4)
    monkeypatch.setattr(verify, "MOST_BYTES_OF_ACCOUNT", 12_000)
    for number in range(20):
        wire = signed(replace(SEND, headers={**JSON, f"X-Other-{number}": "a"}), at=NOW + number, region=f"r-{number}")
        desk.accepts(wire.header("User-Agent", "a"))
        desk.accepts(wire)
    for held in (desk.verifier._habits, desk.verifier._signers, desk.verifier._times):
        assert 0 < len(held) <= 4


@pytest.mark.parametrize("most", ["MOST_BYTES_OF_ACCOUNT", "MOST_BYTES"])
def test_habits_are_bounded_in_bytes(desk: Desk, monkeypatch: pytest.MonkeyPatch, most: str) -> None:
    monkeypatch.setattr(verify, most, 200_000)
    # Many names in ever other orders, each of which is remembered by itself.
    names = [f"X-{number:03}" for number in range(150)]

    def ask(number: int) -> None:
        turned = names[number:] + names[:number]
        desk.accepts(signed(replace(SEND, headers={**JSON, **dict.fromkeys(turned, "a")}), region=f"r-{number // 10}"))

    # What is made once, and what is garbage, does not count.
    ask(0)
    tracemalloc.start()
    counted = taken = 0
    for number in range(100):
        ask(number)
        if desk.verifier._bytes > max(counted, 150_000):
            gc.collect()
            # Of this room only: other threads allocate, too.
            found = tracemalloc.take_snapshot().filter_traces([tracemalloc.Filter(True, "*/rockdove/wire/*")])
            counted, taken = desk.verifier._bytes, sum(each.size for each in found.statistics("filename"))
    tracemalloc.stop()
    assert 150_000 < counted <= 200_000
    assert 0 < taken < counted


def test_a_client_that_goes_on_is_not_forgotten(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verify, "MOST_TIMES", 1)
    for second in range(50):
        desk.accepts(signed(at=NOW + second))
    before = desk.verifier._bytes
    desk.accepts(signed(at=NOW + 51))
    assert desk.verifier._bytes == before
    assert len(desk.verifier._habits) == 1


def test_nothing_is_remembered_of_what_was_refused(desk: Desk) -> None:
    for number in range(20):
        desk.refuses(by_header(SEND, KEY, "guess", NOW, region=f"r-{number}"))
    for held in (desk.verifier._habits, desk.verifier._signers, desk.verifier._times):
        assert not held


def test_what_is_long_is_verified_each_time_and_not_remembered(desk: Desk) -> None:
    for number in range(3):
        desk.accepts(signed(region=f"{number}" + "r" * 200))
        desk.accepts(signed(Plan("POST", "/", {f"X-Other-{number}" + "x" * 3_000: "1"}, b"{}")))
    remembered = desk.verifier
    assert not remembered._signers
    assert not remembered._habits


def test_a_query_is_not_sorted_before_the_key_is_known(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may be long, and whoever sends it need not have a key."""
    monkeypatch.setattr(claim.Claim, "queries", lambda self: pytest.fail("the query was sorted"))
    desk.keys.known.clear()
    desk.refuses(presigned(), InvalidClientTokenId)
    desk.refuses(signed(LIST), InvalidClientTokenId)


def test_more_parameters_than_any_operation_takes_are_refused(desk: Desk) -> None:
    most = "&".join(["Action=ListQueues", *(f"a{number}=" for number in range(form.MAX_PARAMETERS - 1))])
    desk.accepts(signed(Plan("GET", f"/?{most}")))
    assert "more than 4000 parameters" in desk.refuses(signed(Plan("GET", f"/?{most}&")), MalformedQueryString)
