"""What a user's function takes, and how it is found."""

import importlib
import inspect
import math
import os
import sys
import typing
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import msgspec.inspect

from rockdove.client import Message
from rockdove.core.errors import RockdoveError

Function = Callable[[Any], Awaitable[None] | None]


class HandlerError(RockdoveError):
    """There is no such handler, or it cannot be one."""


class WrongPayload(RockdoveError):
    """The body of a message is not what the handler takes."""


class Later(Exception):
    """Raised by a handler: the message comes back after so many seconds."""

    def __init__(self, seconds: float) -> None:
        if not 0 <= seconds < math.inf:
            raise ValueError(f"a message comes back after some seconds, not {seconds}")
        self.seconds = seconds
        super().__init__(f"again in {seconds:g} s")


class Handler:
    """A function of one message. What the message is to it follows from the annotation of its first parameter.

    `Message`: the message itself. ``str``, or no annotation: its body. ``bytes``: its body in UTF-8. Anything else: its
    body read as JSON, and checked: a ``dict``, a dataclass, a TypedDict, a `msgspec.Struct`...
    """

    def __init__(self, function: Function, concurrency: int | None = None) -> None:
        self.function = function
        self.concurrency = concurrency
        self.is_async = inspect.iscoroutinefunction(inspect.unwrap(function)) or inspect.iscoroutinefunction(
            getattr(function, "__call__", None)  # noqa: B004
        )
        self.__doc__ = function.__doc__
        self.name = getattr(function, "__qualname__", type(function).__name__)
        plain = inspect.unwrap(function)
        if inspect.isgeneratorfunction(plain) or inspect.isasyncgenfunction(plain):
            raise HandlerError(f"{self.name} yields: a handler works on one message, and returns when that is done")
        self._takes = _first(function, self.name)
        self._decoder = None if self._takes in (str, bytes, Message) else _decoder(self._takes, self.name)

    def __call__(self, payload: Any) -> Awaitable[None] | None:
        try:
            return self.function(payload)
        except StopIteration as error:
            # From a thread, it would be taken for the end of what waits for it.
            raise RuntimeError("it raised StopIteration") from error

    def payload(self, message: Message) -> Any:
        """What the function is called with. Raises `WrongPayload`."""
        if self._takes is Message:
            return message
        if self._takes is str:
            return message.body
        if self._takes is bytes:
            return message.body.encode()
        assert self._decoder is not None
        try:
            return self._decoder.decode(message.body)
        except (msgspec.MsgspecError, RecursionError) as error:
            raise WrongPayload(f"{self.name} takes {_shown(self._takes)}, and the body is not one: {error}") from None


def _first(function: Function, name: str) -> Any:
    """What the first parameter takes."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return str
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = list(signature.parameters.values())
    plain = [each for each in parameters if each.kind in positional]
    required = [each for each in parameters if each.default is each.empty and each.kind in positional[:2]]
    required += [each for each in parameters if each.default is each.empty and each.kind is each.KEYWORD_ONLY]
    takes_any = any(each.kind is each.VAR_POSITIONAL for each in parameters)
    if len(required) > 1 or not (plain or takes_any):
        raise HandlerError(f"{name} must take one argument, the message: it takes {signature}")
    if not plain:
        return str
    try:
        target = function if inspect.isroutine(function) else type(function).__call__
        hints = typing.get_type_hints(target)
    except Exception as error:
        raise HandlerError(f"the annotations of {name} cannot be read: {error}") from None
    found = hints.get(plain[0].name, str)
    return str if found is Any else found


def _decoder(takes: Any, name: str) -> "msgspec.json.Decoder[Any]":
    try:
        if isinstance(msgspec.inspect.type_info(takes), msgspec.inspect.CustomType):
            raise TypeError("make it a dataclass, or take the body as str")
        return msgspec.json.Decoder(takes)
    except TypeError as error:
        raise HandlerError(f"{name} takes {_shown(takes)}, which cannot be read from JSON: {error}") from None


def _shown(takes: Any) -> str:
    return takes.__name__ if isinstance(takes, type) else str(takes)


@typing.overload
def handler(function: Function) -> Handler: ...


@typing.overload
def handler(*, concurrency: int) -> Callable[[Function], Handler]: ...


def handler(
    function: Function | None = None, *, concurrency: int | None = None
) -> Handler | Callable[[Function], Handler]:
    """Make a function, sync or async, a handler; ``concurrency``: messages that it works on at a time.

    It returns: the message is deleted. It raises: the message comes back, later each time.
    """
    if function is not None:
        return Handler(function)
    return lambda function: Handler(function, concurrency)


def find(place: str) -> Handler:
    """A handler, or a function, by ``package.module:name``. Raises `HandlerError`."""
    module, colon, name = place.partition(":")
    if not (module and colon and name):
        raise HandlerError(f"a handler is named as package.module:function, not {place!r}")
    # As with `python -m`: what is in the current folder is found.
    here = os.getcwd()
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        found: Any = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is not None and (module == error.name or module.startswith(f"{error.name}.")):
            raise HandlerError(
                f"there is no module {module}: start the worker in its folder, or set PYTHONPATH"
            ) from None
        raise HandlerError(f"{module} cannot be imported: there is no module {error.name}") from None
    except Exception as error:
        raise HandlerError(f"{module} cannot be imported: {type(error).__name__}: {error}") from error
    for part in name.split("."):
        if not hasattr(found, part):
            raise HandlerError(f"there is no {name} in {module}")
        found = getattr(found, part)
    if isinstance(found, Handler):
        return found
    if not callable(found) or isinstance(found, type):
        raise HandlerError(f"{place} is not a function")
    return Handler(found)
