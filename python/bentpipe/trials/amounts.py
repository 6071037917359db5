"""Sizes and times as scenarios write them, and their rounding to values that command-line tools can set."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

from bentpipe.trials.linux import find_transport_key

if TYPE_CHECKING:
    from collections.abc import Mapping

SEGMENT = 1448
"""Bytes of a segment with timestamps."""
KIB64 = 65536
SHARE = 0.625
"""Share of payload in the kernel's memory of a segment: 1448 B of 2304 B, in 256ths."""
ROUNDED = 0.01
"""Largest relative change by rounding that is not simulated again."""
_WINDOWS = {"rfc6928": 10, "rfc3390": 3, "rfc5681": 3}
"""Initial windows by name, in segments of 1460 B."""
_AMOUNT = re.compile(r"(\d+(?:\.\d+)?(?:e[-+]?\d+)?)\s*([a-zA-Z]*)")
_BYTES: Mapping[str, float] = {"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 1024, "MiB": 2**20, "GiB": 2**30}
_MILLISECONDS = {"ps": 1e-9, "ns": 1e-6, "us": 1e-3, "ms": 1.0, "s": 1e3, "min": 6e4, "h": 3.6e6}
_RATES = {"bit/s": 1.0, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9}


def amount(value: Any) -> tuple[float, str]:
    """Split an amount of a scenario into number and unit: `300 ms`, `300ms`. A name has neither."""
    found = _AMOUNT.fullmatch(str(value).strip())
    return (float(found[1]), found[2]) if found else (0.0, "")


def segments(value: Any) -> int:
    """Return an initial window in segments."""
    number, unit = amount(value)
    if unit.startswith("segment"):
        return round(number)
    return _WINDOWS.get(str(value)) or max(1, round((size(value) or 10 * SEGMENT) / SEGMENT))


def size(value: Any) -> int | None:
    """Return a size in bytes; None if the value is not a size."""
    number, unit = amount(value)
    return round(number * _BYTES[unit]) if unit in _BYTES else None


def milliseconds(value: Any) -> float:
    """Return a time in milliseconds."""
    number, unit = amount(value)
    return number * _MILLISECONDS[unit]


def kilobits(value: Any) -> int:
    """Return a rate in kbit/s, as `tc` takes it."""
    number, _, unit = str(value).strip().partition(" ")
    return max(1, round(float(number) * _RATES[unit.strip()] / 1000))


def compute_memory(window: int) -> int:
    """Return the kernel's receive buffer for a window. The buffer also holds the kernel's overhead per segment."""
    return math.ceil(window / SHARE)


def buffer_limit(memory: int) -> int:
    """Return the third value of `tcp_rmem` or `tcp_wmem`, in steps of 64 KiB."""
    return KIB64 * math.ceil(memory / KIB64)


def round_value(key: str, value: Any) -> Any:
    """Return the rounded value that a tool sets for a key of a transport, if it differs by more than `ROUNDED`."""
    what, bytes_ = find_transport_key(key), size(value)
    if what == "initial_window" and bytes_:
        whole = segments(value)
        return value if abs(whole * SEGMENT / bytes_ - 1) <= ROUNDED else f"{whole} segments"
    if what in ("receive_buffer", "send_buffer", "auto_buffer.limit", "auto_send_buffer.limit") and bytes_:
        # A fixed receive buffer is a window. The others count memory.
        is_window = what == "receive_buffer"
        set_ = int(buffer_limit(compute_memory(bytes_)) * SHARE) if is_window else buffer_limit(bytes_)
        return value if set_ / bytes_ - 1 <= ROUNDED else f"{set_} B"
    if what == "rto.variance_min" and amount(value)[1]:
        # A route takes whole milliseconds.
        exact, whole = milliseconds(value), max(1, round(milliseconds(value)))
        return value if exact and abs(whole / exact - 1) <= ROUNDED else f"{whole} ms"
    return value


def between(low: Any, high: Any) -> str | None:
    """Return the geometric mean of two amounts with the same unit; None if there is no useful value between them.

    >>> between("10 segments", "40 segments"), between("0.25 bdp", "1 bdp"), between("20 ms", "1 bdp")
    ('20 segments', '0.5 bdp', None)
    """
    (one, unit), (two, other) = amount(low), amount(high)
    if unit != other or not unit or one <= 0 or two <= 0:
        return None
    middle = math.sqrt(one * two)
    is_whole = unit == "B" or unit.startswith(("segment", "packet"))
    number = float(round(middle)) if is_whole else float(f"{middle:.3g}")
    return f"{number:.10g} {unit}" if min(one, two) < number < max(one, two) else None
