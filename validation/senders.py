"""Measures each congestion control on satellite paths, and draws its figure.

The parts are the window over time on the paths `geo` and `leo`, goodput over the loss rate in `s1` and `s2`, and the
sharing with `sack` and with a flow of the same kind. On `geo` and `leo` each part is measured with the default hosts
first, then with hosts as in the RFCs, which the papers had. The numbers go into `validation/data/senders.json`, the
figures into `docs/congestion-controls`. Each congestion control takes twenty seconds of a core.

    python -m validation.senders            # congestion controls without numbers
    python -m validation.senders NAME ...   # these again; `all` for every one
    python -m tools.docs senders            # after that: the pages
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

import bentpipe as bp
from bentpipe import formatting, plot
from bentpipe.metric import METRICS
from bentpipe.plot.style import COLOURS, WIDE, label, sheet, style
from bentpipe.statistics.estimates import estimate
from validation import kept

if TYPE_CHECKING:
    from collections.abc import Iterable

    from matplotlib.axes import Axes

    from bentpipe.experiment.single.run_result import RunResult

FIGURES = Path(__file__).resolve().parent.parent / "docs" / "congestion-controls"

REFERENCES = ("sack", "reno")
"""References in each figure: Reno's window with the recovery of most others, and Reno itself."""


@dataclass(frozen=True)
class Hosts:
    """Hosts of a measurement."""

    like: str
    """Their preset."""
    sets: dict[str, str]

    def key(self, part: str) -> str:
        """The key of a part of the numbers, such as `geo` with the default hosts and `geo rfc`."""
        return f"{part} {self.like}" if self.sets else part


HOSTS = (Hosts("linux-6", {}), Hosts("rfc", {"tcp.like": "rfc"}))
"""The default hosts, and those of the papers."""


@dataclass(frozen=True)
class Route:
    """Path of the table of goodput, and with the default hosts of the figure of the window."""

    scenario: str
    title: str
    hosts: Hosts
    duration: str | None
    replications: int

    @property
    def key(self) -> str:
        """The key of its numbers."""
        return self.hosts.key(self.scenario)

    @property
    def sets(self) -> dict[str, str]:
        """Overrides of the scenario."""
        return self.hosts.sets | ({} if self.duration is None else {"duration": self.duration})

    def load(self, sender: str) -> bp.Scenario:
        """The scenario with this sender."""
        return bp.load(self.scenario, {**self.sets, "tcp.cc": sender})


@dataclass(frozen=True)
class Response:
    """Path of the goodput over the loss rate."""

    scenario: str
    title: str
    sets: dict[str, str]
    key: str
    rates: tuple[float, ...]
    shown: tuple[float, ...]
    """Rates in the table of the page."""
    replications: int = 5


PATHS = (
    *(Route("geo", "GEO: 20 Mbit/s, 540 ms", hosts, "120 s", 3) for hosts in HOSTS),
    *(Route("leo", "LEO: 100 Mbit/s, a handover every 15 s", hosts, None, 5) for hosts in HOSTS),
)
DRAWN = tuple(path for path in PATHS if path.hosts is HOSTS[0])
"""Paths of the figure of the window."""
RESPONSES = (
    Response(
        "s1",
        "s1: ten flows, 10 Mbit/s, 120 ms",
        {"duration": "60 s"},
        "link.isl1.forward.error.rate",
        (1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1),
        (1e-5, 1e-4, 1e-3, 1e-2, 1e-1),
    ),
    Response(
        "s2",
        "s2: one flow, GEO, 100 Mbit/s, 510 ms",
        # Much longer than the time between losses. In the 50 s of the scenario the first loss would dominate.
        {"duration": "150 s"},
        "link.downlink.forward.error.rate",
        (1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 1e-2),
        (1e-5, 1e-4, 1e-3, 1e-2),
    ),
)
SHARED = (
    *(("geo", hosts, {"duration": "120 s"}) for hosts in HOSTS),
    # Its file sets the hosts.
    ("s1", Hosts("rfc", {}), {"duration": "60 s"}),
)
"""Scenario, hosts and overrides where it meets `sack`."""
SHARED_REPLICATIONS = 4
TWINS = tuple((scenario, hosts, seconds) for scenario, seconds in (("geo", 300), ("leo", 120)) for hosts in HOSTS)
"""Path and hosts of two flows of the same kind, and the duration in seconds. The second flow begins at 20 s."""
TWINS_FROM_S = 21
TWINS_REPLICATIONS = 3
TWINS_WINDOW_S = 30
"""Time of the comparison of their goodputs."""
EVEN = 0.95
KEPT = ("goodput", "rtt", "retransmitted", "timeouts")
"""Metrics of the two paths."""

Numbers = dict[str, Any]
"""By scenario: metrics with mean and half width of the interval, or of the goodput the same by loss rate."""


def measure(names: Iterable[str]) -> dict[str, Numbers]:
    """All numbers of these senders."""
    names = list(names)
    found: dict[str, Numbers] = {name: {} for name in names}
    for path in PATHS:
        runs = swept(path.scenario, path.sets, {"tcp.cc": names}, path.replications)
        for name in names:
            rows = [row for row in runs if row["tcp.cc"] == name]
            found[name][path.key] = {metric: _known(rows, metric) for metric in KEPT}
    for response in RESPONSES:
        vary = {"tcp.cc": names, response.key: list(response.rates)}
        runs = swept(response.scenario, response.sets, vary, response.replications)
        for name in names:
            found[name][response.scenario] = {
                formatting.exponent(rate): _known(
                    [row for row in runs if row["tcp.cc"] == name and row[response.key] == rate], "goodput"
                )
                for rate in response.rates
            }
    for name in names:
        for scenario, hosts, sets in SHARED:
            if name == REFERENCES[0]:
                continue
            path = bp.load(scenario, hosts.sets | sets)
            mixed = bp.mix(path, [name, REFERENCES[0]], replications=SHARED_REPLICATIONS)
            share, own = mixed.estimate(name, "share"), mixed.estimate_own_ratio(REFERENCES[0])
            found[name][hosts.key(f"shared {scenario}")] = {
                "share": _rounded(share.mean, share.half_width),
                "left": _rounded(own.value, None),
            }
        for scenario, hosts, seconds in TWINS:
            found[name][hosts.key(f"twins {scenario}")] = _twins(name, scenario, hosts, seconds)
    return found


def _twins(name: str, scenario: str, hosts: Hosts, seconds: int) -> dict[str, list[float | None]]:
    """Time until two flows of one kind share evenly, and Jain's index of the last third."""
    after, last = [], []
    second = {"from": "server", "to": "terminal", "start": '{ uniform = ["20 s", "21 s"] }'}
    sets = {f"flow.second.{key}": value for key, value in second.items()}
    sets |= {**hosts.sets, "tcp.cc": name, "duration": f"{seconds} s"}
    for k in range(TWINS_REPLICATIONS):
        result = bp.run(bp.load(scenario, {**sets, "record.interval": "1 s"}), seed=k + 1, series="goodput_bps")
        rates = np.zeros((2, seconds + 1))
        for flow, row in zip(("transfer", "second"), rates, strict=True):
            table = result.series("goodput_bps", flow=flow)
            row[np.round(table["time_s"].to_numpy()).astype(int)] = table["goodput_bps"].to_numpy()
        starts = range(TWINS_FROM_S, seconds - TWINS_WINDOW_S + 1)
        even = [start for start in starts if jain(rates[:, start + 1 : start + 1 + TWINS_WINDOW_S].sum(axis=1)) >= EVEN]
        after.append(even[0] - TWINS_FROM_S if even else np.nan)
        last.append(jain(rates[:, -seconds // 3 :].sum(axis=1)))
    share = estimate(np.array(last), 0.95)
    # With a run that never shares evenly the mean would be too small.
    reached = [float(max(after))] if not np.isnan(after).any() else [None]
    return {"after": _rounded(*reached), "jain": _rounded(share.mean, share.half_width)}


def jain(values: Any) -> float:
    """Jain's index of fairness; 0 if there is nothing to share."""
    return float(values.sum() ** 2 / (len(values) * (values**2).sum())) if values.any() else 0.0


def swept(scenario: str, sets: dict[str, str], vary: dict[str, Any], replications: int) -> list[dict[str, Any]]:
    """The runs of a sweep."""
    return bp.sweep(bp.load(scenario, sets), vary, replications=replications).runs.to_dicts()


def _known(rows: list[dict[str, Any]], metric: str) -> list[float | None]:
    """Mean and half width of the 95 % interval, with six digits."""
    values = np.array([row[METRICS[metric].column] for row in rows], dtype=np.float64)
    found = estimate(values, 0.95)
    return _rounded(found.mean, found.half_width)


def _rounded(*values: float | None) -> list[float | None]:
    return [None if each is None else float(f"{each:.6g}") for each in values]


def draw(name: str, numbers: dict[str, Numbers]) -> None:
    """The figure of one sender: windows above, goodput over loss below."""
    with style():
        figure = sheet(WIDE, 4.2)
        grid = figure.subplots(2, 2)
        for axes, path in zip(grid[0], DRAWN, strict=True):
            _draw_windows(axes, path, name)
        for axes, response in zip(grid[1], RESPONSES, strict=True):
            _draw_response(axes, response, name, numbers)
        plot.save(figure, FIGURES / f"{name}.png", dpi=140)


def _drawn(name: str) -> list[tuple[str, dict[str, Any]]]:
    """The references, then the sender, each with its style."""
    others: list[tuple[str, dict[str, Any]]] = [
        (other, {"color": colour, "linestyle": dashes, "linewidth": 0.9})
        for other, colour, dashes in zip(REFERENCES, ("0.55", "0.7"), ("-", ":"), strict=True)
        if other != name
    ]
    return [*others, (name, {"color": COLOURS[0], "linewidth": 1.1})]


def _draw_windows(axes: Axes, path: Route, name: str) -> None:
    results = {each: window(path, each) for each, _ in _drawn(name)}
    series = {each: result.series("cwnd_bytes") for each, result in results.items()}
    times = {each: (rows["time_s"].to_numpy(), rows["cwnd_bytes"].to_numpy()) for each, rows in series.items()}
    divisor, unit = formatting.scale([float(values.max()) for _, values in times.values() if len(values)], "B")
    for each, look in _drawn(name):
        at, values = _thinned(*times[each])
        axes.plot(at, values / divisor, drawstyle="steps-post", label=each, **look)
    axes.set_title(path.title, loc="left", fontsize=8)
    axes.set_xlabel("Time (s)")
    axes.set_ylabel(label("Congestion window", unit))
    axes.set_xlim(0, results[name].simulated_s)
    axes.set_ylim(bottom=0)
    axes.grid()
    axes.legend(loc="upper right", ncols=3)


def _thinned(times: Any, values: Any) -> tuple[Any, Any]:
    """One of each run of rows that would fall on the same pixel."""
    places = np.round(times / max(times[-1], 1e-9) * 4000) if len(times) else times
    kept = np.append(np.flatnonzero(np.diff(places)), len(places) - 1)
    return times[kept], values[kept]


_windows: dict[tuple[str, str], RunResult] = {}


def window(path: Route, name: str) -> RunResult:
    """The first replication with its window; run once."""
    key = (path.scenario, name)
    if key not in _windows:
        _windows[key] = bp.run(path.load(name), series="cwnd_bytes")
    return _windows[key]


def _draw_response(axes: Axes, response: Response, name: str, numbers: dict[str, Numbers]) -> None:
    for each, look in _drawn(name):
        known = numbers[each][response.scenario]
        means = np.array([known[formatting.exponent(rate)][0] for rate in response.rates], dtype=np.float64) / 1e6
        margins = np.array([known[formatting.exponent(rate)][1] for rate in response.rates], dtype=np.float64) / 1e6
        # The axis is logarithmic: an interval may not reach zero.
        low = np.minimum(margins, 0.9 * means)
        axes.errorbar(response.rates, means, yerr=[low, margins], capsize=2, label=each, **look)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if response.scenario == "s1" else (1,)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.set_title(response.title, loc="left", fontsize=8)
    axes.set_xlabel("Packet loss rate")
    axes.set_ylabel("Goodput (Mbit/s)")
    axes.grid()
    axes.legend(loc="lower left")


def main() -> None:
    """Measure and draw the requested congestion controls."""
    known = [choice["name"] for choice in bp.choices()["cc"]]
    asked = sys.argv[1:]
    if unknown := [name for name in asked if name not in (*known, "all")]:
        raise SystemExit(f"error: no such congestion control: {', '.join(unknown)}\n  known: {', '.join(known)}")
    numbers = kept.load("senders")
    wanted = known if "all" in asked else asked or [name for name in known if name not in numbers]
    for name in wanted:
        numbers[name] = measure([name])[name]
        kept.save("senders", dict(sorted(numbers.items())))
        print(f"{name} measured", flush=True)
    for name in wanted:
        draw(name, numbers)


if __name__ == "__main__":
    kept.begin(__doc__, "NAME")
    main()
