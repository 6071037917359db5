"""Clocks that drift, and files that have a quantity twice."""

import json

import numpy as np
import pytest

import bentpipe as bp
from bentpipe.errors import FitError
from bentpipe.fitting import clocks
from bentpipe.fitting.checking import HeldOut
from tests import measurements
from validation import corpus


def delays(drift=0.0, step_s=0.0, count=3000, seed=1):
    """One-way delays of a path of 20 + 15 ms whose clocks drift, and whose way out may become longer."""
    draw = np.random.default_rng(seed)
    at = np.linspace(0, 300, count)
    out = 0.020 + draw.exponential(0.002, count) + drift * at + step_s * (at > 150)
    return at, out, 0.015 + draw.exponential(0.002, count) - drift * at


@pytest.mark.parametrize("ppm", [-40, 20, 100])
def test_a_drift_of_the_clocks_is_found(ppm):
    at, out, back = delays(ppm * 1e-6)
    assert clocks.find_drift(at, out, at, back) == pytest.approx(ppm * 1e-6, abs=1e-6)


def test_a_path_that_becomes_longer_in_one_direction_is_no_drift():
    at, out, back = delays(step_s=0.010)
    assert clocks.find_drift(at, out, at, back) == 0.0
    assert clocks.find_drift(*delays()[:2], *delays()[::2]) == 0.0


def test_delays_of_irtt_have_no_drift_and_are_never_below_zero(tmp_path):
    (tmp_path / "irtt.json").write_text(corpus.irtt(drift=4e-4, offset_s=3.0))
    found = bp.fit(tmp_path / "irtt.json", check=False, held_out=False)
    assert any("drift by 400 ppm" in note for note in found.notes)
    for ways in (found.probes.forward_s, found.probes.reverse_s):
        assert np.nanmin(ways) == pytest.approx(0.015, abs=1e-3)
        first, last = np.nanmin(ways[:100]), np.nanmin(ways[-100:])
        assert first == pytest.approx(last, abs=1e-3)


def test_rows_that_do_not_add_up_to_the_total_of_the_file_differ(tmp_path):
    content = json.loads(measurements.iperf3())
    total = sum(each["sum"]["bytes"] for each in content["intervals"])
    (tmp_path / "ping.txt").write_text(measurements.ping(1500))
    content["end"]["sum_received"] = {"bytes": total, "seconds": 30}
    for bytes_, verdict in ((total, "agrees"), (1.2 * total, "differs")):
        content["end"]["sum_received"]["bytes"] = bytes_
        (tmp_path / "down.json").write_text(json.dumps(content))
        found = bp.fit([tmp_path / "ping.txt", tmp_path / "down.json"])
        (row,) = [each for each in found.check if each.quantity == "bytes forward of down.json"]
        assert row.verdict == verdict
        assert any("total of the file" in said for said in found.statements)
    assert "bytes forward of down.json" in found.verdict


def test_losses_of_a_ping_are_those_of_its_own_summary(tmp_path):
    text = measurements.ping(300, {20, 21, 90})
    (tmp_path / "ping.txt").write_text(text.replace("300 packets transmitted, 297", "300 packets transmitted, 250"))
    found = bp.fit(tmp_path / "ping.txt", held_out=False)
    assert "loss of ping.txt" in found.verdict


def test_the_headline_is_that_of_the_held_out_half(tmp_path):
    """A simulation of the same pings agrees with them also if the path has changed."""
    lines = ["t_s,rtt_ms"]
    draw = np.random.default_rng(3)
    for number in range(12_000):
        level = 30 if number < 6000 else 60
        lines.append(f"{0.05 * number:.3f},{level + draw.exponential(2):.2f}")
    (tmp_path / "ping.csv").write_text("\n".join(lines))
    found = bp.fit(tmp_path / "ping.csv", network="none")
    assert all(each.verdict == "agrees" for each in found.check)
    assert found.verdict == "differs: held-out half"


def test_a_constant_path_has_not_changed():
    band = (0.0354999,) * 6
    half = HeldOut((0.05, 0.25, 0.5, 0.75, 0.95, 0.99), (0.0355001,) * 6, band, band, band, band, 5)
    assert half.inside == 6
    assert not half.has_changed


def test_a_series_of_several_hosts_asks_for_one(tmp_path):
    (tmp_path / "hosts.json").write_text(corpus.flent(4))
    with pytest.raises(FitError, match="round trips of several hosts") as refused:
        bp.fit(tmp_path / "hosts.json", check=False)
    assert '--columns "Ping (ms) ICMP1 host-1=rtt:ms"' in str(refused.value)
    found = bp.fit(tmp_path / "hosts.json", columns={"Ping (ms) ICMP2 host-2": "rtt:ms"}, check=False, held_out=False)
    assert found.by_name["base"].value == pytest.approx(0.120, abs=0.002)
