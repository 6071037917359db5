"""Curves: a series with its values between the rows, the spans in which it is known, and its columns in a picture.

Figures, pages and notebooks draw a curve by these rules, so that all of them show the same.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Values = NDArray[np.float64]

Kind = Literal["level", "state", "rate", "count"]
"""A level holds until its next row, and so does a state, whose numbers stand for names.

A rate is the mean since the row before. A count is the number of events."""
STEPS = (1, 2, 5)
"""Widths of columns are these, times powers of ten."""


@dataclass(frozen=True, eq=False)
class Columns:
    """A part of a curve as columns of a picture.

    Attributes
    ----------
    begins : array
        Begin of each column, s. A column ends where the next one begins.
    values : array
        Mean of each column; NaN where nothing is known.
    least, greatest : array
        Extremes of each column.
    width_s : float
        Width of a column, s: a multiple of 1, 2 or 5 times a power of ten. 0 if the columns are the rows of the series.
    end_s : float
        End of the last column.
    """

    begins: Values
    values: Values
    least: Values
    greatest: Values
    width_s: float
    end_s: float

    def find_value(self, time_s: float, *, is_rate: bool = False) -> float | None:
        """Return the value that is drawn at an instant; None where nothing is known. See `Curve.find_value`."""
        side: Literal["left", "right"] = "left" if is_rate and self.width_s == 0 else "right"
        place = int(np.searchsorted(self.begins, time_s, side=side)) - 1
        if place < 0 or time_s > self.end_s or math.isnan(self.values[place]):
            return None
        return float(self.values[place])


@dataclass(frozen=True, eq=False)
class Curve:
    """A series of one flow or link, as periods with a value each.

    Attributes
    ----------
    kind : str
        `level`, `rate` or `count`.
    begins, ends, values : array
        Periods in order of time. Between two periods nothing is known.
    least, greatest : array
        Extremes in each period.
    """

    kind: Kind
    begins: Values
    ends: Values
    values: Values
    least: Values
    greatest: Values

    @classmethod
    def from_rows(
        cls,
        kind: Kind,
        times: Values,
        values: Values,
        known: Sequence[tuple[float, float]],
        extremes: tuple[Values, Values] | None = None,
    ) -> Curve:
        """Make a curve from the rows of a series.

        Parameters
        ----------
        kind : str
            `level` or `rate`.
        times, values : array
            Rows in order of time. NaN: no value from here on.
        known : sequence of (float, float)
            The spans in which the values are known, in order of time, such as the life of a flow.
        extremes : (array, array), optional
            Least and greatest value since the row before.
        """
        values = np.asarray(values, dtype=np.float64)
        if not len(times):
            return cls(kind, *(np.zeros(0) for _ in range(5)))
        latest = known[-1][1] if known else 0.0
        if kind == "rate":
            begins, ends = np.concatenate(([0.0], times[:-1])), times
            least = greatest = values
        elif extremes is not None:
            # A row has the extremes of the period before it. The first period begins with an empty queue.
            begins = np.concatenate(([0.0], times))
            ends = np.append(times, max(latest, times[-1]))
            values = np.concatenate(([0.0], values))
            least, greatest = (np.append(each, values[-1]) for each in extremes)
        else:
            begins, ends = times, np.append(times[1:], max(latest, times[-1]))
            least = greatest = values
        curve = cls(kind, begins, ends, values, least, greatest).within(*known)
        there = ~np.isnan(curve.values)
        return curve if there.all() else curve._select(there)

    @classmethod
    def from_events(cls, times: Values) -> Curve:
        """Make a curve that counts events."""
        ones = np.ones(len(times))
        return cls("count", times, times, ones, ones, ones)

    def _select(self, there: NDArray[np.bool_] | slice) -> Curve:
        arrays = (each[there] for each in (self.begins, self.ends, self.values, self.least, self.greatest))
        return Curve(self.kind, *arrays)

    def within(self, *known: tuple[float, float]) -> Curve:
        """Return the parts of the curve within these spans, which are in order of time."""
        if len(known) == 1 and len(self.begins) and known[0][0] <= self.begins[0] and known[0][1] >= self.ends[-1]:
            return self
        parts = []
        for first, last in known:
            there = (self.begins <= last) & (self.ends >= first) & ((self.ends > first) | (self.begins >= first))
            part = self._select(there)
            begins, ends = np.maximum(part.begins, first), np.minimum(part.ends, last)
            parts.append(Curve(self.kind, begins, ends, part.values, part.least, part.greatest))
        if not parts:
            return self._select(np.zeros(len(self.begins), dtype=bool))
        names = ("begins", "ends", "values", "least", "greatest")
        return Curve(self.kind, *(np.concatenate([getattr(part, name) for part in parts]) for name in names))

    @property
    def end_s(self) -> float:
        """End of the last period, s."""
        return float(self.ends[-1]) if len(self.ends) else 0.0

    def find_value(self, time_s: float) -> float | None:
        """Return the value at an instant; None where nothing is known.

        At the instant of a row, a level has the new value, and a rate still has the value of the period before.
        """
        side: Literal["left", "right"] = "left" if self.kind == "rate" else "right"
        place = max(int(np.searchsorted(self.begins, time_s, side=side)) - 1, 0)
        # Times of samples are rounded.
        if not len(self.begins) or not self.begins[place] <= time_s <= self.ends[place] * (1 + 1e-12):
            return None
        return float(self.values[place])

    def cut(self, start_s: float, end_s: float, columns: int, width_s: float | None = None) -> Columns:
        """Return a part of the curve in at most this number of columns.

        If the rows fit, each is a column. Otherwise the columns have equal width and begin at multiples of it, so they
        keep their places if the picture becomes wider or moves.

        Parameters
        ----------
        start_s, end_s : float
        columns : int
        width_s : float, optional
            Width of the columns if the rows do not fit; by default that of `choose_width`.
        """
        if self.kind != "count":
            first = int(np.searchsorted(self.ends, start_s, side="right"))
            last = int(np.searchsorted(self.begins, end_s, side="left" if self.kind == "rate" else "right"))
            if last - first <= columns:
                return self._rows(first, last, start_s, end_s)
        return self.average(start_s, end_s, width_s or choose_width(end_s - start_s, columns))

    def average(self, start_s: float, end_s: float, width_s: float) -> Columns:
        """Return a part of the curve in columns of this width: means, or numbers of events."""
        first, last = math.floor(start_s / width_s + 1e-9), math.ceil(end_s / width_s - 1e-9)
        edges: Values = width_s * np.arange(first, last + 1, dtype=np.float64)
        if self.kind == "count":
            return self._count(edges, width_s)
        return self._longest(edges, width_s) if self.kind == "state" else self._means(edges, width_s)

    def _rows(self, first: int, last: int, start_s: float, end_s: float) -> Columns:
        """Return periods as columns, and gaps between them as columns without a value."""
        part = self._select(slice(first, max(first, last)))
        if not len(part.begins):
            nothing = np.zeros(0)
            return Columns(nothing, nothing, nothing, nothing, 0.0, end_s)
        begins, ends = np.maximum(part.begins, start_s), np.minimum(part.ends, end_s)
        is_gap = np.append(begins[1:], end_s) > ends * (1 + 1e-12) + 1e-12
        places = np.arange(len(begins)) + np.concatenate(([0], np.cumsum(is_gap)[:-1]))
        count = len(begins) + int(is_gap.sum())
        times, values, least, greatest = (np.full(count, np.nan) for _ in range(4))
        pairs = ((times, begins), (values, part.values), (least, part.least), (greatest, part.greatest))
        for array, source in pairs:
            array[places] = source
        times[np.isnan(times)] = ends[is_gap]
        return Columns(times, values, least, greatest, 0.0, end_s)

    def _means(self, edges: Values, width_s: float) -> Columns:
        if not len(self.begins):
            nothing = np.full(len(edges) - 1, np.nan)
            return Columns(edges[:-1], nothing, nothing, nothing, width_s, float(edges[-1]))
        # Integrals of the value and of the known time, at both ends of each period.
        lengths = self.ends - self.begins
        marks = np.column_stack((self.begins, self.ends)).ravel()
        areas = _sum_ends(self.values * lengths)
        known = _sum_ends(lengths)
        area, time = (np.diff(np.interp(edges, marks, each)) for each in (areas, known))
        little = 1e-9 * width_s
        # A value that held for no time is an extreme, too.
        ends = np.maximum(self.ends, self.begins + 4 * little)
        firsts = np.searchsorted(ends, edges[:-1] + little, side="right")
        lasts = np.searchsorted(self.begins, edges[1:] - little, side="left")
        is_known = lasts > firsts
        least, greatest, values = (np.full(len(firsts), np.nan) for _ in range(3))
        if is_known.any():
            pairs = np.column_stack((firsts[is_known], lasts[is_known])).ravel()
            least[is_known] = np.minimum.reduceat(np.append(self.least, np.inf), pairs)[::2]
            greatest[is_known] = np.maximum.reduceat(np.append(self.greatest, -np.inf), pairs)[::2]
            long = is_known & (time > little)
            values[long] = area[long] / time[long]
            # Only values that held for no time.
            values[is_known & ~long] = greatest[is_known & ~long]
            # Rounding must not bring a mean outside of its extremes.
            values = np.clip(values, least, greatest)
        return Columns(edges[:-1], values, least, greatest, width_s, float(edges[-1]))

    def _longest(self, edges: Values, width_s: float) -> Columns:
        """Return the state that held longest in each column: a mean of names has no meaning."""
        marks = np.column_stack((self.begins, self.ends)).ravel()
        lengths = self.ends - self.begins
        found, most = np.full(len(edges) - 1, np.nan), np.zeros(len(edges) - 1)
        for state in np.unique(self.values):
            time = np.diff(np.interp(edges, marks, _sum_ends(np.where(self.values == state, lengths, 0.0))))
            found, most = np.where(time > most, state, found), np.maximum(time, most)
        return Columns(edges[:-1], found, found, found, width_s, float(edges[-1]))

    def _count(self, edges: Values, width_s: float) -> Columns:
        found = np.diff(np.searchsorted(self.begins, edges - 1e-9 * width_s)).astype(np.float64)
        return Columns(edges[:-1], found, found, found, width_s, float(edges[-1]))


def choose_width(span_s: float, columns: int, steps: Sequence[int] = STEPS) -> float:
    """Return the smallest width with at most `columns` columns, s. It is one of `steps` times a power of ten."""
    wanted = span_s / max(1, columns)
    power = math.floor(math.log10(wanted))
    widths = [step * 10.0**each for each in (power, power + 1) for step in steps]
    return next(round(width, 12 - power) for width in widths if width >= wanted * (1 - 1e-9))


def _sum_ends(parts: Values) -> Values:
    """Return the sums before and after each part."""
    after = np.cumsum(parts)
    return np.column_stack((after - parts, after)).ravel()
