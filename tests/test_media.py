"""Links in a medium: tables, series, the parts of the time, and cases that keep their tables."""

import pytest

import bentpipe as bp

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
    access = next(part for part in flow.parts if part.part == "access")
    assert access.what == f"waiting for grants or frames on {access.where}"
    assert access.where.endswith("reverse")
    assert 0.5 < sum(part.time_s for part in flow.parts if part.part == "access") < 0.65


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
