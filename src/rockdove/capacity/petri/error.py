"""What can be wrong with a net; every error names the net, the node and, where it is about one, the arc."""

from rockdove.core.errors import RockdoveError


class NetError(RockdoveError):
    """A net cannot be built or run as it is."""

    def __init__(self, where: str, what: str) -> None:
        self.where = where
        self.what = what
        super().__init__(f"{where}: {what}")


class InvalidExpression(NetError):
    """An inscription that is not an expression, or that fails when it is evaluated."""


class UnboundVariable(NetError):
    """A variable that no arc into the transition and no code segment gives a value."""


class ColourMismatch(NetError):
    """A value that is not of its place's colour set."""


class UnknownNode(NetError):
    """A place or transition that the net does not have."""


class DuplicateName(NetError):
    """Two nodes of one net have the same name."""


class DrawingFailed(RockdoveError):
    """Graphviz is missing, or does not do its work."""


def at(net: str, kind: str = "", node: str = "", arc: str = "") -> str:
    """Where something is: ``net Send_Proc, transition Enqueue, arc to Queue``."""
    parts = [f"net {net}"]
    if node:
        parts.append(f"{kind} {node}")
    if arc:
        parts.append(arc)
    return ", ".join(parts)
