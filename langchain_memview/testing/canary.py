"""What private text can be reached from an exception: messages, chains, frame locals.

Error reporters and tracers read more than the message of an exception: its arguments
and attributes, the exceptions behind it, and the local variables of every frame that it
passed. `private_text_in` looks in the same places for texts that a test has planted.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import partial
from types import CellType, FunctionType, MethodType

_DEPTH = 6


def private_text_in(exception: BaseException, canaries: Iterable[str]) -> list[str]:
    """Return where canaries can be read from an exception; empty if nowhere.

    Looked at are the text, representation, arguments, attributes and notes of the
    exception and of every one behind it (`__cause__`, `__context__`, groups), and the
    local variables of their traceback frames, with what closures and containers hold.

    Args:
        exception: What was raised.
        canaries: Private texts that must not be found.
    """
    wanted = tuple(canaries)
    found = []
    for error in _chain(exception, set()):
        name = type(error).__name__
        said = [str(error), repr(error), error.args, vars(error)]
        if _holds(said, wanted, _DEPTH, set()):
            found.append(f"{name}: message, arguments, attributes or notes")
        trace = error.__traceback__
        while trace is not None:
            code = trace.tb_frame.f_code
            found += [
                f"{name}: local {local!r} of {code.co_qualname} ({code.co_filename})"
                for local, value in trace.tb_frame.f_locals.items()
                if _holds(value, wanted, _DEPTH, set())
            ]
            trace = trace.tb_next
    return found


def _chain(error: BaseException | None, seen: set[int]) -> Iterator[BaseException]:
    if error is None or id(error) in seen:
        return
    seen.add(id(error))
    yield error
    behind = [error.__cause__, error.__context__]
    if isinstance(error, BaseExceptionGroup):
        behind += error.exceptions
    for other in behind:
        yield from _chain(other, seen)


def _holds(value: object, wanted: tuple[str, ...], depth: int, seen: set[int]) -> bool:
    if id(value) in seen:
        return False
    seen.add(id(value))
    text = value if isinstance(value, str) else _representation(value)
    if any(canary in text for canary in wanted):
        return True
    return depth > 0 and any(
        _holds(part, wanted, depth - 1, seen) for part in _parts(value)
    )


def _representation(value: object) -> str:
    try:
        return repr(value)
    except Exception:  # noqa: BLE001 - a broken `__repr__` shows nothing
        return ""


def _parts(value: object) -> list[object]:
    """Return what a debugger shows one level deeper."""
    if isinstance(value, Mapping):
        return [*value.keys(), *value.values()]
    if isinstance(value, list | tuple | set | frozenset):
        return list(value)
    if is_dataclass(value):
        return [getattr(value, field.name, None) for field in fields(value)]
    return _captured(value)


def _captured(value: object) -> list[object]:
    if isinstance(value, partial):
        return [value.func, value.args, value.keywords]
    if isinstance(value, MethodType):
        return [value.__func__]
    if isinstance(value, FunctionType):
        cells = value.__closure__ or ()
        return [part for cell in cells for part in _contents(cell)]
    return []


def _contents(cell: CellType) -> list[object]:
    try:
        return [cell.cell_contents]
    except ValueError:  # the variable was deleted
        return []
