"""Data files of Flent: series of many streams, windows of senders, probes that stop, and files without round trips."""

import json

import numpy as np
import pytest

import bentpipe as bp
from bentpipe.errors import FitError
from bentpipe.fitting import readers
from bentpipe.fitting.faults import Faults
from bentpipe.fitting.readers.opening import Asked
from tests import measurements

STEP_S, COUNT = 0.2, 300
TIMES = STEP_S * np.arange(COUNT)
PING = "Ping (ms) ICMP"


def write(folder, series, about, **metadata):
    """Write a data file with these series, and return its path."""
    rows = {name: [None if np.isnan(each) else float(each) for each in values] for name, values in series.items()}
    content = {"NAME": "test", "TIME": "2024-11-25T21:43:20Z", "SERIES_META": about, **metadata}
    path = folder / "data.flent"
    path.write_text(json.dumps({"x_values": TIMES.tolist(), "results": rows, "metadata": content}))
    return path


def ping(trip_ms=50.0):
    return trip_ms + np.arange(COUNT) % 5


def read(path):
    faults = Faults()
    found = readers.read(path, None, Asked(), faults)
    faults.refuse()
    return found


def test_numbered_streams_are_summed_over_the_time_of_the_transfer(tmp_path):
    """Eight uploads of 0.5 Mbit/s from 10 to 30 s, each reported every second: the sum of Flent has gaps."""
    series, about = {PING: ping()}, {PING: {"UNITS": "ms"}}
    for stream in range(1, 9):
        values = np.full(COUNT, np.nan)
        values[50 + stream % 5 : 151 : 5] = 0.5
        series[f"TCP upload::{stream}"] = values
        series[f"TCP upload::{stream}::tcp_rtt_var"] = np.full(COUNT, 7.0)
        about[f"TCP upload::{stream}"] = {"UNITS": "Mbits/s", "MEAN_VALUE": 0.5}
    series["TCP upload sum"] = np.nansum([series[f"TCP upload::{each}"] for each in range(1, 9)], axis=0)
    about["TCP upload sum"] = {"UNITS": "Mbits/s"}
    (load,) = read(write(tmp_path, series, about)).loads
    assert load.streams == 8
    total, seconds = load.carried
    assert seconds == pytest.approx(20, abs=1)
    assert 8 * total / seconds == pytest.approx(4e6)
    assert load.rate_bps.mean() == pytest.approx(4e6, rel=0.05)


def test_windows_and_round_trips_of_an_upload_are_read(tmp_path):
    """A window that fills a queue of 100 kB at 4 Mbit/s: 50 ms without load, 250 ms with the full queue."""
    saw = TIMES % 5 / 5
    trips_s = 0.05 + 0.2 * (0.4 + 0.6 * saw)
    state = {"tcp_cwnd": 4e6 / 8 * trips_s / 1500, "tcp_rtt": 1e3 * trips_s}
    series = {PING: ping(), "TCP upload": np.full(COUNT, 4 * 1448 / 1500)}
    series |= {f"TCP upload::{name}": values for name, values in state.items()}
    described = {"UNITS": "Mbits/s", "TCP_MSS": 1448, "CONG_CONTROL": "cubic", "ELAPSED_TIME": STEP_S * COUNT}
    described["BYTES_RECVD"] = 4e6 / 8 * 1448 / 1500 * STEP_S * COUNT
    path = write(tmp_path, series, {PING: {"UNITS": "ms"}, "TCP upload": described})
    found = bp.fit(path, check=False, held_out=False).by_name
    assert found["rate reverse"].kind == "fitted", found["rate reverse"].how
    assert found["rate reverse"].value == pytest.approx(4e6, rel=0.05)
    assert found["queue reverse"].value == pytest.approx(100e3, rel=0.1)
    # Without the bytes of the receiver, the file still has a window, and no word says otherwise.
    del described["BYTES_RECVD"]
    path = write(tmp_path, series, {PING: {"UNITS": "ms"}, "TCP upload": described})
    found = bp.fit(path, check=False, held_out=False).by_name["rate reverse"]
    assert "lacks the bytes of the receiver" in found.how
    assert "no window" not in found.how


def test_probes_of_udp_that_stop_are_of_the_same_host(tmp_path):
    """The load begins after 8 s. The probes of UDP stop then, so their median is that of the path without load."""
    loaded = ping() + np.where(TIMES > 8, 60.0, 0.0)
    udp = np.where(TIMES <= 8, ping(), np.nan)
    series = {PING: loaded, "Ping (ms) UDP BE1": udp, "TCP download": np.full(COUNT, 9.0)}
    about = {name: {"UNITS": "ms"} for name in (PING, "Ping (ms) UDP BE1")} | {"TCP download": {"UNITS": "Mbits/s"}}
    assert len(read(write(tmp_path, series, about)).probes) == 1
    series["Ping (ms) UDP BE1"] = 3 * udp
    with pytest.raises(FitError, match="several hosts"):
        read(write(tmp_path, series, about))


@pytest.mark.parametrize("name", ["TCP upload", "HTTP latency"])
def test_a_test_without_round_trips_is_refused_with_the_command(tmp_path, name):
    path = write(tmp_path, {name: np.full(COUNT, 9.0)}, {name: {"UNITS": "Mbits/s" if "TCP" in name else "ms"}})
    with pytest.raises(FitError, match=r"ping -D -i 0\.01 -c 60000 HOST > ping\.txt"):
        bp.fit(path)


def test_an_assumed_queue_lets_the_transfer_have_its_rate(tmp_path):
    """One bandwidth-delay product of 0.8 Mbit/s and 20 ms is 2 kB, over which TCP loses half of the rate."""
    series = {PING: ping(20.0), "TCP download": np.full(COUNT, 0.8)}
    about = {PING: {"UNITS": "ms"}, "TCP download": {"UNITS": "Mbits/s"}}
    found = bp.fit(write(tmp_path, series, about), held_out=False)
    assert {each.verdict for each in found.check if each.quantity == "goodput forward"} == {"agrees"}
    found.save(tmp_path / "path.toml", draws=0)
    assert "10 full packets" in (tmp_path / "path.toml").read_text()


def test_an_unknown_congestion_control_is_left_out_of_the_simulated_transfer(tmp_path):
    content = measurements.iperf3().replace('"cubic"', '"cubic-sce"')
    (tmp_path / "ping.txt").write_text(measurements.ping())
    (tmp_path / "down.json").write_text(content)
    found = bp.fit([tmp_path / "ping.txt", tmp_path / "down.json"], held_out=False)
    assert any(each.quantity == "goodput forward" for each in found.check)
