"""``rockdove plan``: how many threads it takes to deliver in time."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from rockdove.cli import option
from rockdove.cli.failure import Code, Failure
from rockdove.cli.output import Output, note

if TYPE_CHECKING:
    from rockdove.capacity.plan.load import Load
    from rockdove.capacity.plan.planner import Check, Plan, Target

# Where nothing else is said.
_LINK_S = 0.02
# What the models' names are on the command line.
_FLAGS = {
    "arrival": "--arrival",
    "sender_rate": "--service-rate",
    "broker_rate": "--broker-rate",
    "sender_scv": "--service-scv",
    "q": "--reliability",
    "timeout_s": "--timeout-s",
    "link_s": "--link-s",
    "target": "the target",
    "cost_sender": "--cost-sender",
    "cost_broker": "--cost-broker",
}

# And in a calibration.
_FIELDS = {
    "arrival": "arrival",
    "arrival_scv": "arrival_scv",
    "sender_rate": "sender.rate",
    "broker_rate": "broker.rate",
    "sender_scv": "sender.scv",
    "broker_scv": "broker.scv",
    "q": "reliability",
    "timeout_s": "timeout_s",
    "link_s": "link_s",
}


def plan(
    arrival: Annotated[
        float | None, typer.Option("--arrival", metavar="RATE", help="Messages that arrive a second.")
    ] = None,
    service_rate: Annotated[
        float | None,
        typer.Option("--service-rate", metavar="RATE", help="Messages a second that one thread can do."),
    ] = None,
    broker_rate: Annotated[
        float | None,
        typer.Option(
            "--broker-rate",
            metavar="RATE",
            help="The same for the broker's threads, if they differ from the senders'.",
            show_default="--service-rate",
        ),
    ] = None,
    service_scv: Annotated[
        float | None,
        typer.Option(
            "--service-scv",
            metavar="NUMBER",
            help="Variance of a service time, divided by the square of its mean: 0 is constant, 1 exponential.",
            show_default="1",
        ),
    ] = None,
    reliability: Annotated[
        float | None,
        typer.Option("--reliability", metavar="SHARE", help="The share of deliveries that succeed, such as 0.99."),
    ] = None,
    timeout_s: Annotated[
        float | None,
        typer.Option(
            "--timeout-s", metavar="SECONDS", help="The visibility timeout of a lost message.", show_default="0"
        ),
    ] = None,
    link_s: Annotated[
        float | None,
        typer.Option("--link-s", metavar="SECONDS", help="How long a message is on a link.", show_default=str(_LINK_S)),
    ] = None,
    target_mean_s: Annotated[
        float | None, typer.Option("--target-mean-s", metavar="SECONDS", help="Deliver so fast on average.")
    ] = None,
    target_p99_s: Annotated[
        float | None, typer.Option("--target-p99-s", metavar="SECONDS", help="Deliver 99 of 100 messages so fast.")
    ] = None,
    cost_sender: Annotated[
        float, typer.Option("--cost-sender", metavar="NUMBER", help="What a sender thread costs.")
    ] = 1,
    cost_broker: Annotated[
        float, typer.Option("--cost-broker", metavar="NUMBER", help="What a broker thread costs.")
    ] = 1,
    calibration: Annotated[
        Path | None,
        typer.Option("--from", metavar="FILE", help="A calibration.json; what is given beside it counts instead."),
    ] = None,
    check: Annotated[bool, typer.Option("--check", help="Confirm the plan by a simulation.")] = False,
    seed: Annotated[int, typer.Option("--seed", metavar="NUMBER", min=0, help="Of the simulation.")] = 1,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Also write plan.json and plan.svg, a picture, there.")
    ] = None,
    as_json: option.Json = False,
) -> None:
    """Find the cheapest numbers of sender and broker threads that deliver in time.

    Without a target it is those at the knee: the greatest throughput for a thread and a second of delivery time. A
    target that no number of threads can meet is exit code 1, with what would be possible. Needs rockdove[capacity].

    \b
    Examples:
      rockdove plan --arrival 30.3 --service-rate 10 --reliability 0.99 --target-mean-s 0.27
      rockdove plan --arrival 200 --service-rate 10 --reliability 0.99 --target-p99-s 1 --check --out plan
      rockdove plan --from calibration.json --arrival 60 --target-mean-s 0.5
    """
    from rockdove.capacity.extra import require

    require()
    from rockdove.capacity.error import InvalidScenario
    from rockdove.capacity.plan.planner import Figure, Target

    if target_mean_s is not None and target_p99_s is not None:
        raise Failure("--target-mean-s and --target-p99-s exclude each other; give one of them", Code.USAGE)
    target = None
    if target_mean_s is not None:
        target = Target(Figure.MEAN, target_mean_s)
    elif target_p99_s is not None:
        target = Target(Figure.P99, target_p99_s)
    given = {
        "arrival": arrival,
        "sender_rate": service_rate,
        "broker_rate": broker_rate if broker_rate is not None else service_rate,
        "sender_scv": service_scv,
        "broker_scv": service_scv,
        "q": reliability,
        "link_s": link_s,
        "timeout_s": timeout_s,
    }
    load = _load({name: value for name, value in given.items() if value is not None}, calibration)
    try:
        _run(load, target, (cost_sender, cost_broker), seed if check else None, out, Output(as_json))
    except InvalidScenario as error:
        if calibration is not None and error.name in _FIELDS and given.get(error.name) is None:
            raise Failure(f"{calibration}: {_FIELDS[error.name]} {error.text}") from None
        flag = _FLAGS.get(error.name or "")
        raise Failure(str(error) if flag is None else f"{flag} {error.text}", Code.USAGE) from None


def _load(given: dict[str, float], calibration: Path | None) -> "Load":
    from msgspec.structs import replace

    from rockdove.capacity.plan.calibration import read
    from rockdove.capacity.plan.load import Load

    if calibration is not None:
        try:
            return replace(read(calibration).load(), **given)
        except OSError as error:
            raise Failure(f"cannot read {calibration}: {error.strerror}", Code.NOT_FOUND) from None
    missing = [_FLAGS[name] for name in ("arrival", "sender_rate", "q") if name not in given]
    if missing:
        raise Failure(f"{' and '.join(missing)} must be given, or a calibration with --from", Code.USAGE)
    return Load(**{"link_s": _LINK_S, **given})


def _run(
    load: "Load",
    target: "Target | None",
    costs: tuple[float, float],
    seed: int | None,
    out: Path | None,
    output: Output,
) -> None:
    from rockdove.capacity.plan.planner import plan as make

    made = make(load, target, *costs)
    problem = None
    if seed is not None:
        made, problem = _check(load, made, target, seed)
    if out is not None:
        _write(out, load, made, target, costs)
    if output.as_json:
        output.document(made)
    else:
        _tell(load, made, target, costs, output)
    if not made.feasible and target is not None:
        raise Failure(_impossible(load, made, target))
    if problem is not None:
        raise Failure(problem)


def _check(load: "Load", made: "Plan", target: "Target | None", seed: int) -> "tuple[Plan, str | None]":
    """The plan with what the simulation says, and what is wrong, if anything is."""
    from rockdove.capacity.plan.check import TooLong, Verdict, check, judge

    try:
        found = check(load, made, seed)
    except TooLong as error:
        return made, str(error)
    verdict = judge(found, load, made, target)
    if load.arrival_scv != 1:
        note(
            "the check has Poisson arrivals, and those of the calibration are not: it does not apply to how they vary, "
            "and is compared with what is predicted for Poisson arrivals"
        )
    if verdict is Verdict.PESSIMISTIC:
        note("the simulation confirms the plan, and is faster than predicted: fewer threads may do")
    made = msgspec.structs.replace(made, check=found)
    if verdict is not Verdict.CONTRADICTED:
        return made, None
    advice = "take a thread more than planned" if target is None else "ask for a lower target"
    return made, f"the simulation does not confirm the plan: {_checked(found)}; {advice}"


def _write(folder: Path, load: "Load", made: "Plan", target: "Target | None", costs: tuple[float, float]) -> None:
    from rockdove.capacity.plan.knee import knee_threads
    from rockdove.capacity.plan.picture import picture

    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "plan.json").write_bytes(msgspec.json.format(msgspec.json.encode(made), indent=2) + b"\n")
        (folder / "plan.svg").write_text(picture(load, made, target, knee_threads(load, *costs)))
    except OSError as error:
        raise Failure(f"cannot write to {folder}: {error.strerror}") from None
    note(f"written: {folder}/plan.json and {folder}/plan.svg")


def _tell(load: "Load", made: "Plan", target: "Target | None", costs: tuple[float, float], output: Output) -> None:
    facts = [
        ("threads", f"{made.n1} senders, {made.n2} broker; cost {made.cost:g}"),
        (
            "delivery",
            f"mean {made.mean_s:.4f} s, p50 {made.p50_s:.4f} s, p95 {made.p95_s:.4f} s, p99 {made.p99_s:.4f} s",
        ),
        ("waiting", f"{made.waiting:.2f} messages on average"),
        ("utilisation", f"senders {made.utilisation_sender:.1%}, broker {made.utilisation_broker:.1%}"),
        ("knee", f"{made.knee_arrival:.1f} messages/s, and {load.arrival:g} arrive"),
    ]
    if made.check is not None:
        facts.append(("check", _checked(made.check)))
    output.facts(facts)
    output.line("")
    _compare(load, made, target, costs, output)


def _compare(load: "Load", made: "Plan", target: "Target | None", costs: tuple[float, float], output: Output) -> None:
    """The plan among its neighbours: what a thread less would cost, and what one more would bring."""
    from rockdove.capacity.plan.planner import Figure, describe

    fewest = load.fewest()
    steps = [(-1, -1), (-1, 0), (0, -1), (0, 0), (0, 1), (1, 0), (1, 1)]
    places = [(made.n1 + first, made.n2 + second) for first, second in steps]
    rows = []
    for n1, n2 in places:
        if n1 < fewest[0] or n2 < fewest[1]:
            continue
        one = describe(load, n1, n2, *costs)
        met = (
            "" if target is None else _yes((one.p99_s if target.figure is Figure.P99 else one.mean_s) <= target.seconds)
        )
        busy = f"{one.utilisation_sender:.0%}", f"{one.utilisation_broker:.0%}"
        mark = "plan" if (n1, n2) == (made.n1, made.n2) else ""
        rows.append([str(n1), str(n2), f"{one.cost:g}", f"{one.mean_s:.4f}", f"{one.p99_s:.4f}", *busy, met, mark])
    headings = ["senders", "broker", "cost", "mean s", "p99 s", "senders busy", "broker busy", "target met", ""]
    if target is None:
        headings[7] = ""
    output.table(headings, rows, numbers=range(7))


def _yes(holds: bool) -> str:
    return "yes" if holds else "no"


def _checked(found: "Check") -> str:
    return f"simulated mean {found.mean_s:.4f} s, give or take {found.ci95:.4f}"


def _impossible(load: "Load", made: "Plan", target: "Target") -> str:
    from rockdove.capacity.plan.planner import Figure, least_s

    of, reached_s = ("99 of 100 messages", made.p99_s) if target.figure is Figure.P99 else ("on average", made.mean_s)
    return (
        f"no number of threads delivers within {target.seconds:g} s {of}: services, links and losses alone take "
        f"{least_s(load, target.figure):.4f} s; possible is {reached_s:.4f} s, with {made.n1} sender and {made.n2} "
        "broker threads"
    )
