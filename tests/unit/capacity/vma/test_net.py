"""The nets are those of the paper, as far as it tells, and do what their scenario says."""

import math
from typing import Any

import pytest

from rockdove.capacity.petri import Average, Collector, Colour, Interval, Monitor, Simulator, interval
from rockdove.capacity.vma import petri
from rockdove.capacity.vma.net import broker, colour, function, layer_1, layer_2, recv_proc, send_proc
from rockdove.capacity.vma.net.colour import SECOND
from rockdove.capacity.vma.net.monitor import measuring, monitors
from rockdove.capacity.vma.net.visibility_timeout import visibility_timeout
from rockdove.capacity.vma.scenario import METRICS, Option, Scenario


def scenario(option: Option = Option.OUT_OF_ORDER, **changes: Any) -> Scenario:
    usual: dict[str, Any] = {"arrival": 30.3, "sender_rate": 10, "broker_rate": 10, "n1": 5, "n2": 5, "q": 0.88}
    return Scenario(option=option, **{**usual, "link_s": 0.02, "duration_s": 20, **changes})


OUT, IN = scenario(), scenario(Option.IN_ORDER)


# Tables 1 and 2.

TABLES = """\
colset UNIT = unit timed;
colset INT = int;
colset MsgTimeout = int timed;
colset REQ = with req timed;
colset Sender = with sender;
colset Thread = with thread;
colset MsgContent = with A | B;
colset Visibility = with visible | invisible;
colset Msg = record id: INT * msgContent: MsgContent * AT: INT * IT: INT * OT: INT;
colset MsgTimed = record id: INT * msgContent: MsgContent * AT: INT timed;
colset Msgs = list Msg;
colset ThreadxMsg = product Thread * Msg timed;
colset MsgxTime = product Msg * INT;
colset LMsgxTime = list MsgxTime;
colset IdxVis = product INT * Visibility;
colset LIdxVis = list IdxVis;"""


def test_the_colour_sets_are_those_of_the_tables() -> None:
    declared = {each.declaration() for each in vars(colour).values() if isinstance(each, Colour)}
    assert declared >= set(TABLES.splitlines())
    beyond = {each.split()[1] for each in declared - set(TABLES.splitlines())}
    # UNIT without times is what UNIT with times is made of; RTxMsg is in Figure 4.
    assert beyond == {"UNIT", "RTxMsg", "MsgOnLink"}


# Figures.


def test_send_proc_is_as_large_as_the_paper_says() -> None:
    for each in (OUT, IN):
        net = send_proc(each)
        assert (len(net.places), len(net.transitions)) == (13, 7)
        assert {"Thread_Pool", "Msg_ID", "Queue"} <= set(net.places)
        assert net.places["Msg_ID"].initial == (1,)


def test_the_layers() -> None:
    assert set(layer_1(OUT).places) == {"Senders", "Receivers"}
    assert [each.page.name for each in layer_1(OUT).substitutions.values()] == ["Layer_2"]
    assert set(layer_2(OUT).substitutions) == {"Send_Proc", "Broker", "Recv_Proc"}
    assert set(broker(OUT).substitutions) == {"Visibility_Timeout"}
    assert set(visibility_timeout(OUT).transitions) == {"Cancel", "Trigger"}
    assert "Deliver" in recv_proc(OUT).transitions


def test_the_options_differ_in_the_broker() -> None:
    assert set(broker(OUT).transitions) == {"Get_Msg"}
    assert set(broker(IN).transitions) == {"Get_Oldest_Msg"}
    assert set(broker(IN).places) - set(broker(OUT).places) == {"Queue_Index"}
    assert set(broker(OUT).places) - set(broker(IN).places) == {"Msg_Vis"}
    assert broker(IN).transitions["Get_Oldest_Msg"].guard == "ifMsgArrived(msgs, msgid)"


def test_every_net_tells_what_was_chosen() -> None:
    for net in (layer_1(OUT), layer_2(OUT), send_proc(OUT), broker(OUT), recv_proc(OUT), visibility_timeout(OUT)):
        assert net.description


def test_there_are_as_many_monitors_as_the_paper_has() -> None:
    assert len(monitors(OUT)) == len(monitors(IN)) == 26


# Algorithms.

MSG = colour.MSG.make
QUEUE = (MSG(3, "A", 1, 5, 0), MSG(1, "A", 0, 6, 0), MSG(2, "B", 0, 7, 0))
HIDDEN = ((3, "invisible"), (1, "invisible"))


def test_cancel_timer() -> None:
    taken = MSG(1, "A", 0, 6, 9)
    assert function.cancel_timer(taken, QUEUE, *function.pick(HIDDEN, 1)) == ((QUEUE[0], QUEUE[2]), HIDDEN[:1])
    assert function.cancel_timer(taken, QUEUE, HIDDEN[0], HIDDEN[1:]) == (QUEUE, HIDDEN)


def test_trigger_timer() -> None:
    shown = ((2, "visible"),)
    entry, others = function.pick(HIDDEN, 1)
    assert function.trigger_timer(1, entry, shown, others) == (((1, "visible"), (2, "visible")), HIDDEN[:1])
    entry, others = function.pick(HIDDEN, 7)
    assert function.trigger_timer(7, entry, shown, others) == (shown, HIDDEN)


def test_searching_the_queue() -> None:
    assert function.get_index_msg(QUEUE, 2) == QUEUE[2]
    with pytest.raises(LookupError):
        function.get_index_msg(QUEUE, 4)
    assert function.if_msg_arrived(QUEUE, 1)
    assert not function.if_msg_arrived(QUEUE, 4)
    assert not function.if_msg_arrived((), 1)


# Runs. Values are compared with colour sets here, which the engine leaves out.


def run(each: Scenario, seed: int = 1, more: tuple[Monitor, ...] = ()) -> Simulator:
    made = Simulator(layer_1(each), seed=seed, monitors=[*monitors(each), *more])
    made.run()
    return made


@pytest.mark.parametrize("option", Option)
def test_no_message_is_lost_or_delivered_twice(option: Option) -> None:
    made = run(scenario(option, timeout_s=0.3))
    ids = [msg.id for _, msg in (token.value for token in made.tokens("Receivers"))]
    assert len(set(ids)) == len(ids) == made.tally("Delivered").count > 400
    queued = {msg.id for msg in made.tokens("Broker.Queue")[0].value}
    assert queued.isdisjoint(ids)
    sending = {msg.id for place in ("Buffer", "Sending", "Link") for msg in _messages(made, place)}
    assert sorted({*ids, *queued, *sending}) == list(range(1, made.tally("Produced").count + 1))
    assert made.tally("Lost").count >= made.tally("Triggered").count > 10


def _messages(made: Simulator, place: str) -> list[Any]:
    values = [token.value for token in made.tokens(f"Send_Proc.{place}")]
    if place == "Buffer":
        return [msg for msg, _ in values[0]]
    return [value[1] if place == "Sending" else value for value in values]


@pytest.mark.parametrize("option", Option)
def test_time_stamps_are_in_order(option: Option) -> None:
    for recvtime, msg in (token.value for token in run(scenario(option)).tokens("Receivers")):
        assert msg.AT + 0.02 * SECOND <= msg.IT <= msg.OT <= recvtime - 0.02 * SECOND


def test_in_order_gives_out_by_number_and_out_of_order_by_arrival() -> None:
    ordered = run(scenario(Option.IN_ORDER, q=1.0), more=(Collector("given", "Get_Oldest_Msg", "msgid"),))
    given = ordered.sample("given").values
    assert given == list(range(1, len(given) + 1))
    plain = run(scenario(q=1.0), more=(Collector("given", "Get_Msg", "(msg.IT, msgid)"),))
    pairs = plain.sample("given").values
    assert pairs == sorted(pairs)
    assert [msgid for _, msgid in pairs] != sorted(msgid for _, msgid in pairs)


@pytest.mark.parametrize("option", Option)
def test_a_lost_message_is_given_out_first_when_its_timeout_is_over(option: Option) -> None:
    get = "Get_Oldest_Msg" if option is Option.IN_ORDER else "Get_Msg"
    visible = "Queue_Index" if option is Option.IN_ORDER else "Msg_Vis"
    made = run(
        scenario(option, q=0.5, n2=12, broker_scv=0, timeout_s=0.4, duration_s=10),
        more=(
            Collector("taken", get, "(msgid, now)"),
            Collector("shown", "Trigger", "(n, now, shown[0])", when="indexxvis[0] == n"),
            Average("visible", f"Broker.{visible}", "len(tokens[0])"),
        ),
    )
    taken: dict[int, list[float]] = {}
    for msgid, now in made.sample("taken").values:
        taken.setdefault(msgid, []).append(now)
    shown: list[Any] = made.sample("shown").values
    assert len(shown) > 50
    for msgid, now, head in shown:
        assert head == (msgid, "visible")
        assert now - 0.4 * SECOND in taken[msgid]


def test_what_was_measured_is_in_the_measure() -> None:
    each = scenario(duration_s=50, warm_up_s=10)
    found = petri.simulate(each, 1)
    assert found == petri.simulate(each, 1) != petri.simulate(each, 2)
    assert 1000 < found.delivered < 1500
    assert 0 < found.delivery_s < 1
    assert 0 < found.busy_sender < found.active_sender <= 1
    assert 0 < found.busy_broker < found.active_broker <= 1
    assert math.isnan(petri.simulate(scenario(duration_s=0.01), 1).delivery_s)


# Means, against values that are known. Seeds are fixed: the intervals are wide enough for nearly all of them.


def means(runs: int, each: Scenario) -> dict[str, Interval]:
    measures = petri.replicate(each, runs, 7)
    found = {name: interval([getattr(one, name) for one in measures]) for name in METRICS}
    return {name: Interval(one.mean, 2 * one.ci95) for name, one in found.items()}


# The sojourn is that in two M/M/n nodes with feedback, without the link.
@pytest.mark.parametrize(("n", "q", "sojourn_s"), [(5, 0.99, 0.2265), (6, 0.88, 0.2245)])
def test_out_of_order_is_a_network_of_two_nodes(n: int, q: float, sojourn_s: float) -> None:
    found = means(5, scenario(n1=n, n2=n, q=q, duration_s=110, warm_up_s=10))
    assert sojourn_s + (1 + 1 / q) * 0.02 in found["delivery_s"]
    assert 30.3 / 10 / n in found["busy_sender"]
    assert 30.3 / 10 / n / q in found["busy_broker"]
    # Little's law: who is in neither service nor on a link waits.
    assert 30.3 * (sojourn_s - 0.1 - 0.1 / q) in found["waiting"]


def test_a_lost_message_waits_out_its_timeout() -> None:
    each = scenario(n1=40, n2=40, q=0.8, sender_scv=0, broker_scv=0, timeout_s=0.5, duration_s=60, warm_up_s=10)
    # Nobody waits for a thread: 0.12 s to the broker, 0.5 s for each attempt that fails, 0.12 s for the last.
    assert 0.12 + 0.25 * 0.5 + 0.12 in means(4, each)["delivery_s"]


@pytest.mark.parametrize("scv", [0.25, 4.0])
def test_service_times_may_be_of_any_variability(scv: float) -> None:
    each = scenario(n1=40, n2=40, q=1.0, sender_scv=scv, duration_s=60)
    made = Simulator(
        layer_1(each), monitors=[*measuring(each), Collector("spent", "Send_Proc.Locate", "now - at")], check=False
    )
    made.run()
    spent = made.sample("spent")
    assert spent.mean / SECOND == pytest.approx(0.12, rel=0.15)
    assert (spent.deviation / (spent.mean - 0.02 * SECOND)) ** 2 == pytest.approx(scv, rel=0.35)
