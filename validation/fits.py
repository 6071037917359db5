"""Measures how well `bentpipe fit` recovers paths.

    python -m validation.fits known             # 12 simulated paths with known parameters
    python -m validation.fits traces FOLDER     # recorded traces: starlink/ and oneweb/ of a folder

Simulated paths are measured as real ones: a ping of 100 s, then a transfer of 60 s with the state of its sender. Real
traces are compared with a simulated ping, and their second half with draws from the first.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

import bentpipe as bp

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
            for share, ours, drawn in zip(held.share, held.measured, held.drawn, strict=True):
                apart = f"{drawn / ours - 1:+.0%}"
                print(f"    p{100 * share:g}: second half {1e3 * ours:.1f} ms, drawn {1e3 * drawn:.1f} ms ({apart})")


def main() -> None:
    """Fit measurements with known truth, or recorded traces."""
    match sys.argv[1:]:
        case ["known"]:
            known()
        case ["traces", folder]:
            traces(Path(folder))
        case _:
            raise SystemExit("error: expected a part: python -m validation.fits known, or traces FOLDER")


if __name__ == "__main__":
    main()
