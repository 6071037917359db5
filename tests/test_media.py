"""Links in a medium: tables, series, the parts of the time, and cases that keep their tables."""

import pytest

import bentpipe as bp
from bentpipe import plot
from bentpipe.cli import render_run

SCENARIO = """
duration = "30 s"
[medium.up]
kind = "mf-tdma"
symbol_rate = "1 Mbaud"
carriers = 12
controller = "gateway"
random = { carriers = 1 }
[link.user]
from = "gateway"
to = "terminal{n}"
count = 2
delay = "250 ms"
forward.rate = "20 Mbit/s"
[link.user.reverse]
medium = "up"
es_n0 = "9 dB"
access = { volume_based = true }
[flow.call]
from = "terminal{n}"
to = "gateway"
count = 2
app = { kind = "cbr", rate = "16 bit/s", size = "12 B" }
[record]
series = ["granted_bps", "modcod", "backlog_bytes", "requested_bps"]
interval = "1 s"
"""


@pytest.fixture
def scenario(tmp_path):
    path = tmp_path / "access.toml"
    path.write_text(SCENARIO)
    return bp.load(path)


def test_a_run_has_the_tables_of_its_media(scenario):
    result = bp.run(scenario)
    medium = result.media.row(0, named=True)
    assert medium["medium"] == "up"
    assert medium["granted_bytes"] == medium["used_bytes"] + medium["unused_bytes"]
    assert medium["requests_in_random"] > 0
    assert result.terminals["link"].to_list() == ["user1.reverse", "user2.reverse"]
    assert (result.terminals["grant_wait_mean_s"] > 0.5).all()
    assert result.modcods["modcod"].to_list() == ["QPSK 5/6"]
    assert set(result.series("modcod")["modcod"]) == {7.0}


def test_the_time_of_packets_names_the_wait_for_grants(scenario):
    breakdown = bp.run(scenario).why(flow="call", tries=False)
    flow = breakdown.flows[0]
    (access,) = (part for part in flow.parts if part.part == "access")
    assert access.what == "waiting for grants or frames on user{n}.reverse"
    assert 0.5 < access.time_s < 0.65


def test_a_dead_end_is_noted_by_check_run_and_why(scenario):
    busy = {"flow.call.app": '{ kind = "cbr", rate = "80 kbit/s", size = "200 B" }', "link.user.queue": "10 packets"}
    dead = scenario.with_sets({"link.user.reverse.es_n0": "1 dB", **busy})
    note = 'no waveform of medium "up" fits the signal of "user1.reverse" (and 1 more): it needs 1.22 dB'
    result = bp.run(dead)
    assert set(result.drops["cause"]) == {"no-waveform"}
    for notes in (dead.notes, result.notes, result.why(tries=False).notes):
        assert any(each.startswith(note) for each in notes)


FORWARD = """
duration = "20 s"
[medium.down]
kind = "tdm"
symbol_rate = "1 Mbaud"
[link.user]
from = "gateway"
to = "terminal{n}"
count = 2
delay = "250 ms"
reverse.rate = "1 Mbit/s"
forward = { medium = "down", es_n0 = "13 dB" }
[flow.call]
from = "gateway"
to = "terminal{n}"
count = 2
app = { kind = "poisson", rate = "500 kbit/s", size = "500 B" }
[record]
series = ["granted_bps", "modcod", "backlog_bytes"]
interval = "1 s"
"""


def test_a_run_has_the_tables_of_a_forward_carrier(tmp_path):
    path = tmp_path / "forward.toml"
    path.write_text(FORWARD)
    result = bp.run(bp.load(path))
    medium = result.media.row(0, named=True)
    parts = ("carried_bytes", "header_bytes", "padding_bytes", "plan_bytes")
    assert medium["used_bytes"] == sum(medium[part] for part in parts)
    assert 0.9 < medium["jain"] <= 1
    assert result.terminals["link"].to_list() == ["user1.forward", "user2.forward"]
    assert result.modcods["modcod"].to_list() == ["16APSK 5/6"]
    assert set(result.series("modcod")["modcod"]) == {21.0}
    parts = result.why(flow="call", tries=False).flows[0].parts
    assert 0 < sum(part.time_s for part in parts if part.part == "access") < 0.05


def test_a_bit_rate_is_not_a_symbol_rate(scenario, tmp_path):
    with pytest.raises(bp.errors.ScenarioError, match="45 Mbaud is the symbol rate with this number"):
        bp.load(tmp_path / "access.toml", {"medium.up.symbol_rate": "45 Mbit/s"})


def test_figures_draw_grants_with_units(scenario):
    scenario = scenario.replace("record.interval", "100 ms")
    result = bp.run(scenario, series=plot.choose_panels(scenario))
    labels = [axes.get_ylabel() for axes in result.plot().axes]
    assert labels[-3:-1] == ["Granted (kbit/s)", "Backlog (B)"], "no terminal asks for a rate"
    rates = bp.run(scenario.replace("link.user.reverse.access", {"rate_based": "1 Mbit/s"}))
    assert "Requested (kbit/s)" in [axes.get_ylabel() for axes in rates.plot().axes]


def test_reports_and_terminals_show_the_waits_for_grants(scenario, tmp_path):
    result = bp.run(scenario)
    page = result.report(tmp_path / "page").page.read_text()
    assert "Links in a medium" in page
    assert "wait mean" in page
    assert "wait p95" in result._repr_html_()
    grants = next(iter(render_run._terminals(result.rows("terminals"), show_all=False)))
    assert str(grants.title).strip() == "Grants"
    plain = bp.run("geo", sets={"duration": "1 s"})
    assert "Links in a medium" not in plain.report(tmp_path / "plain").page.read_text()


def test_figures_name_the_modcods_of_a_fading_link(scenario):
    points = [["0 s", "9 dB"], ["10 s", "3 dB"], ["20 s", "9 dB"]]
    fading = scenario.replace("link.user.reverse.es_n0", {"points": points})
    # The last panel has delays.
    axes = bp.run(fading).plot().axes[-2]
    assert axes.get_ylabel() == "MODCOD"
    assert {"QPSK 1/3", "QPSK 5/6"} <= {text.get_text() for text in axes.get_yticklabels()}
    assert "MODCOD" not in [axes.get_ylabel() for axes in bp.run(scenario).plot().axes]


def test_comparisons_have_the_capacity_that_is_not_used(scenario):
    cases = {"asks": {}, "free": {"medium.up.free": "all"}}
    found = bp.compare(scenario, cases=cases, metric="unused,grant_wait_mean", replications=2)
    shares = []
    for seed in found.runs["seed"].unique():
        medium = bp.run(scenario.with_sets(cases["free"]).with_seed(seed)).media.row(0, named=True)
        shares.append(100 * medium["unused_bytes"] / medium["granted_bytes"])
    assert found.estimate("free", "unused").value == pytest.approx(sum(shares) / 2, abs=1e-6)
    assert min(shares) > 90
    waits = [found.estimate(case, "grant_wait_mean").value for case in cases]
    assert waits[0] > 0.5 > 0.03 > waits[1]


def test_a_cell_names_its_waits_and_sees_queues_downwards():
    scenario = bp.load("leo-cell", {"duration": "5 s"})
    result = bp.run(scenario)
    down, up = result.media.to_dicts()
    assert (down["medium"], down["requests_in_control"]) == ("down", 0)
    assert up["requests_in_control"] > 0
    assert result.modcods.height == 0
    waits = dict(zip(result.terminals["link"], result.terminals["grant_wait_p95_s"], strict=True))
    assert waits["user3.forward"] < 2 * 4e-3 / 3 < waits["user3.reverse"]
    flow = bp.run(scenario).why(flow="upload", tries=False).flows[0]
    assert sum(part.time_s for part in flow.parts if part.part == "access") > 0


def test_other_users_come_from_a_file(tmp_path):
    (tmp_path / "users.csv").write_text("time_s,users\n0,0\n2,9\n")
    (tmp_path / "cell.toml").write_text("""
        duration = "4 s"
        [medium.down]
        kind = "leo-cell"
        rate = "36 Mbit/s"
        controller = "satellite"
        others = { file = "users.csv" }
        [link.user]
        from = "satellite"
        to = "home"
        delay = "3 ms"
        forward.medium = "down"
        reverse.rate = "1 Mbit/s"
        [flow.film]
        from = "satellite"
        to = "home"
        app = { kind = "cbr", rate = "50 Mbit/s", size = "1472 B" }
        [record]
        series = ["granted_bps"]
        interval = "1 s"
    """)
    scenario = bp.load(tmp_path / "cell.toml")
    assert scenario.to_dict()["medium"]["down"]["others"] == {"points": [["0 s", 0], ["2 s", 9]]}
    granted = bp.run(scenario).series("granted_bps", link="user.forward")["granted_bps"].to_list()
    assert granted[-3] / granted[-1] == pytest.approx(10, rel=0.02)


@pytest.mark.parametrize(("way", "round_s"), [(0, 0.0), (1, 7 * 4e-3 / 3)])
def test_packets_from_outside_wait_for_windows(tmp_path, way, round_s):
    """A frame at most, after R = 7 frames if they ask: 1 + 3 + 3 with 3 ms each way."""
    (tmp_path / "cell.toml").write_text("""
        duration = "10 s"
        [medium.down]
        kind = "leo-cell"
        rate = "36 Mbit/s"
        controller = "satellite"
        [medium.up]
        kind = "leo-cell"
        rate = "36 Mbit/s"
        controller = "satellite"
        [link.user]
        from = "satellite"
        to = "home"
        delay = "3 ms"
        forward.medium = "down"
        reverse.medium = "up"
        [flow.real]
        from = "satellite"
        to = "home"
        app = "port"
    """)
    net = bp.Network(bp.load(tmp_path / "cell.toml"), seed=1)
    frame_s, waits = 4e-3 / 3, []
    for n in range(50):
        at = 0.1 * (n + 1) + frame_s * ((n * 0.618) % 1)
        net.inject(at, net.ports("real")[way], b"hello")
        net.run_until(at + 0.05)
        (packet,) = net.drain()
        waits.append(packet.at_s - at - 0.003)
    # The packet is in the first slot.
    least = round_s + frame_s / 12
    assert least - 1e-9 <= min(waits) < least + 0.1 * frame_s
    assert least + 0.9 * frame_s < max(waits) <= least + frame_s


CLASSES = {
    "duration": "20 s",
    "medium": {"up": {"kind": "mf-tdma", "symbol_rate": "1 Mbaud", "carriers": 1, "controller": "gateway"}},
    "link": {
        "user": {
            "from": "gateway",
            "to": "home",
            "delay": "250 ms",
            "forward": {"rate": "20 Mbit/s"},
            "reverse": {
                "medium": "up",
                "es_n0": "9 dB",
                "queue": {"kind": "priority", "class": [{}, {"limit": "400 packets"}]},
                "access": {"class": [{"constant": "64 kbit/s"}, {"volume_based": True}]},
            },
        }
    },
    "flow": {
        "call": {"from": "home", "to": "gateway", "app": {"kind": "cbr", "rate": "32 kbit/s", "size": "80 B"}},
        "upload": {"from": "home", "to": "gateway", "class": 1, "app": {"kind": "cbr", "rate": "2 Mbit/s"}},
    },
}


def test_a_dict_is_loaded_and_its_classes_have_delays_in_parts():
    scenario = bp.load(CLASSES)
    result = bp.run(scenario)
    parts = [f"{part}_mean_s" for part in ("asking", "behind", "turn", "sending", "air")]
    row = result.terminals.row(0, named=True)
    sent = result.datagrams["arrived_packets"]
    mean = (result.datagrams["delay_mean_s"] * sent).sum() / sent.sum()
    assert sum(row[part] for part in parts) == pytest.approx(mean, abs=1e-3)
    assert row["grant_wait_mean_s"] == pytest.approx(sum(row[part] for part in parts[:3]))
    calls = result.datagrams.filter(flow="call")
    assert calls["delay_mean_s"][0] < 0.27


def test_terminals_log_on_after_a_reset():
    sets = {"medium.up.log_on": {"resets": ["8 s"]}, "link.user.count": 30, "link.user.to": "home{n}"}
    flows = {"flow.call.from": "home1", "flow.upload.from": "home2"}
    medium = bp.run(bp.load(CLASSES, {**sets, **flows, "medium.up.carriers": 6})).media.row(0, named=True)
    assert medium["log_ons"] == 60
    assert medium["log_on_bursts"] - medium["log_on_lost"] == 60
    # A wait of up to 16 superframes, and R.
    assert 0.55 < medium["log_on_mean_s"] < medium["log_on_max_s"] < 8
