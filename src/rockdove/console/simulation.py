"""A program of its own: confirms a plan by the compiled simulator.

It is given a `Question` as JSON on its standard input, and prints a line of JSON for each run. A process, because
compiling, the first time, would hold up the pages of everybody, and because a process can be ended at once.
"""

import math
import sys
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from rockdove.console.question import Question
from rockdove.core.errors import RockdoveError

_SEED: Final = 1


def main() -> None:
    question = msgspec.json.decode(sys.stdin.buffer.read(), type=Question)
    _tell({"event": "begun"})
    try:
        _confirm(question)
    except RockdoveError as error:
        _tell({"event": "failed", "error": str(error)})


def _confirm(question: Question) -> None:
    # Only now, because it takes seconds.
    from rockdove.capacity.interval import Interval, interval
    from rockdove.capacity.plan.check import check, judge
    from rockdove.capacity.plan.planner import describe
    from rockdove.capacity.vma.scenario import Measure
    from rockdove.console.prediction import load_of, senders_of

    def told(measures: Sequence[Measure]) -> dict[str, Any]:
        def shown(of: Interval) -> dict[str, float | None]:
            return {"mean": of.mean, "ci95": of.ci95 if math.isfinite(of.ci95) else None}

        return {
            "delivery": shown(interval([each.delivery_s for each in measures])),
            "waiting": shown(interval([each.waiting for each in measures])),
            "utilisation": shown(interval([each.busy_broker for each in measures])),
            "messages": sum(each.delivered for each in measures),
        }

    last: dict[str, Any] = {}

    def watch(measures: Sequence[Measure], runs: int) -> None:
        last.update(told(measures))
        _tell({"event": "progress", "done": len(measures), "of": runs, **last})

    load = load_of(question)
    plan = describe(load, senders_of(question, load), question.threads)
    _tell({"event": "ready"})
    verdict = judge(check(load, plan, _SEED, watch), load, plan, None)
    predicted = {"mean_s": plan.mean_s, "waiting": plan.waiting, "utilisation": plan.utilisation_broker}
    _tell({"event": "done", "verdict": verdict.value, "predicted": predicted, "poisson": load.arrival_scv == 1, **last})


def _tell(line: dict[str, Any]) -> None:
    sys.stdout.buffer.write(msgspec.json.encode(line) + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
