"""Numbers for people: SI prefixes and significant digits."""

from __future__ import annotations

import math
import re
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_PREFIXES = {
    "bit/s": ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"), (1, "bit/s")),
    "B": ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1, "B")),
    "s": ((1, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")),
}
MISSING = "-"
_NEGATIVE_ZERO = re.compile(r"(?<![\w.])-(?=0(?:\.0+)?(?![\d.]*\d))")
DECIMALS_MAX = 9
"""Most decimals of a value with an interval."""
MOST_DIGITS = 5
"""Most digits of a mean with an interval."""
SMALL = 0.01
"""Settings below this value are written with an exponent: 1e-3."""


def decapitalise(text: str) -> str:
    """Write the first letter small, unless it is that of an acronym.

    >>> decapitalise("Time to load"), decapitalise("RTT, 95 % quantile")
    ('time to load', 'RTT, 95 % quantile')
    """
    return text if text[1:2].isupper() else text[:1].lower() + text[1:]


def scale(values: Iterable[float | None], unit: str) -> tuple[float, str]:
    """Choose the divisor and the unit in which the largest of these values is easy to read.

    >>> scale([9_510_000, 12_000], "bit/s")
    (1000000.0, 'Mbit/s')
    """
    largest = max((abs(value) for value in values if value is not None and math.isfinite(value)), default=0)
    prefixes = _PREFIXES.get(unit, ((1, "" if unit == "1" else unit),))
    if largest == 0:
        return prefixes[0] if unit == "s" else prefixes[-1]
    # 999.9 of a unit shows as 1000. 1.00 of the next unit is easier to read.
    return next((prefix for prefix in prefixes if largest >= 0.9995 * prefix[0]), prefixes[-1])


def column(
    values: Sequence[float | None], unit: str, among: Iterable[float | None] | None = None
) -> tuple[list[str], str]:
    """Write values in one unit, aligned. The unit suits the largest of these values, or the largest of `among`.

    Values too small for the shown digits are not written as zero.

    >>> column([9_510_000, 12_000, None], "bit/s")
    (['9.51', '0.01', '-'], 'Mbit/s')
    >>> column([1_300_000, 300, 0], "B")
    (['1.30', '<0.01', '0.00'], 'MB')
    >>> column([0.671], "s", among=[0.671, 1.9])
    (['0.671'], 's')
    """
    divisor, text = scale(values if among is None else among, unit)
    scaled = [None if value is None else value / divisor for value in values]
    is_count = all(value is None or isinstance(value, int) for value in values) and divisor == 1
    digits = 0 if is_count else _digits(max((abs(value) for value in scaled if value is not None), default=0))
    least = 10.0**-digits

    def show_value(value: float | None) -> str:
        if value is None:
            return MISSING
        return f"<{least:.{digits}f}" if 0 < value < least / 2 else write_fixed(value, digits)

    return [show_value(value) for value in scaled], text


def quantity(value: float | None, unit: str) -> str:
    """Write one value with its unit.

    >>> quantity(9_510_000, "bit/s")
    '9.51 Mbit/s'
    >>> quantity(None, "s")
    '-'
    """
    (text,), unit = column([value], unit)
    return text if value is None else f"{text} {unit}".rstrip()


def span(profile: Mapping[str, Any], unit: str) -> str:
    """Write a value over time by its minimum and maximum."""
    least, most = (quantity(value, unit) for value in (min(profile["values"]), max(profile["values"])))
    return least if least == most else f"{least} to {most}"


def write_fixed(value: float, digits: int) -> str:
    """Write a value with a number of decimals, and zero without a sign.

    >>> write_fixed(-0.00003, 4), write_fixed(-0.3, 1), write_fixed(2.0, 0)
    ('0.0000', '-0.3', '2')
    """
    return without_signs_of_zero(f"{value:.{digits}f}")


def without_signs_of_zero(text: str) -> str:
    """Drop the minus before each zero of a text.

    >>> without_signs_of_zero("-0.000 ± 0.001, -0.5 and -0 to 3 at 1e-0, 5-0"), without_signs_of_zero("-0.0")
    ('0.000 ± 0.001, -0.5 and 0 to 3 at 1e-0, 5-0', '0.0')
    """
    return _NEGATIVE_ZERO.sub("", text)


def mean_and_margin(mean: float, half_width: float | None) -> tuple[str, str | None]:
    """Write a mean and the half width of its interval, with the digits that the half width allows.

    >>> mean_and_margin(9.5123, 0.0342)
    ('9.512', '0.034')
    >>> mean_and_margin(-0.00003, 0.00008), mean_and_margin(-0.0003, 0.02)
    (('-0.000030', '0.000080'), ('0.000', '0.020'))
    >>> mean_and_margin(34.41763, 0.00012)
    ('34.418', '0.001')
    >>> mean_and_margin(1101106.1, 1.5)
    ('1101106', '2')
    """
    if half_width is None:
        return write_fixed(mean, _digits(abs(mean))), None
    # The half width has two digits. The mean ends at the same place, but has no more digits than people read.
    is_exact = half_width <= 1e-9 * abs(mean)
    digits = (
        min(4, _digits(abs(mean)) if half_width == 0 else 4)
        if is_exact
        else max(_digits(half_width, decimals_max=DECIMALS_MAX + 1) - 1, 0)
    )
    digits = min(digits, _digits(max(abs(mean), half_width), MOST_DIGITS, DECIMALS_MAX))
    # A small half width is shown as one of the last place, unless it is only rounding of the arithmetic.
    is_hidden = not is_exact and half_width < 0.5 * 10**-digits
    return write_fixed(mean, digits), write_fixed(10.0**-digits if is_hidden else half_width, digits)


def interval(value: float | None, low: float | None, high: float | None, *, is_bound: bool = False) -> str:
    """Write a value with its interval, for one cell of a table.

    >>> interval(9.5123, 9.4781, 9.5465), interval(None, None, None), interval(18.4, None, None, is_bound=True)
    ('9.512 ±0.034', '-', '> 18.4')
    >>> interval(1.3, 1.1, 1.7)
    '1.30 (1.10 to 1.70)'
    """
    if value is None:
        return MISSING
    if low is None or high is None:
        return ("> " if is_bound else "") + mean_and_margin(value, None)[0]
    by, margin = mean_and_margin(value, (high - low) / 2)
    if math.isclose(high - value, value - low, rel_tol=1e-6, abs_tol=1e-9 * abs(value)):
        return f"{by} ±{margin}"
    digits = len(by.partition(".")[2])
    return f"{by} ({write_fixed(low, digits)} to {write_fixed(high, digits)})"


def setting(value: Any) -> str:
    """Write a value of a key as people write it.

    >>> setting(0.001), setting(10.0), setting("1 bdp"), setting(None)
    ('1e-3', '10', '1 bdp', '-')
    """
    if value is None:
        return MISSING
    if not isinstance(value, float):
        return str(value)
    if value == 0 or abs(value) >= SMALL:
        return f"{value:.6g}"
    return exponent(value)


def choice(value: Any) -> str:
    """Write a value that may be a table with a kind.

    >>> choice({"kind": "fq-codel", "target": "30 ms", "interval": "600 ms", "ecn": False})
    'fq-codel 30/600 ms'
    >>> choice("40 segments"), choice({"kind": "cubic"}), choice(0.001)
    ('40 segments', 'cubic', '1e-3')
    >>> choice({"span": "20 ms"}), choice([{"kind": "split"}]), choice([])
    ('span 20 ms', 'split', 'none')
    """
    if isinstance(value, (list, tuple)):
        return ", ".join(map(choice, value)) or "none"
    if not isinstance(value, dict):
        return setting(value)
    times = [str(value[name]) for name in ("target", "interval") if name in value]
    if len(times) == 2 and times[0].partition(" ")[2] == times[1].partition(" ")[2]:
        times = [f"{times[0].partition(' ')[0]}/{times[1]}"]
    limit = [f"limit {value['limit']}"] if "limit" in value else []
    known = " ".join([str(value.get("kind", "")), *times, *limit]).strip()
    return known or ", ".join(f"{name} {choice(each)}" for name, each in value.items())


def exponent(value: float) -> str:
    """Write a number with an exponent.

    >>> exponent(0.001), exponent(0.0125), exponent(0.0)
    ('1e-3', '1.25e-2', '0')
    """
    digits, power = f"{value:.5e}".split("e")
    return f"{digits.rstrip('0').rstrip('.')}e{int(power)}" if value else "0"


def percent(share: float) -> str:
    """Write a share from 0 to 1 in percent.

    >>> percent(0.923), percent(0.004), percent(0.0)
    ('92 %', '<1 %', '0 %')
    """
    return "<1 %" if 0 < share < 0.005 else f"{100 * share:.0f} %"


def change(share: float) -> str:
    """Write a relative change in percent with its sign; zero has none.

    >>> change(0.123), change(-0.0003), change(0.004), change(-0.02)
    ('+12%', '0%', '0%', '-2%')
    """
    text = f"{share:+.0%}"
    return "0%" if text in ("+0%", "-0%") else text


def count_mean(number: float, what: str) -> str:
    """Write a mean number of things.

    >>> count_mean(1.0, "round trip"), count_mean(4.24, "round trip")
    ('1 round trip', '4.2 round trips')
    """
    text = f"{number:.1f}".removesuffix(".0")
    return f"{text} {what}{'' if text == '1' else 's'}"


def count(number: int, what: str) -> str:
    """Write a number of things.

    >>> count(1, "flow"), count(1200, "flow")
    ('1 flow', '1,200 flows')
    """
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def short_key(key: str, keys: Sequence[str]) -> str:
    """Return the shortest end of a key that differs from the others.

    >>> short_key("link.up.error.rate", ["link.up.error.rate", "tcp.cc"])
    'rate'
    """
    parts = key.split(".")
    for length in range(1, len(parts)):
        end = ".".join(parts[-length:])
        if sum(other == end or other.endswith(f".{end}") for other in keys) == 1:
            return end
    return key


def text_table(head: Sequence[str], rows: Iterable[Sequence[str]], texts: int) -> str:
    """Write a table in aligned columns. The first `texts` columns are text, the others numbers.

    >>> print(text_table(["cc", "goodput (Mbit/s)"], [["cubic", "17.7"], ["reno", "4.70"]], texts=1))
    cc     goodput (Mbit/s)
    cubic              17.7
    reno               4.70
    """
    lines = [[*head], *map(list, rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if place < texts else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ).rstrip()
        for cells in lines
    )


def html_table(head: Sequence[str], rows: Iterable[Sequence[str]], texts: int) -> str:
    """Write a table for a notebook. The first `texts` columns are text, the others numbers.

    >>> html_table(["flow", "cc"], [["<a>", "reno"]], texts=2)
    '<table><tr><th>flow</th><th>cc</th></tr><tr><td>&lt;a&gt;</td><td>reno</td></tr></table>'
    """

    def line(cells: Sequence[str], tag: str) -> str:
        places = ["" if place < texts else ' style="text-align: right"' for place in range(len(cells))]
        return "".join(f"<{tag}{how}>{escape(cell)}</{tag}>" for how, cell in zip(places, cells, strict=True))

    lines = [line(head, "th"), *(line(row, "td") for row in rows)]
    return f"<table>{''.join(f'<tr>{cells}</tr>' for cells in lines)}</table>"


def _digits(value: float, most: int = 3, decimals_max: int = 6) -> int:
    """Count the decimals of a value with this number of significant digits."""
    if value == 0 or not math.isfinite(value):
        return 0
    return min(max(most - 1 - math.floor(math.log10(value)), 0), decimals_max)
