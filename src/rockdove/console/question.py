"""What the planner's sliders say: the load and the threads of a plan, in the units of the page."""

from typing import Final

from msgspec import Struct

from rockdove.console.wrong import Wrong


class Slider(Struct, frozen=True):
    """An input that can be dragged, and typed into. ``most``: of the slider; what is typed may be up to ``high``."""

    name: str
    label: str
    unit: str
    least: float
    most: float
    step: float
    value: float
    high: float
    help: str


SLIDERS: Final = (
    Slider("arrival", "Messages arrive", "a second", 1, 200, 1, 30, 1e6, "At the busiest time that is to be met."),
    Slider(
        "service_ms",
        "Work on a message",
        "ms",
        1,
        1000,
        1,
        200,
        1e8,
        "From the receive to the delete, on average.",
    ),
    Slider(
        "reliability",
        "Deliveries that succeed",
        "%",
        50,
        100,
        0.1,
        99,
        100,
        "The others come again when the visibility timeout is over: a worker crashed, gave up, or took too long.",
    ),
    Slider("timeout_s", "Visibility timeout", "s", 0, 120, 1, 30, 43_200, "The queue's; what is lost waits for it."),
    Slider("threads", "Workers", "threads", 1, 50, 1, 8, 100_000, "That receive, at the same time."),
)

# Of the inputs under "Senders, links and how times vary": name, label, unit, value, help.
DETAILS: Final = (
    ("senders", "Senders", "threads", "", "Empty: as many as are needed, so that hardly a send waits."),
    ("send_ms", "Sending a message", "ms", "5", "From the request to its answer."),
    ("link_ms", "On the way", "ms", "0", "Of a message to the queue, and from it, if it is not in the times above."),
    ("service_scv", "How the work varies", "", "1", "Squared coefficient of variation: 0 constant, 1 exponential."),
    ("send_scv", "How sending varies", "", "1", "The same of the senders."),
    ("arrival_scv", "How arrivals vary", "", "1", "The same of the times between arrivals: 1 random, more in bursts."),
)

# By the name that models have for them.
_FIELDS: Final = {
    "arrival": "arrival",
    "broker_rate": "service_ms",
    "sender_rate": "send_ms",
    "q": "reliability",
    "timeout_s": "timeout_s",
    "link_s": "link_ms",
    "n1": "senders",
    "n2": "threads",
    "threads": "threads",
    "broker_scv": "service_scv",
    "sender_scv": "send_scv",
    "service_scv": "service_scv",
    "arrival_scv": "arrival_scv",
    "target": "target_s",
}
_LABELS: Final = {
    **{slider.name: slider.label for slider in SLIDERS},
    **{name: label for name, label, _, _, _ in DETAILS},
    "target_s": "The time",
}


class Question(Struct, frozen=True, kw_only=True):
    """``senders``: None for as many as are needed. ``whole``: with percentiles, which take longer."""

    arrival: float
    service_ms: float
    reliability: float
    timeout_s: float
    threads: int
    senders: int | None = None
    send_ms: float = 5.0
    link_ms: float = 0.0
    service_scv: float = 1.0
    send_scv: float = 1.0
    arrival_scv: float = 1.0
    whole: bool = False

    def check(self) -> None:
        """What would be divided by, before it is. Raises `Wrong`."""
        for name in ("service_ms", "send_ms"):
            if not 1e-3 <= getattr(self, name) <= 1e8:
                raise Wrong(f"{_LABELS[name]}: must be between 0.001 and 100,000,000 ms.", name)
        if not 1 <= self.reliability <= 100:
            raise Wrong(f"{_LABELS['reliability']}: must be between 1 and 100 %.", "reliability")


class Goal(Struct, frozen=True, kw_only=True):
    """To be met by as few workers as possible. ``figure``: mean or p99."""

    question: Question
    figure: str
    target_s: float


def wrong(text: str, name: str | None) -> Wrong:
    """What a model has to say to a value, in the words of the page; ``name`` is the model's."""
    field = _FIELDS.get(name or "")
    return Wrong(f"{text[:1].upper()}{text[1:]}." if field is None else f"{_LABELS[field]} {text}.", field)
