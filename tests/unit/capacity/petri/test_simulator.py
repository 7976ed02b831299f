"""Small nets whose runs can be told by hand."""

from collections import Counter
from typing import Any

import pytest

from rockdove.capacity.petri import (
    BOOL,
    HIGH,
    INT,
    LOW,
    REAL,
    STRING,
    UNIT,
    Average,
    Breakpoint,
    Collector,
    Count,
    Listing,
    Net,
    NetError,
    Product,
    Range,
    Record,
    Simulator,
    Token,
    explore,
    timed,
)

PAIR = Product("Pair", INT, STRING)
INTS = Listing("Ints", INT)
POINT = Record("Point", x=INT, y=INT)


def values(run: Simulator, place: str) -> list[Any]:
    return sorted(token.value for token in run.tokens(place))


def test_tokens_move() -> None:
    net = Net("Move")
    net.place("A", INT, [1, 2, 3])
    net.place("B", INT)
    net.transition("Go", {"A": "x"}, {"B": "10 * x"})
    run = Simulator(net)
    assert run.run() == 3
    assert values(run, "A") == []
    assert values(run, "B") == [10, 20, 30]


def test_a_guard_holds_back() -> None:
    net = Net("Guarded")
    net.place("A", INT, [1, 2, 3, 4])
    net.place("B", INT)
    net.transition("Even", {"A": "x"}, {"B": "x"}, guard="x % 2 == 0 and x > 2")
    run = Simulator(net)
    assert run.run() == 1
    assert values(run, "B") == [4]


def test_variables_join_tokens_of_several_places() -> None:
    net = Net("Join")
    net.place("Left", PAIR, [(1, "a"), (2, "b"), (3, "c")])
    net.place("Right", PAIR, [(2, "x"), (3, "y"), (4, "z")])
    net.place("Both", STRING)
    net.transition("Meet", {"Left": "(n, a)", "Right": "(n, b)"}, {"Both": "a + b"})
    run = Simulator(net)
    run.run()
    assert values(run, "Both") == ["bx", "cy"]


def test_two_arcs_from_one_place_take_two_tokens() -> None:
    net = Net("Two")
    net.place("A", INT, [1, 2, 3])
    net.place("Sum", INT)
    net.transition("Add", {"A": ["x", "y"]}, {"Sum": "x + y"}, guard="x < y")
    run = Simulator(net)
    assert {(binding.values["x"], binding.values["y"]) for binding in run.enabled()} == {(1, 2), (1, 3), (2, 3)}
    assert run.run() == 1
    assert len(run.tokens("A")) == 1


def test_times_takes_and_gives_many() -> None:
    net = Net("Times", {"three": 3})
    net.place("A", INT, [7, 7, 8, 7, 8])
    net.place("B", INT)
    net.transition("Go", {"A": "times(three, x)"}, {"B": "times(2, x + 1)"})
    run = Simulator(net)
    assert run.run() == 1
    assert values(run, "A") == [8, 8]
    assert values(run, "B") == [8, 8]


def test_each_and_empty() -> None:
    net = Net("Each")
    net.place("A", INTS, [(1, 2), (), (5,)])
    net.place("B", INT)
    net.place("None", BOOL)
    net.transition("Spread", {"A": "xs"}, {"B": "each(xs)", "None": "True if not xs else empty"})
    run = Simulator(net)
    run.run()
    assert values(run, "B") == [1, 2, 5]
    assert values(run, "None") == [True]


def test_patterns_of_lists_and_records() -> None:
    net = Net("Patterns")
    net.place("Queue", INTS, [(1, 2, 3)])
    net.place("Ends", PAIR)
    net.place("Points", POINT, [POINT.make(1, 2), POINT.make(3, 3)])
    net.place("Ys", INT)
    net.transition("Ends", {"Queue": "[a, *_, b]"}, {"Ends": "(a, str(b))"})
    net.transition("Same", {"Points": "Point(x=n, y=n)"}, {"Ys": "n"})
    run = Simulator(net)
    assert run.run() == 2
    assert values(run, "Ends") == [(1, "3")]
    assert values(run, "Ys") == [3]
    assert values(run, "Points") == [(1, 2)]


def test_what_is_read_stays() -> None:
    net = Net("Read")
    net.place("Lamp", BOOL, [True])
    net.place("A", INT, [1, 2])
    net.place("B", INT)
    net.transition("Go", {"A": "x"}, {"B": "x"}, reads={"Lamp": "True"})
    run = Simulator(net)
    assert run.run() == 2
    assert values(run, "Lamp") == [True]


def test_code_runs_when_it_fires_and_not_before() -> None:
    seen: list[int] = []
    net = Net("Code", {"note": seen.append})
    net.place("A", INT, [1, 2])
    net.place("B", INT)
    net.transition("Go", {"A": "x"}, {"B": "y"}, guard="x > 1", code="note(x)\ny = x * x")
    run = Simulator(net)
    run.enabled()
    assert seen == []
    run.run()
    assert seen == [2]
    assert values(run, "B") == [4]


def test_code_of_several_lines_and_variables_named_like_functions() -> None:
    net = Net("Lines")
    net.place("A", INT, [1, 2, 3])
    net.place("B", INTS)
    code = """
if id > 1:
    size = id * 2
else:
    size = 0
found = [each for each in range(size) if each % 2]
"""
    net.transition("Go", {"A": "id"}, {"B": "found"}, code=code)
    run = Simulator(net)
    run.run()
    assert values(run, "B") == [(), (1, 3), (1, 3, 5)]


def test_a_token_may_have_to_be_of_the_moment() -> None:
    net = Net("Moment")
    net.place("Due", REAL, [2, 5])
    net.place("Clock", timed(UNIT), "each([unit, unit]) @+ 2")
    net.place("Met", REAL)
    net.transition("Meet", {"Due": "now", "Clock": "unit"}, {"Met": "now"})
    run = Simulator(net)
    run.run()
    assert values(run, "Met") == [2]


def test_priorities() -> None:
    net = Net("Priority")
    net.place("A", INT, [1])
    net.place("Who", STRING)
    net.transition("Low", {"A": "x"}, {"Who": "'low'"}, priority=LOW)
    net.transition("Normal", {"A": "x"}, {"Who": "'normal'"})
    net.transition("High", {"A": "x"}, {"Who": "'high'"}, priority=HIGH)
    for seed in range(10):
        run = Simulator(net, seed=seed)
        assert [binding.transition for binding in run.enabled()] == ["High"]
        run.run()
        assert values(run, "Who") == ["high"]


def test_time_goes_on_to_the_next_token() -> None:
    net = Net("Time")
    net.place("Job", timed(INT), "each([3, 1, 2]) @+ 10")
    net.place("Done", Product("Stamp", INT, REAL))
    net.place("Busy", timed(INT))
    net.transition("Start", {"Job": "n"}, {"Busy": "n @+ n"})
    net.transition("End", {"Busy": "n"}, {"Done": "(n, now)"})
    run = Simulator(net)
    assert run.run(until=9) == 0
    assert run.now == 9
    assert run.run(until=12) == 5
    assert run.tokens("Busy") == [Token(3, 13)]
    run.run()
    assert run.now == 13
    assert [token.value for token in run.tokens("Done")] == [(1, 11), (2, 12), (3, 13)]


def test_a_delay_of_the_transition_adds_to_that_of_the_arc() -> None:
    net = Net("Delay")
    net.place("A", INT, [1])
    net.place("B", timed(INT))
    net.place("C", INT)
    net.transition("Go", {"A": "x"}, {"B": "x @+ 2", "C": "x"}, delay="5")
    run = Simulator(net)
    run.run()
    assert run.tokens("B") == [Token(1)]
    assert run.now == 7
    assert values(run, "C") == [1]


def test_a_guard_may_wait_for_a_time() -> None:
    net = Net("Waits")
    net.place("Tick", timed(INT), "each([1, 2, 3])")
    net.place("Clock", timed(UNIT), "unit")
    net.place("Gate", BOOL, [True])
    net.place("Opened", REAL)
    net.transition("Pulse", {"Clock": "unit"}, {"Clock": "unit @+ 1"}, guard="now < 6")
    net.transition("Open", {"Gate": "x"}, {"Opened": "now"}, guard="now >= 4")
    run = Simulator(net)
    run.run(until=20)
    assert values(run, "Opened") == [4]


def test_the_same_seed_gives_the_same_run() -> None:
    net = Net("Coin")
    net.place("Toss", INT, range(100))
    net.place("Head", INT)
    net.place("Tail", INT)
    net.transition("Heads", {"Toss": "x"}, {"Head": "x"})
    net.transition("Tails", {"Toss": "x"}, {"Tail": "x"})

    def heads(seed: int) -> list[int]:
        run = Simulator(net, seed=seed)
        run.run()
        return values(run, "Head")

    assert heads(1) == heads(1) != heads(2)
    assert 20 < len(heads(1)) < 80


def test_tokens_are_chosen_at_random_or_the_oldest_first() -> None:
    net = Net("Choice")
    net.place("A", INT, range(20))
    net.place("B", INTS, [()])
    net.transition("Go", {"A": "x", "B": "xs"}, {"B": "xs + [x]"})
    first = Simulator(net, choice="first")
    first.run()
    assert first.tokens("B")[0].value == tuple(range(20))
    other = Simulator(net, seed=1)
    other.run()
    assert sorted(other.tokens("B")[0].value) == list(range(20))
    assert other.tokens("B")[0].value != tuple(range(20))


@pytest.mark.parametrize("guard", ["", "x >= 0"])
def test_every_choice_is_possible(guard: str) -> None:
    net = Net("Fair")
    net.place("A", INT, range(4))
    net.place("B", INT)
    net.place("One", UNIT, "unit")
    net.transition("Go", {"A": "x", "One": "unit"}, {"B": "x"}, guard=guard)
    taken: Counter[int] = Counter()
    for seed in range(400):
        run = Simulator(net, seed=seed)
        run.run()
        taken.update(values(run, "B"))
    # Each is binomial with mean 100 and deviation 8.7.
    assert all(50 < taken[x] < 150 for x in range(4))


def test_random_functions() -> None:
    net = Net("Random")
    net.place("A", INT, range(4000))
    names = ("exponential(2)", "erlang(4, 2)", "gamma(2, 3)", "normal(5, 1)", "uniform(2, 4)")
    for name in names:
        net.place(name, REAL)
    net.place("coin", BOOL)
    net.place("die", Range("Die", 1, 6))
    net.transition(
        "Draw", {"A": "x"}, {name: name for name in names} | {"coin": "bernoulli(0.25)", "die": "discrete(1, 6)"}
    )
    run = Simulator(net, seed=3)
    run.run()
    means = {name: sum(values(run, name)) / 4000 for name in (*names, "coin", "die")}
    expected = (0.5, 2, 6, 5, 3, 0.25, 3.5)
    assert list(means.values()) == pytest.approx(expected, rel=0.1)


def test_step_by_step() -> None:
    net = Net("Step")
    net.place("A", timed(INT), "each([1, 2]) @+ 3")
    net.place("B", INT)
    net.transition("Go", {"A": "x"}, {"B": "x"})
    run = Simulator(net)
    assert run.enabled() == []
    assert run.advance()
    first, second = run.enabled()
    assert str(first) == "Go (x = 1)"
    run.fire(second)
    assert values(run, "B") == [2]
    assert run.step() is not None
    assert values(run, "B") == [1, 2]
    assert run.step() is None
    assert run.firings == 2


def test_identical_tokens_are_one_choice() -> None:
    net = Net("Alike")
    net.place("A", INT, [5, 5, 5])
    net.transition("Go", {"A": "x"})
    assert len(Simulator(net).enabled()) == 1


def test_a_marking_can_be_put_back() -> None:
    net = Net("Back")
    net.place("A", timed(INT), "each([1, 2]) @+ 3")
    net.place("B", INT)
    net.transition("Go", {"A": "x"}, {"B": "x"})
    run = Simulator(net)
    before = run.marking()
    run.run()
    run.restore(before)
    assert run.marking() == before
    assert run.run() == 2


def test_a_run_can_be_cut_anywhere() -> None:
    net = Net("Cut")
    net.place("A", INT, [0])
    net.transition("Count", {"A": "n"}, {"A": "n + 1"})
    run = Simulator(net)
    assert run.run(firings=10) == 10
    assert run.run(firings=5) == 5
    assert values(run, "A") == [15]


# Monitors.


def clockwork() -> Net:
    """A token goes in after 1, 2, 3 and 4, and out 1.5 later."""
    net = Net("Clockwork")
    net.place("Clock", timed(INT), "1 @+ 1")
    net.place("In", timed(INT))
    net.place("Out", INT)
    net.transition("Leave", {"In": "n"}, {"Out": "n"})
    net.transition("Tick", {"Clock": "n"}, {"Clock": "(n + 1) @+ 1 if n < 4 else empty", "In": "n @+ 1.5"})
    return net


def test_monitors_observe() -> None:
    run = Simulator(
        clockwork(),
        monitors=[
            Collector("squares", "Leave", "n * n"),
            Collector("when", "Leave", "now", when="n % 2 == 0"),
            Count("ticks", "Tick"),
            Count("late", "Tick", when="now > 2"),
            Average("inside", "In"),
            Average("busy", "In", "size > 0"),
            Average("done", "Out", "len(tokens)"),
        ],
    )
    run.run(until=10)
    assert run.sample("squares").values == [1, 4, 9, 16]
    assert run.sample("when").values == [3.5, 5.5]
    assert (run.tally("ticks").count, run.tally("late").count) == (4, 2)
    # Four stays of 1.5 in 10; somebody is in from 1 to 5.5; one has left from 2.5 on, a second from 3.5 on ...
    assert run.mean("inside") == pytest.approx(0.6)
    assert run.mean("busy") == pytest.approx(0.45)
    assert run.mean("done") == pytest.approx((7.5 + 6.5 + 5.5 + 4.5) / 10)


def test_tokens_count_from_their_time_on() -> None:
    net = Net("Ripe")
    net.place("Fruit", timed(INT), "1 @+ 5")
    net.place("Picker", timed(UNIT), "unit @+ 8")
    net.transition("Pick", {"Fruit": "n", "Picker": "unit"})
    run = Simulator(net, monitors=[Average("ripe", "Fruit", "len(tokens)"), Average("all", "Fruit")])
    run.run(until=10)
    # Nothing fires at 5.
    assert run.mean("ripe") == pytest.approx(0.3)
    assert run.mean("all") == pytest.approx(0.8)


def test_warming_up_is_forgotten() -> None:
    run = Simulator(
        clockwork(), monitors=[Collector("n", "Leave", "n"), Count("ticks", "Tick"), Average("inside", "In")]
    )
    run.run(until=3)
    run.restart_monitors()
    run.run(until=6)
    assert run.sample("n").values == [2, 3, 4]
    assert run.tally("ticks").count == 1
    # Two of them from 3 to 3.5, then one alone from 3.5 to 4, two to 4.5, one to 5.5.
    assert run.mean("inside") == pytest.approx((2 * 0.5 + 0.5 + 2 * 0.5 + 1) / 3)


def test_breakpoints_end_a_run() -> None:
    by_time = Simulator(clockwork(), monitors=[Breakpoint("stop", at=3.2)])
    by_time.run()
    assert by_time.now == 3.2
    by_time.run()
    assert by_time.now == 5.5
    by_firing = Simulator(clockwork(), monitors=[Breakpoint("stop", "Leave", "n == 2")])
    by_firing.run()
    assert values(by_firing, "Out") == [1, 2]
    by_firing.run()
    assert values(by_firing, "Out") == [1, 2, 3, 4]


# Hierarchy.


def doubler() -> Net:
    page = Net("Doubler")
    page.port("From", INT)
    page.port("To", INT)
    page.place("Count", INT, [0])
    page.transition("Double", {"From": "x", "Count": "n"}, {"To": "2 * x", "Count": "n + 1"})
    return page


def test_a_page_stands_for_a_transition_and_may_stand_twice() -> None:
    net = Net("Top")
    for name in ("A", "B", "C"):
        net.place(name, INT, [1, 2] if name == "A" else [])
    net.substitute("First", doubler(), {"From": "A", "To": "B"})
    net.substitute("Second", doubler(), {"From": "B", "To": "C"})
    run = Simulator(net)
    assert run.run() == 4
    assert values(run, "C") == [4, 8]
    assert values(run, "First.Count") == [2]
    assert values(run, "Second.From") == values(run, "B") == []


def test_a_page_runs_alone() -> None:
    page = Net("Alone")
    page.port("In", INT, [1])
    page.place("Out", INT)
    page.transition("Go", {"In": "x"}, {"Out": "x"})
    run = Simulator(page)
    run.run()
    assert values(run, "Out") == [1]


def test_fused_places_are_one() -> None:
    left, right = Net("Left"), Net("Right")
    left.place("Source", INT, [1, 2])
    left.place("Shared", INT, fusion="S")
    left.transition("Put", {"Source": "x"}, {"Shared": "x"})
    right.place("Common", INT, fusion="S")
    right.place("Sink", INT)
    right.transition("Get", {"Common": "x"}, {"Sink": "x"})
    net = Net("Top")
    net.substitute("L", left, {})
    net.substitute("R", right, {})
    run = Simulator(net)
    assert run.run() == 4
    assert values(run, "Sink") == [1, 2]
    assert len(run.flat.places) == 3


# State space.


def test_all_markings_can_be_listed() -> None:
    net = Net("Light")
    net.place("On", UNIT, "unit")
    net.place("Off", UNIT)
    net.transition("Switch off", {"On": "unit"}, {"Off": "unit"})
    net.transition("Switch on", {"Off": "unit"}, {"On": "unit"})
    space = explore(net)
    assert len(space.markings) == len(space.edges) == 2
    assert not space.dead


@pytest.mark.parametrize(
    ("gives", "code", "told"),
    [
        ("x @+ 1", "", r"transition Go, arc to B: it depends on time"),
        ("discrete(1, 6)", "", r"transition Go, arc to B: it depends on time or chance"),
        ("x", "y = 1", r"transition Go: it has a code segment"),
    ],
)
def test_markings_that_depend_on_chance_cannot_be_listed(gives: str, code: str, told: str) -> None:
    net = Net("Uncertain")
    net.place("A", INT, [1])
    net.place("B", timed(INT))
    net.transition("Go", {"A": "x"}, {"B": gives}, code=code)
    with pytest.raises(NetError, match=told):
        explore(net)


def test_there_may_be_too_many_markings() -> None:
    net = Net("Counter")
    net.place("N", INT, [0])
    net.transition("Count", {"N": "n"}, {"N": "n + 1"})
    with pytest.raises(NetError, match="net Counter: it has more than 50 markings"):
        explore(net, limit=50)
