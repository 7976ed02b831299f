"""What devices post by CoAP."""

import asyncio
import random
import socket
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from aiocoap import Context
from aiocoap.message import Message
from aiocoap.numbers.codes import ABORT, CSM, GET, POST, PUT, Code
from aiocoap.transports.tcp import _decode_message, _extract_message_size, _serialize

from rockdove.client import Client, Credentials
from tests.support.certificate import Authority
from tests.support.datagram import posting
from tests.support.filling import empty
from tests.support.gateway import Gateway
from tests.support.server import ServerFactory


def post(url: str, payload: bytes = b"x", code: Code = POST, **options: Any) -> Any:
    """The answer."""

    async def ask() -> Any:
        context = await Context.create_client_context()
        try:
            request = Message(code=code, uri=url, payload=payload, **options)
            async with asyncio.timeout(60):
                return await context.request(request).response
        finally:
            await context.shutdown()

    return asyncio.run(ask())


def attributes(client: Client, queue: str) -> tuple[str, dict[str, str | None]]:
    [message] = client.receive(queue, wait_s=5)
    client.delete(queue, message.receipt_handle)
    return message.body, {name: one.string_value for name, one in message.message_attributes.items()}


def test_a_message(coap: Gateway, client: Client, queue: str) -> None:
    answer = post(f"{coap.url}/queues/{queue}", b'{"celsius": 21.5}', content_format=50)
    assert answer.code.dotted == "2.01"
    [message] = client.receive(queue, wait_s=5)
    assert answer.payload.decode() == message.message_id
    client.change_visibility(queue, message.receipt_handle, 0)
    assert attributes(client, queue) == (
        '{"celsius": 21.5}',
        {"CoapPath": f"queues/{queue}", "CoapPeer": "127.0.0.1", "ContentType": "application/json"},
    )


def test_by_a_mapping(coap: Gateway, client: Client) -> None:
    client.create_queue("data")
    empty(client, "data")
    assert post(f"{coap.url}/devices/d7/data", b"\xff\x00").code.dotted == "2.01"
    body, found = attributes(client, "data")
    assert (body, found["Encoding"]) == ("/wA=", "base64")


@pytest.mark.parametrize("size", [1_024, 1_025, 5_000, 300_000])
def test_blocks(coap: Gateway, client: Client, queue: str, size: int) -> None:
    payload = "".join(random.Random(size).choices("abcdefgh", k=size))
    assert post(f"{coap.url}/queues/{queue}", payload.encode()).code.dotted == "2.01"
    assert empty(client, queue) == [payload]


@pytest.mark.parametrize("large", [False, True])
def test_a_datagram_that_comes_twice(coap: Gateway, client: Client, queue: str, large: bool) -> None:
    """Or four times, as on a network that loses answers: one message, and the same answer each time."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as device:
        device.connect(("127.0.0.1", coap.port))
        device.settimeout(20)
        blocks = [(0, True, b"a" * 16), (1, True, b"b" * 16), (2, False, b"c")] if large else [(0, False, b"abc")]
        answers = []
        for number, more, payload in blocks:
            options = {"block1": (number, more, 0)} if large else {}
            request = posting(("queues", queue), 50 + number, payload, token := b"%d" % number, **options)
            device.send(request)
            device.send(request)
            answers = [answer(device, token)]
            device.send(request)
            device.send(request)
            # Those that came before the first answer may have none of their own.
            answers += [answer(device, token) for _ in range(2)]
            assert len(set(answers)) == 1
        assert answers[0][0] == "2.01"
    assert empty(client, queue) == ["a" * 16 + "b" * 16 + "c" if large else "abc"]


def answer(device: socket.socket, token: bytes) -> tuple[str, bytes]:
    """The next one to this request that is no empty acknowledgement."""
    while True:
        found = Message.decode(device.recv(65_536))
        if found.code.is_response() and found.token == token:
            return found.code.dotted, found.payload


@pytest.mark.parametrize(
    ("path", "payload", "options", "code", "text"),
    [
        ("queues/nothing", b"x", {}, "4.04", "does not exist"),
        ("nowhere", b"x", {}, "4.04", "/queues/NAME always does"),
        ("queues/{queue}", b"", {}, "4.00", "must not be empty"),
        ("queues/{queue}?colour=red", b"x", {}, "4.00", "dedup, group, secret, token, user"),
        ("queues/{queue}?user=ann", b"x", {}, "4.01", "by token, or by user and secret"),
        ("queues/{queue}", b"x", {"code": GET}, "4.05", ""),
        ("queues/{queue}", b"x", {"code": PUT}, "4.05", ""),
        ("queues/{queue}", b"x", {"if_none_match": True}, "4.02", "option 5"),
        ("queues/{queue}", b"x", {"proxy_scheme": "http"}, "5.05", ""),
        ("queues/{queue}", b"x" * 1_048_576, {}, "4.13", "1048576"),
    ],
)
def test_refused(
    coap: Gateway, queue: str, path: str, payload: bytes, options: dict[str, Any], code: str, text: str
) -> None:
    found = post(f"{coap.url}/{path.format(queue=queue)}", payload, **options)
    assert found.code.dotted == code
    assert text in found.payload.decode()


def test_groups_of_a_fifo_queue(coap: Gateway, client: Client, new_name: Callable[[str], str]) -> None:
    queue = new_name(".fifo")
    client.create_queue(queue, attributes={"FifoQueue": "true"})
    for query in ("?group=a&dedup=1", "?group=a&dedup=1", "?group=b", "?group=b"):
        assert post(f"{coap.url}/queues/{queue}{query}").code.dotted == "2.01"
    groups = [message.attributes["MessageGroupId"] for message in client.receive(queue, limit=10, wait_s=2)]
    assert sorted(groups) == ["a", "b", "b"]


def test_the_service_is_away(
    server: ServerFactory, open_gateway: Callable[..., Gateway], new_name: Callable[[], str]
) -> None:
    """A device is told to come again, and when; what was answered by 2.01 is there, whoever dies."""
    service = server()
    gateway = open_gateway("coap", endpoint=service.endpoint)
    queue, stored = new_name(), []
    with Client(service.endpoint) as client:
        client.create_queue(queue)
    for victim in (gateway, service):
        for number in range(20):
            body = f"{victim.port}/{number}"
            assert post(f"{gateway.url}/queues/{queue}", body.encode()).code.dotted == "2.01"
            stored.append(body)
        victim.kill()
        if victim is service:
            found = post(f"{gateway.url}/queues/{queue}", b"too early")
            assert (found.code.dotted, found.opt.max_age) == ("5.03", 5)
        victim.start()
    with Client(service.endpoint) as client:
        assert set(stored) <= set(empty(client, queue)) <= {*stored, "too early"}


def post_over_tls(
    gateway: Gateway, authority: Authority, path: str, query: Sequence[str], broken: bool = False
) -> Message:
    """By hand: the library's own client leaves its connections open."""
    request = Message(code=POST, uri_path=path.split("/"), uri_query=query, payload=b"x", _token=b"t")
    with (
        socket.create_connection(("127.0.0.1", gateway.port), timeout=20) as plain,
        authority.client().wrap_socket(plain, server_hostname="127.0.0.1") as connection,
    ):
        # What both sides begin with: their capabilities, of which there are none.
        sent = _serialize(request)
        connection.sendall(bytes([0, CSM]) + (sent.replace(b"jobs", b"jo\xff\xfe") if broken else sent))
        heard = b""
        while piece := connection.recv(65_536):
            heard += piece
            while (sizes := _extract_message_size(heard)) is not None and sum(sizes) <= len(heard):
                message, heard = _decode_message(heard[: sum(sizes)]), heard[sum(sizes) :]
                if message.code.is_response() or message.code == ABORT:
                    return message
    raise AssertionError("no answer")


def test_accounts_and_tls(
    server: ServerFactory, open_gateway: Callable[..., Gateway], tmp_path_factory: pytest.TempPathFactory
) -> None:
    own = server()
    with Client(own.endpoint) as anybody:
        made = anybody.add_account("ann", admin=True)
    authority = Authority(tmp_path_factory.mktemp("tls"))
    authority.issue()
    tls = ("--tls-cert", str(authority.cert), "--tls-key", str(authority.key))
    gateway = open_gateway("coap", *tls, endpoint=own.endpoint)
    assert gateway.url.startswith("coaps+tcp://")
    with Client(own.endpoint, credentials=Credentials(made.access_key, made.secret_key)) as office:
        token = office.add_account_token("ann").token
        office.create_queue("jobs")
        for query, code in (
            ([f"token={token}"], "2.01"),
            (["user=ann", f"secret={made.secret_key}"], "2.01"),
            ([], "4.01"),
            (["token=wrong"], "4.01"),
            (["token=w\r\nX-Evil: 1"], "4.01"),
            (["user=ann", "secret=wrong"], "4.01"),
        ):
            found = post_over_tls(gateway, authority, "queues/jobs", query)
            assert (query, found.code.dotted) == (query, code)
        assert empty(office, "jobs") == ["x", "x"]
        # An option that is no text ends the connection with a word of why.
        assert post_over_tls(gateway, authority, "queues/jobs", [], broken=True).code == ABORT
        assert " ERROR " not in gateway.log
