"""Reads and writes amounts as `tc` does: tc(8), section PARAMETERS."""

from __future__ import annotations

import re

from bentpipe.errors import BentpipeError
from bentpipe.tc.shell import UNKNOWN

_BITS = {"": 1, "bit": 1, **{f"{letter}bit": 1000**power for power, letter in enumerate("kmgt", 1)}}
_BITS |= {f"{letter}ibit": 1024**power for power, letter in enumerate("kmgt", 1)}
# Bytes per second.
RATES = _BITS | {unit.replace("bit", "bps"): 8 * factor for unit, factor in _BITS.items() if unit}
"""Bits per second of each unit of a rate."""
TIMES = {"": 1e-6, **dict.fromkeys(("s", "sec", "secs"), 1.0), **dict.fromkeys(("ms", "msec", "msecs"), 1e-3)}
TIMES |= {**dict.fromkeys(("us", "usec", "usecs"), 1e-6), **dict.fromkeys(("ns", "nsec", "nsecs"), 1e-9)}
"""Seconds of each unit of a time."""
SIZES = {"": 1, "b": 1, **{f"{letter}{end}": 1024**power for power, letter in enumerate("kmg", 1) for end in ("", "b")}}
SIZES |= {"bit": 1 / 8, **{f"{letter}bit": 1024**power / 8 for power, letter in enumerate("kmg", 1)}}
"""Bytes of each unit of a size. Prefixes are powers of 1024, also of bits."""
_AMOUNT = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)([a-z%]*)")


def read_rate(word: str) -> float:
    """Return a rate in bit/s: `20mbit`, `250kbps` (bytes), or a number of bits."""
    return _read(word, RATES, "a rate of tc", "20mbit, 512kbit or 250kbps")


def read_time(word: str) -> float:
    """Return a time in seconds: `270ms`, or a number of microseconds."""
    return _read(word, TIMES, "a time of tc", "270ms or 1500us")


def read_size(word: str) -> float:
    """Return a size in bytes: `32kbit` is 4096 B, `15k` is 15,360 B."""
    return _read(word.split("/")[0], SIZES, "a size of tc", "1600, 15k or 32kbit")


def read_share(word: str) -> float:
    """Return a share. `1%` and `1` both mean one hundredth."""
    share = _read(word, {"": 0.01, "%": 0.01}, "a share of tc", "1%")
    if not 0 <= share <= 1:
        raise BentpipeError(f"{word} is not a share of tc\n  expected 0% to 100%")
    return share


def read_count(word: str) -> int:
    """Return a whole number: `1000`."""
    return round(_read(word, {"": 1}, "a number of tc", "1000"))


def is_number(word: str) -> bool:
    """Whether a word is an amount rather than the next key."""
    return word[:1] in "0123456789.-+" or word[:1] == UNKNOWN


def _read(word: str, units: dict[str, float], what: str, example: str) -> float:
    if UNKNOWN in word:
        shown = word.replace(UNKNOWN, "")
        raise BentpipeError(
            f"the value of {shown} is not in the script\n  expected it after the name of the file: an argument of the"
            " script, or NAME=VALUE"
        )
    found = _AMOUNT.fullmatch(word.lower())
    if found is None or found[2] not in units:
        raise BentpipeError(f"{word} is not {what}\n  expected {example}")
    return float(found[1]) * units[found[2]]


def write_rate(rate_bps: float) -> str:
    """Write a rate for a scenario."""
    return _write(rate_bps, "bit/s", ("", "k", "M", "G", "T"))


def write_size(size: float) -> str:
    """Write a size in bytes for a scenario."""
    return f"{round(size)} B"


def write_time(seconds: float) -> str:
    """Write a time for a scenario, in whole picoseconds."""
    seconds = round(seconds, 12)
    if not seconds:
        return "0 s"
    units = ((1.0, "s"), (1e3, "ms"), (1e6, "us"))
    factor, unit = next(((factor, unit) for factor, unit in units if seconds * factor >= 1), units[-1])
    return f"{seconds * factor:.7g} {unit}"


def write_share(share: float) -> str:
    """Write a share for a scenario, in per cent."""
    return f"{100 * share:.6g} %"


def _write(value: float, unit: str, prefixes: tuple[str, ...]) -> str:
    power = 0
    while power + 1 < len(prefixes) and value >= 1000 ** (power + 1):
        power += 1
    return f"{value / 1000**power:.10g} {prefixes[power]}{unit}"
