"""Web pages: those of another origin are refused, unless the service was told to let them in."""

from collections.abc import Iterator

import pytest

from rockdove.server.host import HostError
from rockdove.server.host import check as check_host
from rockdove.server.origin import OriginError, check
from tests.contract.transport.conftest import Start
from tests.support.raw import Web
from tests.support.service import RunningService

APP = "https://app.example.com"
OTHER = "http://localhost:5173"


@pytest.fixture
def service(start: Start) -> RunningService:
    return start(cors_origin=(APP, OTHER))


@pytest.fixture
def web(service: RunningService) -> Iterator[Web]:
    made = Web(service.port)
    yield made
    made.close()


def cross_site(origin: str) -> dict[str, str]:
    """What a browser adds for a page of another site."""
    return {"Origin": origin, "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "cors"}


@pytest.mark.parametrize("origin", [APP, OTHER])
def test_a_page_that_is_allowed_sees_its_answers(web: Web, origin: str) -> None:
    for reply in (
        web.call("CreateQueue", {"QueueName": "q"}, cross_site(origin)),
        web.call("GetQueueUrl", {"QueueName": "missing"}, cross_site(origin)),
        web.get("/", cross_site(origin), Action="ListQueues"),
        web.get("/health", cross_site(origin)),
        web.call("ListQueues", b"x", cross_site(origin) | {"Content-Encoding": "gzip"}),
    ):
        assert reply.status in (200, 400, 415)
        assert reply.headers["access-control-allow-origin"] == origin
        assert "x-amzn-RequestId" in reply.headers["access-control-expose-headers"]
        assert reply.headers["vary"] == "Origin"


def test_the_next_request_on_the_connection_is_not_the_page_s(web: Web) -> None:
    assert "access-control-allow-origin" in web.call("ListQueues", {}, cross_site(APP)).headers
    assert "access-control-allow-origin" not in web.call("ListQueues", {}).headers
    assert "access-control-allow-origin" not in web.get("/health").headers


@pytest.mark.parametrize(
    "headers",
    [
        cross_site("https://elsewhere.example"),
        cross_site("null"),
        cross_site("http://app.example.com"),
        cross_site("https://app.example.com:8443"),
        cross_site("https://app.example.com.elsewhere.example"),
        cross_site("https://elsewhere.example/https://app.example.com"),
        {"Origin": ""},
        {"Sec-Fetch-Site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
    ids=str,
)
def test_other_pages_are_refused(web: Web, headers: dict[str, str]) -> None:
    before = web.call("ListQueues", {}).json
    for reply in (
        web.call("CreateQueue", {"QueueName": "evil"}, headers),
        web.get("/", headers, Action="CreateQueue", QueueName="evil"),
        web.request("OPTIONS", "/", headers=headers | {"Access-Control-Request-Method": "POST"}),
        web.request("GET", "/health", headers=headers),
    ):
        assert reply.status == 403
        assert "access-control-allow-origin" not in reply.headers
    assert web.call("ListQueues", {}).json == before


CHANGES = [
    {"Action": "CreateQueue", "QueueName": "evil"},
    {"Action": "PurgeQueue"},
    {"Action": "DeleteQueue"},
    {"Action": "ReceiveMessage"},
    {"Action": "SendMessage", "MessageBody": "evil"},
]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change["Action"])
def test_a_picture_changes_nothing(web: Web, change: dict[str, str]) -> None:
    """Some browsers do not say that the page which shows it is another's."""
    url = web.create("q")
    path = "/" if change["Action"] == "CreateQueue" else "/000000000000/q"
    reply = web.get(path, {}, **change)
    assert (reply.status, "Use POST" in reply.text) == (403, True)
    assert web.call("ListQueues", {}).json == {"QueueUrls": [url]}
    # Who can choose headers is no page, or one that was let in.
    for headers in ({"Authorization": "AWS4-HMAC-SHA256 x"}, {"x-amz-date": "20260203T040506Z"}, cross_site(APP)):
        assert web.get("/", headers, Action="CreateQueue", QueueName="mine").status == 200
    assert web.get("/", {}, Action="ListQueues").status == 200
    assert web.get("/000000000000/q", {}, Action="GetQueueAttributes").status == 200


def test_the_question_before_the_request(web: Web) -> None:
    asked = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization,x-amz-target"}
    reply = web.request("OPTIONS", "/000000000000/q", headers=cross_site(APP) | asked)
    assert (reply.status, reply.body) == (200, b"")
    assert reply.headers["access-control-allow-origin"] == APP
    assert reply.headers["access-control-allow-methods"] == "GET, POST, DELETE"
    assert reply.headers["access-control-allow-headers"] == "authorization,x-amz-target"
    assert int(reply.headers["access-control-max-age"]) > 0
    assert "access-control-allow-private-network" not in reply.headers
    assert web.call("ListQueues", {}, cross_site(APP)).status == 200


def test_a_page_from_the_internet_that_asks_for_a_private_network(web: Web) -> None:
    asked = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Private-Network": "true"}
    reply = web.request("OPTIONS", "/", headers=cross_site(APP) | asked)
    assert reply.headers["access-control-allow-private-network"] == "true"


def test_options_that_is_no_question(web: Web) -> None:
    assert web.request("OPTIONS", "/", headers={"Origin": APP}).status == 405
    assert web.request("OPTIONS", "/").status == 405


def test_everybody_needs_accounts(start: Start) -> None:
    with pytest.raises(OriginError, match="without accounts"):
        start(cors_origin=("*",))


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("https://app.example.com", "https://app.example.com"),
        ("HTTPS://App.Example.com", "https://app.example.com"),
        ("https://app.example.com:443", "https://app.example.com"),
        ("http://app.example.com:80", "http://app.example.com"),
        ("http://app.example.com:443", "http://app.example.com:443"),
        ("http://localhost:5173", "http://localhost:5173"),
        ("http://[::1]:80", "http://[::1]"),
        ("*", "*"),
    ],
)
def test_origins_as_browsers_write_them(given: str, meant: str) -> None:
    assert check(given) == meant


@pytest.mark.parametrize(
    "given",
    ["", "null", "app.example.com", "https://app.example.com/", "https://a b", "https://*.example.com", "ftp://a"],
)
def test_what_is_no_origin(given: str) -> None:
    with pytest.raises(OriginError):
        check(given)


# Names that were made to point here. Browsers send no Origin and no Sec-Fetch-Site with such a page's own requests.


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:9324", "localhost.evil.example", "127.0.0.1.evil.example"]
)
def test_a_name_that_is_not_ours_is_refused(start: Start, host: str) -> None:
    web = Web(start().port)
    foreign = {"Host": host}
    for reply in (
        web.get("/", foreign, Action="CreateQueue", QueueName="evil"),
        web.post("/", foreign, Action="CreateQueue", QueueName="evil"),
        web.call("CreateQueue", {"QueueName": "evil"}, foreign),
        web.get("/metrics", foreign),
    ):
        assert reply.status == 403
        assert "--allow-host" in reply.text
    assert web.get("/health", foreign).status == 200
    assert web.call("ListQueues", {}).json == {}
    web.close()


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "10.1.2.3:9324", "[::1]:9324", "localhost", "LocalHost:1", "q.localhost", "lan.example:8080"]
)
def test_names_that_are_ours(start: Start, host: str) -> None:
    web = Web(start(allow_host=("lan.example",)).port)
    for _ in range(2):
        assert web.call("ListQueues", {}, {"Host": host}).status == 200
        assert web.get("/metrics", {"Host": host}).status == 200
    web.close()


def test_behind_a_trusted_proxy_the_proxy_decides(start: Start) -> None:
    web = Web(start(trust_proxy=True, allow_host=()).port)
    assert web.call("ListQueues", {}, {"Host": "queues.example.com"}).status == 200
    web.close()


@pytest.mark.parametrize("name", ["http://a", "a:80", "", "a b", "*"])
def test_what_is_no_name_of_a_host(name: str) -> None:
    with pytest.raises(HostError, match="is not the name of a host"):
        check_host(name)
