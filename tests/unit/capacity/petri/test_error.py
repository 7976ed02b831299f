"""Whatever is wrong with a net is said with the net, the node and the arc."""

from collections.abc import Callable

import pytest

from rockdove.capacity.petri import (
    BOOL,
    INT,
    REAL,
    STRING,
    UNIT,
    Average,
    Collector,
    ColourMismatch,
    Count,
    DuplicateName,
    Enumeration,
    InvalidExpression,
    Listing,
    Net,
    NetError,
    Product,
    Record,
    Simulator,
    UnboundVariable,
    UnknownNode,
    timed,
)

PAIR = Product("Pair", INT, STRING)
POINT = Record("Point", x=INT, y=INT)


def net() -> Net:
    made = Net("Bank", {"limit": 3, "double": lambda number: 2 * number})
    made.place("In", INT, [1])
    made.place("Out", INT)
    made.place("Pairs", PAIR, [(1, "a")])
    made.place("Points", POINT)
    made.place("List", Listing("Ints", INT), [(1, 2)])
    made.place("Later", timed(INT))
    made.place("Flag", BOOL)
    return made


def ready(made: Net) -> Simulator:
    return Simulator(made)


BROKEN: list[tuple[str, type[NetError], str, Callable[[Net], object]]] = [
    (
        "a place that is not there",
        UnknownNode,
        "net Bank, transition Pay, arc to Outt: there is no place Outt; there are Flag, In, Later, List, Out",
        lambda n: n.transition("Pay", {"In": "x"}, {"Outt": "x"}),
    ),
    (
        "text that is no expression",
        InvalidExpression,
        'net Bank, transition Pay, arc from In: "x +" is not an expression: invalid syntax',
        lambda n: n.transition("Pay", {"In": "x +"}),
    ),
    (
        "a guard that is no expression",
        InvalidExpression,
        'net Bank, transition Pay, guard: "x >" is not an expression',
        lambda n: n.transition("Pay", {"In": "x"}, guard="x >"),
    ),
    (
        "code that is no code",
        InvalidExpression,
        'net Bank, transition Pay, code: "y = = 1" is not code',
        lambda n: n.transition("Pay", {"In": "x"}, code="y = = 1"),
    ),
    (
        "a name of the compiler's",
        InvalidExpression,
        'net Bank, transition Pay, arc from In: "_x": names must not begin with an underscore',
        lambda n: n.transition("Pay", {"In": "_x"}),
    ),
    (
        "a variable with the name of a function",
        InvalidExpression,
        "net Bank, transition Pay, arc from In: uniform is a word with a meaning of its own, and no variable",
        lambda n: ready(n) if n.transition("Pay", {"In": "uniform"}) else None,
    ),
    (
        "code that sets the time",
        InvalidExpression,
        "net Bank, transition Pay, code: now has a meaning of its own",
        lambda n: ready(n) if n.transition("Pay", {"In": "x"}, code="now = 3") else None,
    ),
    (
        "a declaration of the time",
        InvalidExpression,
        "net Bank: now is the model time, and cannot be declared",
        lambda n: Net(n.name, {"now": 5}),
    ),
    (
        "an unbound variable on an arc out",
        UnboundVariable,
        "net Bank, transition Pay, arc to Out: y has no value; the arcs into the transition bind x",
        lambda n: ready(n) if n.transition("Pay", {"In": "x"}, {"Out": "y"}) else None,
    ),
    (
        "an unbound variable in the guard",
        UnboundVariable,
        "net Bank, transition Pay, guard: z has no value",
        lambda n: ready(n) if n.transition("Pay", {"In": "x"}, guard="z > x") else None,
    ),
    (
        "an unbound variable in code",
        UnboundVariable,
        "net Bank, transition Pay, code: z has no value",
        lambda n: ready(n) if n.transition("Pay", {"In": "x"}, code="y = z") else None,
    ),
    (
        "an unbound variable in what a token must be",
        UnboundVariable,
        "net Bank, transition Pay, arc from In: y has no value",
        lambda n: ready(n) if n.transition("Pay", {"In": "y + 1"}) else None,
    ),
    (
        "a guard that depends on chance",
        InvalidExpression,
        "net Bank, transition Pay, guard: it must not depend on chance, as bernoulli does",
        lambda n: ready(n) if n.transition("Pay", {"In": "x"}, guard="bernoulli(0.5)") else None,
    ),
    (
        "a variable of another colour set",
        ColourMismatch,
        "net Bank, transition Pay, arc to Flag: variable x is of INT, and the place is of BOOL (bool)",
        lambda n: ready(n) if n.transition("Pay", {"In": "x"}, {"Flag": "x"}) else None,
    ),
    (
        "a constant of another colour set",
        ColourMismatch,
        "net Bank, transition Pay, arc to Flag: limit is no value of it, and the place is of BOOL",
        lambda n: ready(n) if n.transition("Pay", {"In": "x"}, {"Flag": "limit"}) else None,
    ),
    (
        "a constant that no token can be",
        ColourMismatch,
        "net Bank, transition Pay, arc from In: 'a' is no value of colour set INT (int)",
        lambda n: ready(n) if n.transition("Pay", {"In": "'a'"}) else None,
    ),
    (
        "a pattern of three for pairs",
        ColourMismatch,
        "net Bank, transition Pay, arc from Pairs: ((a, b, c)) has 3 parts of colour set Pair (product INT * STRING)",
        lambda n: ready(n) if n.transition("Pay", {"Pairs": "(a, b, c)"}) else None,
    ),
    (
        "a tuple where a number is",
        ColourMismatch,
        "net Bank, transition Pay, arc from In: (a, b) is a tuple of colour set INT",
        lambda n: ready(n) if n.transition("Pay", {"In": "(a, b)"}) else None,
    ),
    (
        "a field that records do not have",
        ColourMismatch,
        "net Bank, transition Pay, arc from Points: Point(z=a) has other fields of colour set Point",
        lambda n: ready(n) if n.transition("Pay", {"Points": "Point(z=a)"}) else None,
    ),
    (
        "two starred parts",
        InvalidExpression,
        "net Bank, transition Pay, arc from List: (*a, *b) has more than one starred part",
        lambda n: ready(n) if n.transition("Pay", {"List": "[*a, *b]"}) else None,
    ),
    (
        "a pair put with three parts",
        ColourMismatch,
        "net Bank, transition Pay, arc to Pairs: (x, 'a', 1) has 3 parts, and the place is of Pair",
        lambda n: ready(n) if n.transition("Pay", {"In": "x"}, {"Pairs": "(x, 'a', 1)"}) else None,
    ),
    (
        "a delay on a place without times",
        ColourMismatch,
        "net Bank, transition Pay, arc to Out: @+ on a place of INT, which is not timed",
        lambda n: ready(n) if n.transition("Pay", {"In": "x"}, {"Out": "x @+ 1"}) else None,
    ),
    (
        "a delay that binds to the wrong thing",
        InvalidExpression,
        "net Bank, transition Pay, arc to Later: x + 1 @ +5: put what stands before @+ in parentheses",
        lambda n: ready(n) if n.transition("Pay", {"In": "x"}, {"Later": "x + 1 @+ 5"}) else None,
    ),
    (
        "a delay without its plus",
        InvalidExpression,
        "net Bank, transition Pay, arc to Later: x @ 5: a delay is written @+",
        lambda n: ready(n) if n.transition("Pay", {"In": "x"}, {"Later": "x @ 5"}) else None,
    ),
    (
        "a number of tokens to take that varies",
        InvalidExpression,
        "net Bank, transition Pay, arc from In: times(x, 1): the number of tokens taken must be a constant",
        lambda n: ready(n) if n.transition("Pay", {"In": "times(x, 1)"}) else None,
    ),
    (
        "an initial marking of another colour set",
        ColourMismatch,
        "net Bank, place Bad, initial marking: True is no value of INT (int)",
        lambda n: ready(n) if n.place("Bad", INT, [True]) else None,
    ),
    (
        "an initial marking with a variable",
        UnboundVariable,
        "net Bank, place Bad, initial marking: x has no value",
        lambda n: ready(n) if n.place("Bad", INT, "times(3, x)") else None,
    ),
    (
        "an initial marking that fails",
        InvalidExpression,
        'net Bank, place Bad, initial marking: "1 // 0" fails: ZeroDivisionError',
        lambda n: ready(n) if n.place("Bad", INT, "1 // 0") else None,
    ),
    ("two places of one name", DuplicateName, "net Bank, place In: there is one", lambda n: n.place("In", INT)),
    (
        "two transitions of one name",
        DuplicateName,
        "net Bank, transition Pay: there is one",
        lambda n: [n.transition("Pay", {"In": "x"}), n.transition("Pay", {"In": "x"})],
    ),
    (
        "a monitor of no transition",
        UnknownNode,
        "net Bank, transition Pray: there is no such transition; there are none",
        lambda n: Simulator(n, monitors=[Count("c", "Pray")]),
    ),
    (
        "a monitor of no place",
        UnknownNode,
        "net Bank, place Inn: there is no such place; there are Flag, In, Later",
        lambda n: Simulator(n, monitors=[Average("c", "Inn")]),
    ),
]


@pytest.mark.parametrize(("kind", "text", "breaks"), [row[1:] for row in BROKEN], ids=[row[0] for row in BROKEN])
def test_what_is_wrong_is_named(kind: type[NetError], text: str, breaks: Callable[[Net], object]) -> None:
    with pytest.raises(kind) as caught:
        breaks(net())
    assert text in str(caught.value)


def run(made: Net) -> None:
    Simulator(made).run(until=10, firings=5)


def test_a_monitor_that_uses_what_the_transition_does_not_have() -> None:
    made = net()
    made.transition("Pay", {"In": "x"})
    with pytest.raises(UnboundVariable, match="transition Pay, monitor wealth: money has no value"):
        Simulator(made, monitors=[Collector("wealth", "Pay", "money - x")])


def test_a_monitor_that_cannot_look_at_its_place() -> None:
    with pytest.raises(InvalidExpression, match="net Bank, monitor first: IndexError"):
        Simulator(net(), monitors=[Average("first", "Out", "tokens[0]")])
    with pytest.raises(UnboundVariable, match="place Out, monitor age: now has no value"):
        Simulator(net(), monitors=[Average("age", "Out", "now")])


def test_two_monitors_of_one_name() -> None:
    made = net()
    made.transition("Pay", {"In": "x"})
    with pytest.raises(DuplicateName, match="monitor c"):
        Simulator(made, monitors=[Count("c", "Pay"), Average("c", "In")])


def test_a_value_of_another_colour_set_that_shows_only_when_it_is_there() -> None:
    made = net()
    made.transition("Pay", {"In": "x"}, {"Flag": "double(x)"})
    with pytest.raises(ColourMismatch, match=r"transition Pay, arc to Flag: 2 is no value of BOOL \(bool\)"):
        run(made)


def test_an_inscription_that_fails_when_it_is_evaluated() -> None:
    made = net()
    made.transition("Pay", {"In": "x"}, {"Out": "x // 0"})
    with pytest.raises(InvalidExpression, match="net Bank, transition Pay, arc to Out: ZeroDivisionError"):
        run(made)


def test_a_guard_and_code_that_fail() -> None:
    made = net()
    made.transition("Pay", {"In": "x"}, guard="x.y")
    with pytest.raises(InvalidExpression, match="transition Pay, guard: AttributeError"):
        run(made)
    other = net()
    other.transition("Pay", {"In": "x"}, code="y = x.y")
    with pytest.raises(InvalidExpression, match="transition Pay, code: AttributeError"):
        run(other)


def test_a_delay_into_the_past() -> None:
    made = net()
    made.transition("Pay", {"In": "x"}, {"Later": "x @+ (0 - 5)"})
    with pytest.raises(InvalidExpression, match="arc to Later: a delay of -5"):
        run(made)


def test_a_port_that_is_not_there_or_of_another_colour_set() -> None:
    page = Net("Page")
    page.port("Gate", REAL)
    page.place("Inner", INT)
    made = net()
    with pytest.raises(
        UnknownNode, match="net Bank, substitution Sub, port Inner: net Page has no port Inner; it has Gate"
    ):
        made.substitute("Sub", page, {"Inner": "In"})
    with pytest.raises(NetError, match="port Gate: place In is of INT, the port of REAL"):
        made.substitute("Sub", page, {"Gate": "In"})
    with pytest.raises(UnknownNode, match="port Gate: there is no place Inn"):
        made.substitute("Sub", page, {"Gate": "Inn"})


def test_a_negative_number_of_tokens() -> None:
    made = net()
    made.transition("Pay", {"In": "x"}, {"Out": "times(x - 2, x)"})
    with pytest.raises(
        InvalidExpression, match="arc to Out: ValueError: times takes a whole number of 0 or more, not -1"
    ):
        run(made)
    made.place("Less", INT, "times(-1, 5)")
    with pytest.raises(InvalidExpression, match=r"place Less, initial marking: .* not -1"):
        Simulator(made)


def test_a_run_to_no_time() -> None:
    with pytest.raises(NetError, match="net Bank: a run until nan"):
        Simulator(net()).run(until=float("nan"))


def test_a_port_without_a_place() -> None:
    page = Net("Page")
    page.port("Gate", INT)
    with pytest.raises(NetError, match="net Bank, substitution Sub, port Gate: it has no place here; give one of Flag"):
        net().substitute("Sub", page, {})


def test_a_net_under_itself() -> None:
    made, page = net(), Net("Page")
    with pytest.raises(NetError, match="net Bank, substitution Again: net Bank would stand under itself"):
        made.substitute("Again", made, {})
    made.substitute("Sub", page, {})
    with pytest.raises(NetError, match="net Page, substitution Back: net Page would stand under itself"):
        page.substitute("Back", made, {})


def test_fused_places_that_do_not_fit() -> None:
    made = Net("Fused")
    made.place("One", INT, fusion="F")
    made.place("Two", UNIT, fusion="F")
    with pytest.raises(NetError, match="net Fused, place Two: it is of UNIT, and One, with which it is one, of INT"):
        Simulator(made)
    other = Net("Fused")
    other.place("One", INT, [1], fusion="F")
    other.place("Two", INT, [2], fusion="F")
    with pytest.raises(NetError, match="place Two: its initial marking is not that of One"):
        Simulator(other)


def test_names_that_several_have() -> None:
    page = Net("Page")
    page.place("Inner", INT, [1])
    page.transition("Go", {"Inner": "x"})
    made = Net("Two")
    made.substitute("A", page, {})
    made.substitute("B", page, {})
    with pytest.raises(UnknownNode, match=r"transition Go: there are several of that name: A\.Go, B\.Go"):
        Simulator(made, monitors=[Count("c", "Go")])
    assert Simulator(made, monitors=[Count("c", "A.Go")]).run() == 2


def test_elements_are_no_variables() -> None:
    made = Net("Signs")
    made.place("Sign", Enumeration("Colour", "red", "green"), ["red", "green"])
    made.transition("Stop", {"Sign": "red"})
    run = Simulator(made)
    run.run()
    assert [token.value for token in run.tokens("Sign")] == ["green"]


@pytest.mark.parametrize("name", ["", "a\x01", "\ud800"])
def test_a_name_that_cannot_be_drawn(name: str) -> None:
    made = Net("Bank")
    with pytest.raises(NetError, match=r"net Bank, place '.*': a name that cannot be drawn or exported"):
        made.place(name, INT)
    with pytest.raises(NetError, match=r"net Bank, transition '.*': a name that cannot be drawn or exported"):
        made.transition(name)
