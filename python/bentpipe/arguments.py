"""Checks of arguments: an error has the name, the value and the expected type."""

from __future__ import annotations

import math
import operator
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bentpipe.errors import BentpipeError, Word

if TYPE_CHECKING:
    from collections.abc import Mapping


def texts(name: str, given: Any) -> list[str]:
    """Check several texts.

    Raises
    ------
    BentpipeError
        The value has another type.
    """
    found = list(given) if hasattr(given, "__iter__") and not isinstance(given, (bytes, bytearray)) else None
    if found is None or not all(isinstance(each, str) for each in found):
        raise _wrong(name, given, "a text or a list of texts")
    return found


def text(name: str, given: Any) -> str:
    """Check one text.

    Raises
    ------
    BentpipeError
        The value or its type is invalid.
    """
    if not isinstance(given, str):
        raise _wrong(name, given, "a text")
    return given


def path(name: str, given: Any, error: type[BentpipeError] = BentpipeError) -> Path:
    """Check the name of a file or folder.

    Raises
    ------
    BentpipeError
        The value is not a text or a path, or the system allows no file of this name.
    """
    if not isinstance(given, (str, os.PathLike)) or not isinstance(found := os.fspath(given), str):
        raise _wrong(name, given, "a text or a pathlib.Path", error)
    if "\0" in found:
        raise _wrong(name, found, "a name without zero bytes", error)
    return Path(found)


def mapping(name: str, given: Any, expected: str) -> Mapping[str, Any]:
    """Check a dict.

    Raises
    ------
    BentpipeError
        The value or its type is invalid.
    """
    if not hasattr(given, "items"):
        raise _wrong(name, given, expected)
    found: Mapping[str, Any] = given
    return found


def number(
    name: str,
    given: Any,
    least: float = -math.inf,
    most: float = math.inf,
    *,
    of: str = "",
    error: type[BentpipeError] = BentpipeError,
) -> float:
    """Check a finite number within bounds, with a unit.

    Raises
    ------
    BentpipeError
        The value or its type is invalid. The argument `error` is the class that is raised.
    """
    try:
        found = math.nan if isinstance(given, (str, bytes)) else float(given)
    except (TypeError, ValueError, OverflowError):
        found = math.nan
    if not (math.isfinite(found) and least <= found <= most):
        raise _wrong(name, given, f"a number{of and f' of {of}'}{_within(least, most)}", error)
    return found


def share(name: str, given: Any, *, error: type[BentpipeError] = BentpipeError) -> float:
    """Check a share above 0 and below 1: a number, or a text such as `5 %`.

    Raises
    ------
    BentpipeError
        The value or its type is invalid. The argument `error` is the class that is raised.
    """
    return _share(name, given, "a share such as 5 % or 0.05", is_number_fit=True, error=error)


def margin(name: str, given: Any, *, error: type[BentpipeError] = BentpipeError) -> float:
    """Check a margin above 0 and below 100 %: a text such as `5 %`. A number without a unit is refused.

    Raises
    ------
    BentpipeError
        The value or its type is invalid. The argument `error` is the class that is raised.
    """
    return _share(name, given, "a share such as 5 %", is_number_fit=False, error=error)


def _share(name: str, given: Any, expected: str, *, is_number_fit: bool, error: type[BentpipeError]) -> float:
    written, percent, rest = str(given).partition("%")
    try:
        found = math.nan if rest.strip() or isinstance(given, bool) else float(written) / (100 if percent else 1)
    except ValueError:
        found = math.nan
    if not 0 < found < 1 or not (percent or is_number_fit):
        amount = 100 * found if found < 1 else found
        meant = f"; did you mean {amount:g} %?" if 0 < amount < 100 and not percent else ""
        raise error(
            f"{{{name}}}: {_show_value(str(given))} is not a share between 0 and 100 %\n  expected {expected}{meant}",
            **{name: None},
        )
    return found


def whole(name: str, given: Any, least: int, most: int, *, error: type[BentpipeError] = BentpipeError) -> int:
    """Check a whole number within bounds.

    Raises
    ------
    BentpipeError
        The value or its type is invalid. The argument `error` is the class that is raised.
    """
    try:
        found = operator.index(given)
    except TypeError:
        raise _wrong(name, given, f"a whole number{_within(least, most)}", error) from None
    if isinstance(given, bool) or not least <= found <= most:
        raise _wrong(name, given, f"a whole number{_within(least, most)}", error)
    return found


def only_with(
    name: str, given: Any, usual: Any, other: str, has_other: bool, *, error: type[BentpipeError] = BentpipeError
) -> None:
    """Refuse an argument that has no effect without another argument.

    Raises
    ------
    BentpipeError
        It is given without the other argument. The argument `error` is the class that is raised.
    """
    if given != usual and not has_other:
        names = dict.fromkeys((name, other))
        raise error(f"{{{name}}} has no effect without {{{other}}}\n  expected both or none of them", **names)


def _within(least: float, most: float) -> str:
    if math.isinf(least) and math.isinf(most):
        return ""
    if math.isinf(most):
        return f", {least:g} at least"
    bounds = (str(each) if isinstance(each, int) else f"{each:g}" for each in (least, most))
    return " from {} to {}".format(*bounds)


def _wrong(name: str, given: Any, expected: str, error: type[BentpipeError] = BentpipeError) -> BentpipeError:
    return error(f"{{{name} = }}\n  expected {expected}", **{name: Word(_show_value(repr(given)))})


def _show_value(value: str) -> str:
    return value if len(value) <= SHOWN_MAX else f"{value[:SHOWN_MAX]}..."


SHOWN_MAX = 80
"""Maximum number of letters of a value in an error."""
