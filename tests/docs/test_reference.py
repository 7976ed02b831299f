"""The reference knows all that the code knows: operations, attributes, limits, errors, flags and settings."""

import inspect
import re
from collections.abc import Iterator
from typing import Any

import pytest
from typer.main import get_command

from rockdove.cli import setting
from rockdove.cli.failure import Code
from rockdove.cli.main import app
from rockdove.core import attribute, errors, limits, policy
from rockdove.core.condition import KEYS, OPERATORS
from rockdove.core.errors import Fault, InvalidAttributeValue
from rockdove.core.permission import GRANTABLE, REPAIRS
from rockdove.spark.sink import option as sink_option
from rockdove.spark.sink.row import COLUMNS
from rockdove.spark.source import column
from rockdove.spark.source import option as source_option
from rockdove.wire.member import Listing, Mapping, Shape, Structure, structure
from rockdove.wire.operation import OPERATIONS, Operation
from tests.docs.page import page

OPERATIONS_PAGE = page("docs/reference/operations.md")
TOPICS_PAGE = page("docs/reference/topics.md")
ATTRIBUTES = page("docs/reference/queue-attributes.md")
LIMITS = page("docs/reference/limits.md")
ERRORS = page("docs/reference/errors.md")
POLICIES = page("docs/reference/policies.md")
COMMANDS = page("docs/reference/command-line.md")
SETTINGS = page("docs/reference/settings.md")

Row = tuple[str, ...]


def rows(text: str) -> list[Row]:
    """The cells of all tables, without their headings."""
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    return [tuple(cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]) for line in lines]


# Operations.


def names(shape: Shape) -> Iterator[tuple[str, bool]]:
    """All members of a structure, and of those in it, with whether they are required."""
    match shape:
        case Structure(members=members):
            for member in members:
                yield member.name, member.required
                yield from names(member.shape)
        case Listing(element=element) | Mapping(element=element):
            yield from names(element)


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=lambda operation: operation.name)
def test_every_operation_has_its_members(operation: Operation) -> None:
    section = (TOPICS_PAGE if operation.is_of_topics else OPERATIONS_PAGE).section(operation.name)
    request, _, result = section.partition("- Result:")
    for name, required in names(structure(operation.request)):
        assert f"`{name}`" in request
        assert not required or f"**`{name}`**" in request, f"{name} is required"
    if operation.result is None:
        assert result.startswith(" none")
        return
    for name, _ in names(structure(operation.result)):
        assert f"`{name}`" in result


def test_there_is_no_operation_too_many() -> None:
    for where, of_topics in ((OPERATIONS_PAGE, False), (TOPICS_PAGE, True)):
        headings = re.findall(r"^## ([A-Z]\w+)$", where.text, re.MULTILINE)
        there = {operation.name for operation in OPERATIONS.values() if operation.is_of_topics is of_topics}
        assert {heading for heading in headings if heading != "Protocols"} == there


# Queue attributes.

DOCUMENTED = {row[0].strip("`"): row for row in rows(ATTRIBUTES.text) if row[0].startswith("`")}


def test_every_queue_attribute_is_there_and_no_other() -> None:
    assert set(DOCUMENTED) == attribute._KNOWN


@pytest.mark.parametrize("name", sorted(attribute._SETTABLE | attribute._FIFO_SETTABLE))
def test_the_range_of_an_attribute_is_the_one_written(name: str) -> None:
    values = DOCUMENTED[name][1]
    fifo = name in attribute._FIFO_SETTABLE
    bounds = re.match(r"([\d,]+) to ([\d,]+)", values)
    words = re.findall(r"`(\w+)`", values)
    if bounds:
        low, high = (int(bound.replace(",", "")) for bound in bounds.groups())
        for number in (low, high):
            attribute.check({name: str(number)}, fifo)
        for number in (low - 1, high + 1):
            with pytest.raises(InvalidAttributeValue):
                attribute.check({name: str(number)}, fifo)
    for word in words:
        attribute.check({name: word}, fifo)
    assert bounds or words or values == "JSON" or name == "KmsMasterKeyId"


@pytest.mark.parametrize("name", sorted(name for name, row in DOCUMENTED.items() if len(row) == 4))
def test_the_default_of_an_attribute_is_the_one_written(name: str) -> None:
    fifo = name in attribute._FIFO_SETTABLE
    asked = {"KmsMasterKeyId": "a-key"} if name == "KmsDataKeyReusePeriodSeconds" else {}
    # A standard queue does not say that it is no FIFO queue.
    value = attribute.selected([name], asked, fifo, {}).get(name, "false" if name == "FifoQueue" else "none")
    assert DOCUMENTED[name][2].replace(",", "") == value


# Limits.


@pytest.mark.parametrize("name", [name for name in vars(limits) if name.isupper()])
def test_every_limit_is_there(name: str) -> None:
    value = getattr(limits, name)
    text = f"{value:.0%}".replace("%", " %") if isinstance(value, float) else f"{value:,}"
    assert re.search(rf"(?<!\d)(?<!\d,){re.escape(text)}(?!,?\d)", LIMITS.text)


# Errors.

FAULTS = [
    fault for _, fault in inspect.getmembers(errors, inspect.isclass) if issubclass(fault, Fault) and fault is not Fault
]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_every_error_is_there(fault: type[Fault]) -> None:
    found = [row for row in rows(ERRORS.text) if row[0] == f"`{fault.shape}`"]
    assert [row[1:3] for row in found] == [(f"`{fault.code}`", str(fault.status))]


def test_every_exit_code_is_there() -> None:
    written = [row[0] for row in rows(ERRORS.section("Exit codes of commands")) if row[0].isdigit()]
    assert written == [str(int(code)) for code in Code]


# Policies.


def test_every_condition_and_action_is_there() -> None:
    named = set(re.findall(r"`([\w:]+)`", POLICIES.text))
    assert set(OPERATORS) <= named
    assert {name.lower() for name in named if name.startswith("aws:")} == set(KEYS)
    decision = set(re.findall(r"`(\w+)`", POLICIES.section("The decision")))
    assert decision >= GRANTABLE | REPAIRS
    elements = {name for row in rows(POLICIES.section("Elements")) for name in re.findall(r"`(\w+)`", row[0])}
    assert elements == policy._STATEMENT | {"Version", "Id"}
    for bound in (policy.MAX_STATEMENTS, policy.MAX_POLICY_BYTES):
        assert f"{bound:,}" in POLICIES.section("Elements")


# Commands and settings.


def commands(command: Any, path: str = "rockdove") -> Iterator[tuple[str, Any]]:
    """All commands that do something themselves."""
    below = getattr(command, "commands", None)
    if below is None:
        yield path, command
        return
    for name in below:
        yield from commands(below[name], f"{path} {name}")


ALL_COMMANDS = list(commands(get_command(app)))


@pytest.mark.parametrize(("path", "command"), ALL_COMMANDS, ids=[path for path, _ in ALL_COMMANDS])
def test_every_flag_of_a_command_is_there(path: str, command: Any) -> None:
    section = COMMANDS.section(path)
    assert section, f"no section {path}"
    shared = COMMANDS.section("Flags that many commands have")
    for parameter in command.params:
        if parameter.param_type_name == "argument":
            assert parameter.metavar in section
            continue
        for flag in (*parameter.opts, *parameter.secondary_opts):
            assert re.search(rf"`{flag}[` ]", section + shared), flag


def test_there_is_no_command_or_flag_too_many() -> None:
    assert re.findall(r"^## (rockdove.*)$", COMMANDS.text, re.MULTILINE) == [path for path, _ in ALL_COMMANDS]
    for path, command in ALL_COMMANDS:
        flags = {flag for one in command.params for flag in (*one.opts, *one.secondary_opts)}
        written = {flag for row in rows(COMMANDS.section(path)) for flag in re.findall(r"`(--?[\w-]+)[` ]", row[0])}
        assert written <= flags


def test_every_setting_is_there() -> None:
    variables = {
        parameter.envvar
        for _, command in ALL_COMMANDS
        for parameter in command.params
        if getattr(parameter, "envvar", None)
    }
    table = rows(SETTINGS.text)
    assert {row[1] for row in table if row[0].startswith("`--")} == {f"`{name}`" for name in variables}
    assert {row[2] for row in table if row[2].startswith("`") and row[0].startswith("`--")} == {
        f"`{name}`" for name in setting._KINDS
    }


# Queues in Spark.

SPARK = page("docs/reference/spark-queues.md")


@pytest.mark.parametrize("name", sorted({*source_option.NAMES, *sink_option.NAMES}))
def test_every_option_of_the_format_for_spark_is_there(name: str) -> None:
    assert any(f"`{name}`" in row[0] for row in rows(SPARK.text))


def test_every_column_of_the_format_for_spark_is_there_with_its_type() -> None:
    documented = {row[0].strip("`"): row[1] for row in rows(SPARK.section("Columns of the source"))}
    assert {name: documented[name] for name in column.TYPES} == dict(column.TYPES)
    assert {row[0].strip("`") for row in rows(SPARK.section("Sink"))} >= set(COLUMNS)
