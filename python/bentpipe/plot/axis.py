"""Axis of a varied key. If the values are numbers, it has their unit, and it is logarithmic if their spacing is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bentpipe import _core, formatting

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

PAD = 0.06
"""Room beside the first and the last place, as a share of the places."""
TICKS_MAX = 7
"""Maximum number of values that are all written at the axis. Of more values, round ones are written."""
TICK_LETTERS = 5
SPAN = 4
"""Least ratio of the values of a log axis. In a smaller range, ratios and differences look alike."""


def numbers(values: Sequence[Any]) -> tuple[list[float], str] | None:
    """Convert values to numbers of one unit; return None if they have no common unit.

    >>> numbers(["500 kbit/s", "2 Mbit/s"])
    ([500000.0, 2000000.0], 'bit/s')
    >>> numbers(["10 packets", "1 bdp"]) is None
    True
    """
    found = [_number(value) for value in values]
    known = [each for each in found if each is not None]
    if len(known) < len(found) or len({base for _, base in known}) != 1:
        return None
    if all(str(value).rstrip().endswith("%") for value in values):
        return [100 * number for number, _ in known], "%"
    return [number for number, _ in known], known[0][1]


def _number(value: Any) -> tuple[float, str] | None:
    """Convert to a number and its unit."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value), "1"
    return _core.quantity(value) if isinstance(value, str) else None


_WORDS = {
    "cc": "congestion control",
    "bdp": "BDP",
    "ecn": "ECN",
    "es_n0": "Es/N0",
    "fec": "FEC",
    "mtu": "MTU",
    "pep": "PEP",
    "quic": "QUIC",
    "rto": "RTO",
    "rtt": "RTT",
    "smss": "SMSS",
    "tcp": "TCP",
}
"""Spelling of parts of keys that are not plain words."""
_NAMED = ("case", "flow", "link", "medium", "node")
"""Tables of a scenario whose entries have names."""


def describe_key(key: str) -> str:
    """Write a key of a scenario in words, for an axis.

    >>> describe_key("link.sat.forward.error.rate"), describe_key("tcp.initial_window"), describe_key("seed")
    ('Error rate of link sat, forward', 'Initial window of TCP', 'Seed')
    """
    table, *rest = key.split(".")
    where = [] if not rest else [f"{table} {rest.pop(0)}"] if table in _NAMED and len(rest) > 1 else [_spell(table)]
    if where and len(rest) > 1 and rest[0] in ("forward", "reverse"):
        where.append(rest.pop(0))
    what = " ".join(_spell(part) for part in rest or [table])
    return f"{what[0].upper()}{what[1:]}{' of ' if where else ''}{', '.join(where)}"


def _spell(part: str) -> str:
    return _WORDS.get(part, part.replace("_", " "))


@dataclass(frozen=True)
class Axis:
    """Places of the values of a key on the horizontal axis."""

    key: str
    unit: str
    places: dict[Any, float]
    """Place on the axis, in its unit, of each value of the table of points."""
    is_log: bool
    zero: Any
    """The value zero, which a log axis shows apart from the others; None if there is no zero."""

    @classmethod
    def from_values(cls, key: str, values: Sequence[Any]) -> Axis | None:
        """Make the axis for these values; None if they are not numbers."""
        found = numbers(values)
        if found is None:
            return None
        divisor, unit = formatting.scale(*found)
        scaled = np.array(found[0]) / divisor
        is_log = _is_log(scaled[scaled != 0])
        zero = None
        if is_log and (scaled == 0).any():
            zero = values[int(np.flatnonzero(scaled == 0)[0])]
            positive = np.unique(scaled[scaled > 0])
            # As far from the others as these are from each other, but far enough to look separate.
            scaled[scaled == 0] = positive[0] / max(float(np.exp(np.median(np.diff(np.log(positive))))), 3.0)
        return cls(key, unit, dict(zip(values, scaled.tolist(), strict=True)), is_log, zero)

    @property
    def limits(self) -> tuple[float, float]:
        """Ends of the axis, with room beside the first and the last place."""
        low, high = min(self.places.values()), max(self.places.values())
        if self.is_log:
            room = (high / low) ** PAD
            return low / room, high * room
        room = PAD * (high - low) or PAD * abs(high) or PAD
        return low - room, high + room

    def dress(self, axes: Axes) -> None:
        """Set the scale, ticks and their texts."""
        from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

        if self.is_log:
            axes.set_xscale("log")
        texts = dict(zip(self.places.values(), self._texts(list(self.places.values())), strict=True))
        if (
            len(texts) <= TICKS_MAX
            and max(map(len, texts.values())) <= TICK_LETTERS
            and (self.is_log or self._is_wide())
        ):
            axes.set_xticks(list(texts), list(texts.values()))
            axes.xaxis.set_minor_locator(NullLocator())
            return
        if not self.is_log:
            axes.ticklabel_format(axis="x", useOffset=False, scilimits=(-4, 7))
            return
        at_zero = [] if self.zero is None else [self.places[self.zero]]
        places = sorted(set(self.places.values()) - set(at_zero))
        decades = [
            place
            for place in LogLocator(numticks=TICKS_MAX).tick_values(places[0], places[-1])
            if places[0] * 0.99 <= place <= places[-1] * 1.01
        ]
        ticks = decades if len(decades) > 1 else [places[0], places[len(places) // 2], places[-1]]
        axes.set_xticks([*at_zero, *ticks], self._texts([*at_zero, *ticks]))
        axes.xaxis.set_minor_formatter(FuncFormatter(lambda *_: ""))

    def _texts(self, places: Sequence[float]) -> list[str]:
        """Write numbers at ticks. If one needs an exponent, all below 1 have it."""
        rounded = [float(f"{place:.6g}") for place in places]
        zero = None if self.zero is None else self.places[self.zero]
        texts = [formatting.setting(value) for value in rounded]
        if any("e" in text for text in texts):
            # As in `formatting.setting`, also for larger numbers.
            texts = [
                text if value >= 1 else formatting.exponent(value) for text, value in zip(texts, rounded, strict=True)
            ]
        return ["0" if place == zero else text for place, text in zip(places, texts, strict=True)]

    def _is_wide(self) -> bool:
        """Whether the texts of a linear axis do not touch."""
        places = np.sort(list(self.places.values()))
        return len(places) < 2 or float(np.diff(places).min()) >= np.ptp(places) / 8


def _is_log(values: Any) -> bool:
    """Whether positive values are spaced more evenly by their ratios than by their differences."""
    values = np.unique(values)
    if len(values) < 3 or values[0] <= 0 or values[-1] < SPAN * values[0]:
        return False
    steps, ratios = np.diff(values), np.diff(np.log(values))
    return bool(np.std(ratios) / np.mean(ratios) < np.std(steps) / np.mean(steps))
