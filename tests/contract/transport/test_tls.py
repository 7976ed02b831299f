"""TLS: real clients, old and weak ones, new certificates while it runs, and those who only begin a handshake."""

import contextlib
import logging
import socket
import ssl
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from cryptography import x509

from rockdove.client import Client
from rockdove.server.limit import Limits
from tests.contract.transport.conftest import Start
from tests.support.aws import config, session
from tests.support.certificate import Authority
from tests.support.raw import json_request
from tests.support.service import RunningService

HEALTH = b"GET /health HTTP/1.1\r\nHost: queue.test\r\n\r\n"
_PATIENCE_S = 120
# What a client of TLS says when the other end, not itself, has ended a handshake.
HUNG_UP = "UNEXPECTED_EOF|_ALERT_"


@contextmanager
def dial(service: RunningService, context: ssl.SSLContext) -> Iterator[ssl.SSLSocket]:
    plain = socket.create_connection(("127.0.0.1", service.port), timeout=_PATIENCE_S)
    with context.wrap_socket(plain, server_hostname="127.0.0.1") as secure:
        yield secure


def serial(secure: ssl.SSLSocket) -> int:
    found = secure.getpeercert(binary_form=True)
    assert found is not None
    return x509.load_der_x509_certificate(found).serial_number


def is_served(secure: ssl.SSLSocket) -> bool:
    secure.sendall(HEALTH)
    return secure.recv(65536).startswith(b"HTTP/1.1 200 ")


def reload(service: RunningService) -> None:
    async def work() -> None:
        service.service.reload()

    service.run(work())


@pytest.fixture
def sqs(start_tls: Start, authority: Authority) -> Iterator[Any]:
    service = start_tls()
    made = session().client("sqs", endpoint_url=service.endpoint, verify=str(authority.ca), config=config())
    yield made
    made.close()


def test_boto3(sqs: Any) -> None:
    url = sqs.create_queue(QueueName="q")["QueueUrl"]
    assert url.startswith("https://127.0.0.1:")
    assert sqs.get_queue_url(QueueName="q")["QueueUrl"] == url
    for body in ("small", "x" * 1_000_000):
        sqs.send_message(QueueUrl=url, MessageBody=body)
        [message] = sqs.receive_message(QueueUrl=url, WaitTimeSeconds=20)["Messages"]
        assert message["Body"] == body
        sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
    assert "Messages" not in sqs.receive_message(QueueUrl=url, WaitTimeSeconds=1)


def test_our_own_client(start_tls: Start, authority: Authority) -> None:
    with Client(start_tls().endpoint, tls=authority.client()) as client:
        url = client.create_queue("q")
        client.send(url, "hello")
        assert [message.body for message in client.receive(url)] == ["hello"]


def test_a_client_that_does_not_know_the_authority_is_told_by_its_own_tls(start_tls: Start) -> None:
    with pytest.raises(ssl.SSLCertVerificationError), dial(start_tls(), ssl.create_default_context()):
        pass


def versions(authority: Authority, version: ssl.TLSVersion) -> ssl.SSLContext:
    context = authority.client()
    with warnings.catch_warnings():
        # Python, too, does not want the old ones to be used.
        warnings.simplefilter("ignore", DeprecationWarning)
        context.minimum_version = version
        context.maximum_version = version
    return context


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_versions_that_are_spoken(start_tls: Start, authority: Authority, version: ssl.TLSVersion) -> None:
    with dial(start_tls(), versions(authority, version)) as secure:
        assert secure.version() == version.name.replace("TLSv1_", "TLSv1.")
        assert is_served(secure)


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1])
def test_versions_that_are_refused(start_tls: Start, authority: Authority, version: ssl.TLSVersion) -> None:
    """It is the service that refuses: the client is willing."""
    context = versions(authority, version)
    context.set_ciphers("ALL:@SECLEVEL=0")
    with pytest.raises(ssl.SSLError, match=HUNG_UP), dial(start_tls(), context):
        pass


@pytest.mark.parametrize("cipher", ["ECDHE-ECDSA-AES128-SHA", "ECDHE-ECDSA-AES256-SHA384", "ECDHE-ECDSA-AES128-CCM8"])
def test_weak_ciphers_are_refused(start_tls: Start, authority: Authority, cipher: str) -> None:
    """They fit the key, and the client is willing."""
    service = start_tls()
    context = versions(authority, ssl.TLSVersion.TLSv1_2)
    context.set_ciphers(f"{cipher}:@SECLEVEL=0")
    with pytest.raises(ssl.SSLError, match=HUNG_UP), dial(service, context):
        pass
    context.set_ciphers("ECDHE-ECDSA-AES128-GCM-SHA256:@SECLEVEL=0")
    with dial(service, context) as secure:
        assert is_served(secure)


# New certificates.


def test_a_new_certificate_for_new_connections(start_tls: Start, authority: Authority) -> None:
    service = start_tls()
    with dial(service, authority.client()) as old:
        first = serial(old)
        assert is_served(old)
        second = authority.issue().serial_number
        with dial(service, authority.client()) as meanwhile:
            assert serial(meanwhile) == first
        reload(service)
        with dial(service, authority.client()) as new:
            assert serial(new) == second != first
            assert is_served(new)
        assert is_served(old)


def test_a_request_under_way_is_not_disturbed_by_a_new_certificate(start_tls: Start, authority: Authority) -> None:
    service = start_tls()
    with dial(service, authority.client()) as old:
        old.sendall(HEALTH[:20])
        authority.issue()
        reload(service)
        old.sendall(HEALTH[20:])
        assert old.recv(65536).startswith(b"HTTP/1.1 200 ")


def test_a_key_that_everybody_can_read_is_told_once(
    start_tls: Start, authority: Authority, caplog: pytest.LogCaptureFixture
) -> None:
    authority.key.chmod(0o640)
    service = start_tls()
    with caplog.at_level(logging.WARNING):
        reload(service)
        assert caplog.records == []
        authority.key.chmod(0o644)
        reload(service)
        reload(service)
    (said,) = [record.getMessage() for record in caplog.records]
    assert said.startswith(f"the TLS key {authority.key} can be read by every user")


@pytest.mark.parametrize("damage", ["missing", "junk", "mismatch"])
def test_a_broken_new_certificate_changes_nothing(
    start_tls: Start, authority: Authority, caplog: pytest.LogCaptureFixture, damage: str
) -> None:
    service = start_tls()
    with dial(service, authority.client()) as secure:
        first = serial(secure)
    if damage == "missing":
        authority.cert.unlink()
    elif damage == "junk":
        authority.key.write_text("nonsense")
    else:
        old_key = authority.key.read_bytes()
        authority.issue()
        authority.key.write_bytes(old_key)
    with caplog.at_level(logging.ERROR):
        reload(service)
    assert [record.getMessage().partition(":")[0] for record in caplog.records] == [
        "still using the old TLS certificate"
    ]
    with dial(service, authority.client()) as secure:
        assert serial(secure) == first
        assert is_served(secure)
    authority.issue()
    reload(service)
    with dial(service, authority.client()) as secure:
        assert serial(secure) != first


# Those who do not shake hands.


def closed(plain: socket.socket) -> bool:
    """Whether the other end closes; waits for it. An alert of TLS may come first."""
    plain.settimeout(_PATIENCE_S)
    try:
        while plain.recv(65536):
            pass
    except ConnectionResetError:
        pass
    return True


@pytest.mark.parametrize("said", [HEALTH, b"x", b"\x16\x03\x01\xff\xff" + b"x" * 100_000, b"\x00" * 1000])
def test_what_is_no_tls_does_not_hang(start_tls: Start, authority: Authority, said: bytes) -> None:
    service = start_tls(limits=Limits(handshake_timeout_s=1))
    with socket.create_connection(("127.0.0.1", service.port)) as plain:
        plain.sendall(said)
        assert closed(plain)
    with dial(service, authority.client()) as secure:
        assert is_served(secure)


def test_a_handshake_has_its_time_and_counts_as_a_connection(start_tls: Start, authority: Authority) -> None:
    service = start_tls(limits=Limits(handshake_timeout_s=2, max_connections=3))
    with dial(service, authority.client()) as secure:
        assert is_served(secure)
        silent = [socket.create_connection(("127.0.0.1", service.port)) for _ in range(2)]
        time.sleep(0.1)
        with dial(service, authority.client()) as late:
            assert late.recv(65536).startswith(b"HTTP/1.1 503 ")
        for plain in silent:
            assert closed(plain)
            plain.close()
        assert is_served(secure)
        with dial(service, authority.client()) as late:
            assert is_served(late)


def _hello(length: int, sent: int) -> bytes:
    """The begin of a first message that says it has so many bytes, in records."""
    message = b"\x01" + length.to_bytes(3, "big") + b"\x03\x03" + b"x" * sent
    parts = [message[at : at + 16_384] for at in range(0, len(message), 16_384)]
    return b"".join(b"\x16\x03\x01" + len(part).to_bytes(2, "big") + part for part in parts)


@pytest.mark.parametrize("data", [_hello(131_000, 100_000), _hello(60_000, 10), _hello(200, 0)])
def test_a_first_message_that_no_client_sends_is_hung_up_on(start_tls: Start, data: bytes) -> None:
    """Before its rest has come, or its time is over."""
    service = start_tls(limits=Limits(handshake_timeout_s=600))
    with socket.create_connection(("127.0.0.1", service.port), timeout=_PATIENCE_S) as plain:
        plain.sendall(data)
        assert closed(plain)


def test_a_first_message_may_come_in_pieces(start_tls: Start, authority: Authority) -> None:
    service = start_tls()
    into, out = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = authority.client().wrap_bio(into, out, server_hostname="127.0.0.1")
    with socket.create_connection(("127.0.0.1", service.port), timeout=_PATIENCE_S) as plain:
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with pytest.raises(ssl.SSLWantReadError):
            client.do_handshake()
        for byte in out.read():
            plain.sendall(bytes([byte]))
        while True:
            into.write(plain.recv(65_536))
            try:
                client.do_handshake()
                break
            except ssl.SSLWantReadError:
                plain.sendall(out.read())
        client.write(HEALTH)
        plain.sendall(out.read())
        into.write(plain.recv(65_536))
        with contextlib.suppress(ssl.SSLWantReadError):
            while not (text := client.read(65_536)):
                into.write(plain.recv(65_536))
        assert text.startswith(b"HTTP/1.1 200 ")


def test_tls_reads_little_of_a_client_that_is_not_listened_to(start_tls: Start, authority: Authority) -> None:
    service = start_tls()
    with dial(service, authority.client()) as secure:
        assert is_served(secure)
        (connection,) = service.service.connections
        transport: Any = connection._outlet.transport
        assert transport.get_read_buffer_limits()[1] <= 16_384


def test_what_a_client_has_not_read_counts(start_tls: Start, authority: Authority) -> None:
    """TLS has little of a large answer at a time, also when the client has read some of it."""
    service = start_tls()
    body, most = "x" * 1_000_000, 640 * 1024
    with Client(service.endpoint, tls=authority.client()) as client:
        queue = client.create_queue("q")
        for _ in range(4):
            client.send(queue, body)
    plain = socket.socket()
    plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16_384)
    plain.connect(("127.0.0.1", service.port))
    plain.settimeout(_PATIENCE_S)
    with authority.client().wrap_socket(plain, server_hostname="127.0.0.1") as secure:
        request = json_request("ReceiveMessage", {"QueueUrl": queue, "MaxNumberOfMessages": 4}).replace(
            b"\r\n", b"\r\nConnection: close\r\n", 1
        )
        secure.sendall(request)
        got = secure.recv(16_384)
        while not (connection := next(iter(service.service.connections)))._outlet.congested:
            time.sleep(0.01)
        outlet = connection._outlet
        while len(got) < 2 * len(body):
            # What the kernel and TLS have on their way is little, and the rest counts.
            assert 4 * len(body) - len(got) - outlet.unread_bytes() < most
            for _ in range(16):
                got += secure.recv(16_384)
            time.sleep(0.05)
        while some := secure.recv(65_536):
            got += some
    head, _, told = got.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 ")
    assert told.count(body.encode()) == 4
    assert f"Content-Length: {len(told)}".encode() in head


# What depends on the transport.


def test_a_client_that_leaves_while_it_waits_takes_no_message(sqs: Any, authority: Authority) -> None:
    url = sqs.create_queue(QueueName="q")["QueueUrl"]
    port = int(sqs.meta.endpoint_url.rpartition(":")[2])
    plain = socket.create_connection(("127.0.0.1", port), timeout=_PATIENCE_S)
    with authority.client().wrap_socket(plain, server_hostname="127.0.0.1") as secure:
        secure.sendall(json_request("ReceiveMessage", {"QueueUrl": url, "WaitTimeSeconds": 20}))
        time.sleep(0.1)
    sqs.send_message(QueueUrl=url, MessageBody="x")
    [message] = sqs.receive_message(
        QueueUrl=url, WaitTimeSeconds=20, MessageSystemAttributeNames=["ApproximateReceiveCount"]
    )["Messages"]
    assert message["Attributes"]["ApproximateReceiveCount"] == "1"


def test_pipelined_requests_and_a_refusal_are_all_answered(start_tls: Start, authority: Authority) -> None:
    with dial(start_tls(), authority.client()) as secure:
        secure.sendall(HEALTH * 20 + b"nonsense\r\n\r\n")
        found = b""
        while data := secure.recv(65536):
            found += data
        assert (found.count(b"HTTP/1.1 200 "), found.count(b"HTTP/1.1 400 ")) == (20, 1)
