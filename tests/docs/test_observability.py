"""The dashboard and the alert rules ask for nothing that a live service does not tell."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from rockdove.server.figures import EVENTS
from tests.docs.page import ROOT, page
from tests.support.metrics import Scrape, scrape
from tests.support.raw import Web
from tests.support.server import ServerFactory

FOLDER = ROOT / "docs" / "observability"
DASHBOARD = json.loads((FOLDER / "dashboard.json").read_text())
ALERTS = yaml.safe_load((FOLDER / "alerts.yaml").read_text())
REFERENCE = page("docs/reference/metrics.md")

_NAME = re.compile(r"\b(?:rockdove|process)_\w+")
_SELECTOR = re.compile(r"\b((?:rockdove|process)_\w+)\{([^}]*)\}")
_MATCHER = re.compile(r'(\w+)(=~|!~|!=|=)"([^"]*)"')
_GROUPING = re.compile(r"\b(?:by|on) \(([^)]*)\)")
# Labels that Prometheus adds.
_ADDED = {"instance", "job"}


@pytest.fixture(scope="module")
def seen(server: ServerFactory) -> Scrape:
    """A service in which everything has happened that shows in a metric."""
    own = server()
    web = Web(own.port)
    url = web.create("q")
    assert web.call("SendMessage", {"QueueUrl": url, "MessageBody": "x"}).status == 200
    assert web.call("SendMessage", {"QueueUrl": url}).status == 400
    assert web.call("ReceiveMessage", {"QueueUrl": url}).status == 200
    lease = {"QueueUrl": url, "Consumer": "c", "Shard": 0, "Sequence": 0}
    assert web.call("Rockdove.LeaseBatch", lease).status == 200
    web.close()
    return scrape(own.port)


def targets() -> Iterator[str]:
    for panel in DASHBOARD["panels"]:
        for target in panel.get("targets", []):
            yield target["expr"]
    for variable in DASHBOARD["templating"]["list"]:
        if variable["type"] == "query":
            yield variable["definition"]


RULES: list[dict[str, Any]] = [rule for group in ALERTS["groups"] for rule in group["rules"]]
EXPRESSIONS = [*targets(), *(rule["expr"] for rule in RULES)]


def labels_of(seen: Scrape, name: str) -> set[str]:
    return {label for sample, labels in seen.samples if sample == name for label, _ in labels}


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_every_metric_and_label_exists(seen: Scrape, expression: str) -> None:
    names = set(_NAME.findall(expression))
    assert names
    assert names <= seen.names()
    for name, matchers in _SELECTOR.findall(expression):
        for label, _, value in _MATCHER.findall(matchers):
            assert label in labels_of(seen, name) | _ADDED
            if label == "event":
                assert set(value.split("|")) <= set(EVENTS)
            if label == "state":
                assert seen("rockdove_messages", queue="q", state=value) is not None
    known = {label for name in names for label in labels_of(seen, name)}
    for group in _GROUPING.findall(expression):
        assert {label.strip() for label in group.split(",")} <= known | _ADDED


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_brackets_are_closed(expression: str) -> None:
    bare = re.sub(r'"[^"]*"', "", expression)
    for opening, closing in ("()", "{}", "[]"):
        assert bare.count(opening) == bare.count(closing)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["alert"])
def test_every_rule_says_what_to_do(rule: dict[str, Any]) -> None:
    assert set(rule) <= {"alert", "expr", "for", "labels", "annotations"}
    assert re.fullmatch(r"Rockdove[A-Z]\w+", rule["alert"])
    assert rule["labels"]["severity"] in ("critical", "warning")
    assert rule["annotations"]["summary"]
    assert rule["annotations"]["description"]


def test_panels_do_not_overlap_and_have_ids_of_their_own() -> None:
    taken: dict[tuple[int, int], str] = {}
    for panel in DASHBOARD["panels"]:
        place = panel["gridPos"]
        for x in range(place["x"], place["x"] + place["w"]):
            assert x < 24
            for y in range(place["y"], place["y"] + place["h"]):
                assert taken.setdefault((x, y), panel["title"]) == panel["title"]
    ids = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(ids) == len(set(ids))


def test_the_reference_has_every_metric_and_no_other(seen: Scrape) -> None:
    suffixes = re.compile(r"_(bucket|count|sum)$")
    histograms = {family.name for family in seen.families.values() if family.type == "histogram"}
    names = {suffixes.sub("", name) if suffixes.sub("", name) in histograms else name for name in seen.names()}
    assert set(_NAME.findall(REFERENCE.text)) == names


def test_the_reference_has_every_event_and_every_bound(seen: Scrape) -> None:
    for event in EVENTS:
        assert f"| `{event}` |" in REFERENCE.text
    bounds = [
        dict(labels)["le"]
        for name, labels in seen.samples
        if name == "rockdove_request_seconds_bucket" and dict(labels)["operation"] == "SendMessage"
    ]
    for bound in bounds:
        assert bound == "+Inf" or bound in REFERENCE.text
