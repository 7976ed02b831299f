"""Inscriptions as Python reads them: expressions of arcs and guards, and the statements of code segments."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from rockdove.capacity.petri.error import InvalidExpression

# What an inscription may say besides Python's own words; the random ones are those that a guard must not use.
RANDOM = ("bernoulli", "discrete", "erlang", "exponential", "gamma", "normal", "uniform")
FORMS = ("each", "empty", "times")
NOW = "now"
# Words that cannot be variables.
RESERVED = frozenset((*RANDOM, *FORMS, NOW))


class _Lists(ast.NodeTransformer):
    """Lists become tuples: a token never changes under somebody's hands."""

    def visit_List(self, node: ast.List) -> ast.AST:
        self.generic_visit(node)
        return ast.Tuple(node.elts, node.ctx)

    def visit_ListComp(self, node: ast.ListComp) -> ast.AST:
        self.generic_visit(node)
        made = ast.GeneratorExp(node.elt, node.generators)
        return ast.Call(ast.Name("tuple", ast.Load()), [made], [])


def expression(text: str, where: str) -> ast.expr:
    """Raises `InvalidExpression`."""
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except SyntaxError as error:
        raise InvalidExpression(where, f'"{text}" is not an expression: {error.msg}') from None
    found: ast.expr = ast.fix_missing_locations(_Lists().visit(tree)).body
    _refuse_private(found, text, where)
    return found


def statements(text: str, where: str) -> list[ast.stmt]:
    """Raises `InvalidExpression`."""
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        raise InvalidExpression(where, f'"{text}" is not code: {error.msg}') from None
    found: list[ast.stmt] = ast.fix_missing_locations(_Lists().visit(tree)).body
    for statement in found:
        _refuse_private(statement, text, where)
    return found


def _refuse_private(node: ast.AST, text: str, where: str) -> None:
    """Names with an underscore in front are the compiler's."""
    for each in ast.walk(node):
        if isinstance(each, ast.Name) and each.id.startswith("_") and each.id != "_":
            raise InvalidExpression(where, f'"{text}": names must not begin with an underscore, as {each.id} does')


def names(node: ast.AST) -> set[str]:
    """The names that have to have a value for it."""
    read = {each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load)}
    own = {argument.arg for each in ast.walk(node) if isinstance(each, ast.Lambda) for argument in each.args.args}
    for each in ast.walk(node):
        if isinstance(each, ast.comprehension):
            own |= {target.id for target in ast.walk(each.target) if isinstance(target, ast.Name)}
    return read - own


def assigned(code: Iterable[ast.stmt]) -> set[str]:
    """The names that have a value after it; those of comprehensions are gone then."""
    nodes = [each for statement in code for each in ast.walk(statement)]
    inner = {id(name) for each in nodes if isinstance(each, ast.comprehension) for name in ast.walk(each.target)}
    stored = [each for each in nodes if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)]
    return {each.id for each in stored if id(each) not in inner}


def conjuncts(guard: ast.expr) -> list[ast.expr]:
    """The parts that all have to hold: each is tested as soon as its variables are known."""
    if isinstance(guard, ast.BoolOp) and isinstance(guard.op, ast.And):
        return [part for value in guard.values for part in conjuncts(value)]
    return [guard]


def source(node: ast.AST) -> str:
    return ast.unparse(node)
