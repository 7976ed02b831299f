"""Reads /metrics as Prometheus does."""

from prometheus_client.parser import text_string_to_metric_families

from tests.support.raw import Web

Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


class Scrape:
    """What one answer said: `scrape("rockdove_messages", queue="q", state="visible")` is a value, None if missing."""

    def __init__(self, text: str) -> None:
        self.families = {family.name: family for family in text_string_to_metric_families(text)}
        self.samples: Samples = {}
        for family in self.families.values():
            for sample in family.samples:
                key = (sample.name, frozenset(sample.labels.items()))
                assert key not in self.samples, f"{key} is there twice"
                self.samples[key] = sample.value

    def __call__(self, name: str, **labels: str) -> float | None:
        return self.samples.get((name, frozenset(labels.items())))

    def messages(self, queue: str) -> tuple[float | None, ...]:
        """Visible, in flight, delayed."""
        states = ("visible", "in_flight", "delayed")
        return tuple(self("rockdove_messages", queue=queue, state=state) for state in states)

    def event(self, queue: str, event: str) -> float | None:
        return self("rockdove_events_total", queue=queue, event=event)

    def events(self, queue: str) -> dict[str, float]:
        """Those that have happened."""
        found = {}
        for (name, labels), value in self.samples.items():
            if name == "rockdove_events_total" and dict(labels)["queue"] == queue and value:
                found[dict(labels)["event"]] = value
        return found

    def names(self) -> set[str]:
        return {name for name, _ in self.samples}

    def queues(self) -> set[str]:
        return {dict(labels)["queue"] for name, labels in self.samples if name == "rockdove_messages"}


def scrape(port: int) -> Scrape:
    web = Web(port)
    try:
        reply = web.request("GET", "/metrics")
    finally:
        web.close()
    assert reply.status == 200, reply
    assert reply.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    return Scrape(reply.text)
