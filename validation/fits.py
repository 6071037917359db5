"""Measures how well `bentpipe fit` recovers paths.

    python -m validation.fits known             # 12 simulated paths with known parameters
    python -m validation.fits traces FOLDER     # recorded traces: starlink/ and oneweb/ of a folder
    python -m validation.fits interleaved FOLDER  # recorded traces: halves of time, of odd slots, and of random slots
    python -m validation.fits halves FOLDER     # recorded transfers: the second half predicted from the first
    python -m validation.fits captures          # captures of the simulated paths beside the tables of their runs
    python -m validation.fits emulated          # a known path with real programs; needs network namespaces

Simulated paths are measured as real ones: a ping of 100 s, then a transfer of 60 s with the state of its sender. Real
traces are compared with a simulated ping, and their second half with draws from the first.
"""

from __future__ import annotations

import json
import lzma
import re
import shutil
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

import bentpipe as bp
from bentpipe.emulation.emulate import whole
from bentpipe.fitting.checking import QUANTILES
from bentpipe.fitting.slots import PLAIN_S, SAMPLES_MIN
from validation import kept

if TYPE_CHECKING:
    from bentpipe.fitting.measured import Probes
    from bentpipe.fitting.slots import Slots

PING_S, INTERVAL_S, TRANSFER_S, STEP_S = 100.0, 0.01, 60.0, 0.1
MSS = 1448


@dataclass(frozen=True)
class Truth:
    """Parameters of a simulated path."""

    rate_mbps: float
    rtt_ms: float
    queue_bdp: float
    error: str = '"none"'
    loss: float = 0.0
    cc: str = "cubic"

    @property
    def queue_bytes(self) -> float:
        return self.queue_bdp * self.rate_mbps * 1e6 * self.rtt_ms * 1e-3 / 8

    def scenario(self, flow: str, duration_s: float) -> str:
        return f"""
duration = "{duration_s:g} s"
[tcp]
cc = "{self.cc}"
[link.path]
from = "server"
to = "terminal"
delay = "{self.rtt_ms / 2:g} ms"
[link.path.forward]
rate = "{self.rate_mbps:g} Mbit/s"
queue = "{self.queue_bytes:.0f} B"
error = {self.error}
[link.path.reverse]
rate = "{self.rate_mbps:g} Mbit/s"
[flow.{flow}]
from = "server"
to = "terminal"
"""


def gilbert(good_s: float, bad_ms: float, rate_bad: float) -> tuple[str, float]:
    """Return an error model and its loss ratio."""
    text = (
        f'{{ kind = "gilbert-elliott", mean_good = "{good_s:g} s", mean_bad = "{bad_ms:g} ms",'
        f" rate_bad = {rate_bad:g} }}"
    )
    return text, rate_bad * bad_ms / (1e3 * good_s + bad_ms)


PATHS = (
    Truth(5, 30, 1),
    Truth(20, 50, 1),
    Truth(100, 40, 1),
    Truth(20, 550, 1),
    Truth(10, 600, 0.5),
    Truth(50, 100, 2),
    Truth(20, 50, 1, '{ kind = "packet", rate = 0.001 }', 0.001),
    Truth(50, 40, 1, '{ kind = "packet", rate = 0.01 }', 0.01),
    Truth(20, 550, 1, '{ kind = "packet", rate = 0.0005 }', 0.0005),
    Truth(30, 45, 1, *gilbert(5, 100, 0.5)),
    Truth(100, 40, 1, *gilbert(10, 50, 1.0)),
    Truth(20, 550, 1, *gilbert(8, 80, 0.6)),
)


def measure(truth: Truth, folder: Path, seed: int) -> list[Path]:
    """Write the records of a ping and of a transfer over a path."""
    probe = f'app = {{ kind = "probe", interval = "{INTERVAL_S:g} s", count = {int(PING_S / INTERVAL_S)} }}\n'
    ping = bp.run(bp.loads(truth.scenario("ping", PING_S + 3) + probe), seed=seed).tables["probes"]
    rows = ping.filter(pl.col("outcome") != "under-way").select(
        t_send_s=pl.col("sent_s"), seq=pl.col("number"), rtt_ms=1e3 * pl.col("rtt_s")
    )
    rows.write_csv(folder / "ping.csv")
    series = ["cwnd_bytes", "srtt_s", "goodput_bps"]
    recorded = {"record": {"series": series, "interval": f"{STEP_S:g} s"}}
    transfer = bp.loads(truth.scenario("transfer", TRANSFER_S) + 'app = "greedy"\n', recorded_sets(recorded))
    (folder / "iperf3.json").write_text(json.dumps(iperf3(bp.run(transfer, seed=seed), truth.cc)))
    return [folder / "ping.csv", folder / "iperf3.json"]


def recorded_sets(content: dict[str, dict[str, object]]) -> dict[str, object]:
    """Return the overrides that record series."""
    return {f"record.{key}": value for key, value in content["record"].items()}


def iperf3(result: bp.RunResult, cc: str) -> dict[str, object]:
    """Return a transfer in the form of `iperf3 -J -R --get-server-output`."""

    def at(name: str, times: np.ndarray) -> np.ndarray:
        table = result.series(name)
        places = np.searchsorted(table["time_s"].to_numpy(), times, side="right") - 1
        return table[name].to_numpy()[np.maximum(places, 0)]

    ends = np.arange(1, int(TRANSFER_S / STEP_S) + 1) * STEP_S
    values = zip(ends, at("cwnd_bytes", ends), at("srtt_s", ends), at("goodput_bps", ends), strict=True)
    intervals = [
        {
            "streams": [{"snd_cwnd": int(cwnd), "rtt": int(1e6 * srtt)}],
            "sum": {"start": end - STEP_S, "end": end, "seconds": STEP_S, "bytes": rate * STEP_S / 8},
        }
        for end, cwnd, srtt, rate in values
    ]
    test = {"protocol": "TCP", "reverse": 1}
    end = {"sender_tcp_congestion": cc}
    start, server = {"test_start": test, "tcp_mss_default": MSS}, {"intervals": intervals}
    return {"start": start, "intervals": intervals, "end": end, "server_output_json": server}


def known() -> None:
    """Fit the simulated paths, and count what holds."""
    counts = {"base": 0, "rate": 0, "queue": 0, "loss": 0}
    for seed, truth in enumerate(PATHS, 1):
        with tempfile.TemporaryDirectory() as folder:
            found = bp.fit(measure(truth, Path(folder), seed), held_out=False)
        numbers = found.by_name
        rate, queue, loss = numbers["rate forward"], numbers.get("queue forward"), numbers["loss"]
        errors = {
            "base": numbers["base"].value / (truth.rtt_ms / 1e3) - 1,
            "rate": rate.value / (truth.rate_mbps * 1e6) - 1,
            "queue": queue.value / truth.queue_bytes - 1 if queue else None,
        }
        is_bound = rate.kind == "lower bound"
        holds = {
            "base": abs(errors["base"]) <= 0.01,
            "rate": errors["rate"] <= 0.02 if is_bound else abs(errors["rate"]) <= 0.02,
            "queue": is_bound or (errors["queue"] is not None and abs(errors["queue"]) <= 0.4),
            "loss": loss.low <= truth.loss <= loss.high,
        }
        for name, value in holds.items():
            counts[name] += value
        shown = ", ".join("-" if value is None else f"{name} {value:+.1%}" for name, value in errors.items())
        model = found.losses.kind if found.losses else "-"
        print(
            f"{truth.rate_mbps:g} Mbit/s, {truth.rtt_ms:g} ms, {truth.queue_bdp:g} bdp: {shown}{' (bound)' * is_bound}"
        )
        print(f"  loss {truth.loss:.2g} in {loss.low:.2g} to {loss.high:.2g} ({model}); {found.verdict}; {holds}")
    print({name: f"{count} of {len(PATHS)}" for name, count in counts.items()})


def traces(folder: Path) -> None:
    """Fit each recorded trace with its quantiles beside the simulation and the held-out half."""
    for path in sorted([*(folder / "starlink").glob("*"), *(folder / "oneweb").glob("*")]):
        begun = time.process_time()
        try:
            found = bp.fit(path)
        except bp.errors.FitError as error:
            print(f"{path.name}: {str(error).splitlines()[0]}")
            continue
        print(f"\n{path.name}: {time.process_time() - begun:.1f} s CPU")
        for each in found.numbers:
            if each.kind != "assumed":
                print(f"  {each.name}: {each.text if each.value is not None else '-'}; {each.how}")
        for said in found.statements:
            print(f"  {said}")
        if found.held_out is not None:
            held = found.held_out
            for share, ours, drawn, first in zip(held.share, held.measured, held.drawn, held.first, strict=True):
                print(
                    f"    p{100 * share:g}: second half {1e3 * ours:.1f} ms; first half {1e3 * first:.1f} ms"
                    f" ({first / ours - 1:+.0%}), drawn {1e3 * drawn:.1f} ms ({drawn / ours - 1:+.0%})"
                )


SPLITS, DRAWN = 60, 60
"""Random halves of a trace, and draws from each."""
TAIL = QUANTILES.index(0.95)
THIN = 20_000
"""Probes of a trace that are enough for quantiles of random halves."""


def interleaved(folder: Path) -> None:
    """Tell a path that changes with time from a wrong model, by the 95 % quantile of each trace.

    Halves of odd and even slots, and of random slots, are of the same time. Draws from one predict the other if the
    model is right. Halves of time that differ more than random ones are those of a path that changed.
    """
    for path in sorted([*(folder / "starlink").glob("*"), *(folder / "oneweb").glob("*")]):
        try:
            found = bp.fit(path, check=False)
        except bp.errors.FitError:
            continue
        if found.probes is None or found.held_out is None:
            continue
        slots = _whole(found.probes, found.slots)
        middle = len(slots) // 2
        random = np.random.default_rng(1)
        held = found.held_out
        print(f"{path.name}: {len(slots)} slots")
        first, drawn, second = (each[TAIL] for each in (held.first, held.drawn, held.measured))
        of_time = abs(np.log(_tails(slots[:middle]) / _tails(slots[-middle:])))
        print(f"  halves of time: data {first / second - 1:+.0%}, drawn {drawn / second - 1:+.0%}")
        for name, one, other in (("even", slots[::2], slots[1::2]), ("odd", slots[1::2], slots[::2])):
            drawn = np.median([_tails(_drawn(one, random)) for _ in range(DRAWN)])
            data, draws = (float(each / _tails(other) - 1) for each in (_tails(one), drawn))
            print(f"  {name} slots for the others: data {data:+.0%}, drawn {draws:+.0%}")
        apart, own, inside = [], [], []
        for _ in range(SPLITS):
            order = [slots[at] for at in random.permutation(len(slots))]
            one, other = order[:middle], order[middle : 2 * middle]
            drawn_of = [_tails(_drawn(one, random)) for _ in range(DRAWN)]
            bands = np.quantile([_tails(_drawn(_drawn(one, random), random)) for _ in range(DRAWN)], (0.025, 0.975))
            apart.append(abs(float(np.log(_tails(one) / _tails(other)))))
            own.append(float(np.median(drawn_of) / _tails(one) - 1))
            inside.append(bands[0] <= _tails(other) <= bands[1])
        print(
            f"  random halves: data {np.expm1(np.median(apart)):.0%} apart in the median, as far as those of time in"
            f" {np.mean(np.array(apart) >= of_time):.0%}, {np.mean(inside):.0%} in the band\n"
            f"  drawn from a half, beside it: {np.mean(own):+.1%}"
        )


def _whole(probes: Probes, slots: Slots) -> list[np.ndarray]:
    """Return the round trips of whole slots; without a period, of equal slots over the whole trace."""
    answered = probes.cut(~probes.is_lost)
    edges = slots.edges_s[1:-1]
    if slots.period_s is None:
        edges = np.linspace(probes.send_s[0], probes.send_s[-1], round(probes.duration_s / PLAIN_S) + 1)
    parts = np.split(answered.rtt_s, np.searchsorted(answered.send_s, edges))[1:-1]
    thin = max(1, len(answered.rtt_s) // THIN)
    return [each[::thin] for each in parts if len(each) >= SAMPLES_MIN]


def _drawn(slots: list[np.ndarray], random: np.random.Generator) -> list[np.ndarray]:
    return [slots[at] for at in random.integers(len(slots), size=len(slots))]


def _tails(slots: list[np.ndarray]) -> float:
    return float(np.quantile(np.concatenate(slots), QUANTILES[TAIL]))


def halves(folder: Path) -> None:
    """Predict the goodput of the second half of each recorded transfer from a fit of the first, of the same hour."""
    for path in sorted((folder / "starlink").glob("*tcp*.csv.xz")):
        head, *rows = lzma.decompress(path.read_bytes()).decode().splitlines()
        middle, place = len(rows) // 2, head.split(",").index("bytes")
        with tempfile.TemporaryDirectory() as place_of:
            first = Path(place_of) / path.name.removesuffix(".xz")
            first.write_text("\n".join([head, *rows[:middle]]))
            try:
                found = bp.fit(first, check=False, held_out=False)
            except bp.errors.FitError as error:
                print(f"{path.name}: {str(error).splitlines()[0]}")
                continue
        spans = [float(row.split(",")[head.split(",").index("interval_s")]) for row in rows]
        sizes = [float(row.split(",")[place]) for row in rows]
        ours = [8e-6 * sum(sizes[part]) / sum(spans[part]) for part in (slice(middle), slice(middle, None))]
        scenario = found.scenario.with_sets({"duration": f"{sum(spans[middle:]):.0f} s"})
        theirs = [bp.run(scenario, seed=seed).flows["goodput_bps"].sum() / 1e6 for seed in range(1, 6)]
        mean = sum(theirs) / len(theirs)
        print(f"{path.name}: {sum(spans):.0f} s; halves {ours[0]:.2f} and {ours[1]:.2f} Mbit/s")
        among = f"{min(theirs):.2f} to {max(theirs):.2f}"
        print(f"  second half predicted {mean:.2f} Mbit/s ({mean / ours[1] - 1:+.0%}; {among})")


def captures() -> None:
    """Read captures of simulated transfers, and compare them with the tables of the runs."""
    worst = {"goodput": 0.0, "retransmissions": 0.0, "base": 0.0, "queue": 0.0}
    series = {"record.series": ["srtt_s"], "record.interval": f"{STEP_S:g} s"}
    for seed, truth in enumerate(PATHS, 1):
        with tempfile.TemporaryDirectory() as folder:
            transfer = bp.loads(truth.scenario("transfer", TRANSFER_S) + 'app = "greedy"\n', series)
            run = bp.run(transfer, seed=seed, pcap=Path(folder) / "run.pcapng")
            ends = [Path(folder) / f"run-{end}.pcapng" for end in ("server", "terminal")]
            found, of_both = bp.fit(ends[0], check=False), bp.fit(ends, check=False)
        load, flow = found.loads[0], run.flows.row(0, named=True)
        rate = 8 * load.bytes.sum() / load.interval_s.sum()
        trip_s, queue = float(np.nanmedian(load.srtt_s)), found.by_name.get("queue forward")
        errors = {
            "goodput": rate / flow["goodput_bps"] - 1,
            "retransmissions": load.retransmits.sum() / max(flow["retransmissions"], 1) - 1,
            "base": found.by_name["base"].value / (truth.rtt_ms / 1e3) - 1,
            "queue": queue.value / truth.queue_bytes - 1 if queue and queue.kind == "fitted" else np.nan,
            "median smoothed round trip": trip_s / run.series("srtt_s")["srtt_s"].median() - 1,
        }
        shown = ", ".join(f"{name} {value:+.1%}" for name, value in errors.items())
        fitted = found.by_name["rate forward"]
        drops = dict(run.drops.select("where", "packets").iter_rows())
        counts = of_both.loads[0]
        print(
            f"both ends: lost {counts.lost.sum() - counts.dropped.sum():.0f} + {counts.dropped.sum():.0f} in the queue,"
            f" truth {drops.get('terminal', 0)} + {drops.get('path.forward', 0)};"
            f" base {of_both.by_name['base'].value / (truth.rtt_ms / 1e3) - 1:+.2%}"
        )
        print(f"{truth.rate_mbps:g} Mbit/s, {truth.rtt_ms:g} ms: {shown}; rate {fitted.text} [{fitted.kind}]")
        worst = {name: float(np.fmax(value, abs(errors[name]))) for name, value in worst.items()}
    print("largest: " + ", ".join(f"{name} {value:.1%}" for name, value in worst.items()))


EMULATED = (
    Truth(20, 50, 1),
    Truth(10, 100, 2),
    Truth(20, 50, 1, '{ kind = "packet", rate = 0.005 }', 0.005),
    Truth(20, 60, 1, *gilbert(3, 100, 0.5)),
)
"""Paths of real programs."""
PROGRAMS = ("ping", "iperf3")
PINGS, REAL_S = 6000, 40
MEASURING = """
ping -D -q -i 0.01 -c 1 server > /dev/null
ping -D -i 0.01 -c {pings} server > ping.txt
iperf3 -c server -R -J -i 0.1 -t {seconds} > down.json
"""


def emulated() -> None:
    """Measure paths with real programs and the kernel's TCP, and count the parameters that the fit recovers."""
    if missing := [name for name in PROGRAMS if shutil.which(name) is None]:
        raise SystemExit(f"error: expected the programs {' and '.join(missing)}")
    for seed, truth in enumerate(EMULATED, 1):
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            scenario = bp.loads(truth.scenario("real", PINGS / 100 * 1.5 + REAL_S + 20) + 'app = "port"\n')
            (folder / "measure.sh").write_text(MEASURING.format(pings=PINGS, seconds=REAL_S))
            found = bp.emulate(
                scenario,
                ["sh", "-ec", f"cd {folder} && . ./measure.sh"],
                serve=["sh", "-c", f"iperf3 -s -1 -J -i 0.1 > {folder}/server.json"],
                seed=seed,
                pcap=folder / "run.pcapng",
                cc=truth.cc,
                quiet=True,
            )
            whole(found)
            print(f"{truth.rate_mbps:g} Mbit/s, {truth.rtt_ms:g} ms, {truth.queue_bdp:g} bdp, loss {truth.loss:.2g}")
            print(f"  {found.trust.sentence}")
            fitted = bp.fit([folder / "ping.txt", folder / "run-server.pcapng"], held_out=False)
            recovered(truth, fitted)


def recovered(truth: Truth, found: bp.Fit) -> None:
    """Print each parameter beside its truth."""
    truths = {
        "base": truth.rtt_ms / 1e3,
        "loss": truth.loss,
        "rate forward": truth.rate_mbps * 1e6,
        "queue forward": truth.queue_bytes,
    }
    for name, size in (("mean_good", 1.0), ("mean_bad", 1e-3), ("rate_bad", 1.0)):
        if found_in := re.search(rf'{name} = "?([\d.]+)', truth.error):
            truths[name] = size * float(found_in[1])
    for name, value in truths.items():
        number = found.by_name.get(name)
        if number is None or number.value is None:
            print(f"  {name}: -, truth {value:.4g}")
            continue
        within = f"1 %: {abs(number.value / value - 1) <= 0.01}" if name == "base" else "-"
        if number.low is not None and name != "base":
            within = str(number.low <= value <= (number.high if number.high is not None else np.inf))
        apart = f" ({number.value / value - 1:+.1%})" if value else ""
        print(f"  {name}: {number.text} [{number.kind}], truth {value:.4g}{apart}, within: {within}")
    print(f"  {found.verdict}")
    for said in found.statements:
        print(f"    {said}")


def main() -> None:
    """Fit measurements with known truth, or recorded traces."""
    match sys.argv[1:]:
        case ["known"]:
            known()
        case ["captures"]:
            captures()
        case ["emulated"]:
            emulated()
        case ["halves", folder]:
            halves(Path(folder))
        case ["interleaved", folder]:
            interleaved(Path(folder))
        case ["traces", folder]:
            traces(Path(folder))
        case _:
            parts = "known, captures, emulated, traces FOLDER, interleaved FOLDER or halves FOLDER"
            raise SystemExit(f"error: expected a part: python -m validation.fits {parts}")


if __name__ == "__main__":
    kept.begin(__doc__, "COMMAND")
    main()
