"""The stock space of media and of erasure codes."""

import pytest

import bentpipe as bp
from bentpipe.trials.paths import NetworkPaths
from bentpipe.trials.stock import Axis, stock_space
from bentpipe.tuning.script import write_script
from bentpipe.tuning.work import Work

MEDIUM = """
duration = "20 s"
[medium.up]
kind = "mf-tdma"
symbol_rate = "1 Mbaud"
carriers = 3
controller = "gateway"
{random}
[link.user]
from = "gateway"
to = "terminal{{n}}"
count = 4
delay = "250 ms"
forward.rate = "20 Mbit/s"
[link.user.reverse]
medium = "up"
es_n0 = "9 dB"
access = {{ volume_based = true }}
[flow.file]
from = "terminal{{n}}"
to = "gateway"
count = 4
app = {{ kind = "bulk", size = "50 kB", pause = "2 s" }}
[tune]
objective = {{ fct = 1 }}
"""
RANDOM = "random = { carriers = 1 }"
ACCESS = "link.user.reverse.access"


def space_of(text, **sets):
    return Work(bp.loads(text, sets)).space


def test_a_medium_has_its_access_categories_its_free_slots_and_random_access():
    space = space_of(MEDIUM.format(random=RANDOM))
    values = {axis.key: axis.values for axis in space.axes}
    # The least carrier of 9 dB has 1.6 Mbit/s; two of three are without contention, for four terminals.
    rate = bp.loads(MEDIUM.format(random=RANDOM)).network()["links"][1]["rate_bps"]["values"][0]
    assert values[f"{ACCESS}.constant"] == (f"{0.25 * rate / 2:.0f} bit/s", f"{0.9 * rate / 2:.0f} bit/s")
    assert values[f"{ACCESS}.rate_based"] == (f"{rate:.0f} bit/s",)
    # Without any category there is no slot, but with another one there is.
    assert values[f"{ACCESS}.volume_based"] == (False,)
    assert values[f"{ACCESS}.random"] == ("none", "data")
    assert values["medium.up.free"] == ("asking", "all")
    assert "medium.up.random" not in values
    assert "link.user.reverse.queue" in values


def test_without_random_access_the_medium_may_get_it():
    found = stock_space(bp.loads(MEDIUM.format(random="")), is_all=False)
    values = {axis.key: axis.values for axis in found.axes}
    assert values["medium.up.random"] == ({"carriers": 1},)
    assert found.absent[f"{ACCESS}.random"] == "the medium has no random access"


def test_settings_of_a_group_change_all_of_its_links():
    space = space_of(MEDIUM.format(random=RANDOM))
    point = space.make_point(
        {f"{ACCESS}.constant": space.axes[[a.key for a in space.axes].index(f"{ACCESS}.constant")].values[0]}
    )
    changed = bp.loads(MEDIUM.format(random=RANDOM), dict(point.changes)).to_dict()["link"]
    rates = {changed[f"user{number}"]["reverse"]["access"]["constant"] for number in range(1, 5)}
    assert len(rates) == 1
    assert rates != {"0 bit/s"}


def test_the_search_finds_the_access_that_a_short_transfer_needs():
    """Requests cost a round trip to the hub and back; constant slots are there at the begin."""
    text = MEDIUM.format(random=RANDOM) + f'[tune.vary]\n{ACCESS}.constant = ["100 kbit/s", "400 kbit/s"]\n'
    found = bp.tune(bp.loads(text), budget=400, progress=False)
    assert found.verdict == "better"
    assert dict(found.recommended)[f"{ACCESS}.constant"] == "400 kbit/s"
    notes = write_script(found.scenario, dict(found.recommended)).notes
    assert any("set it at the hub" in note for note in notes)


CODED = """
duration = "20 s"
[node.sat]
kind = "bent-pipe"
[link.lan]
from = "server"
to = "gateway"
rate = "100 Mbit/s"
delay = "5 ms"
[link.up]
from = "gateway"
to = "sat"
rate = "10 Mbit/s"
delay = "130 ms"
forward.error = { kind = "packet", rate = 0.02 }
[link.down]
from = "sat"
to = "station"
rate = "10 Mbit/s"
delay = "130 ms"
[link.home]
from = "station"
to = "user"
rate = "100 Mbit/s"
delay = "1 ms"
[flow.file]
from = "server"
to = "user"
app = { kind = "bulk", size = "2 MB", pause = "1 s" }
[tune]
objective = { fct = 1 }
"""
ENCODER, DECODER = ({"kind": "erasure", "role": role, "direction": "to-receiver"} for role in ("encoder", "decoder"))


def test_an_erasure_code_is_around_the_satellite_whose_link_has_errors():
    values = {axis.key: axis.values for axis in stock_space(bp.loads(CODED), is_all=True).axes}
    split = {"kind": "split"}
    assert values["node.gateway.middlebox"] == ([split], [ENCODER], [split, ENCODER])
    assert values["node.station.middlebox"] == ([split], [DECODER], [DECODER, split])
    assert "node.sat.middlebox" not in values
    stock = stock_space(bp.loads(CODED), is_all=False)
    assert "erasure" not in str([axis.values for axis in stock.axes])
    assert stock.absent["node.NAME.middlebox = erasure"] == 'a stock gateway lacks it; space = "all" tries it'


def test_a_code_has_no_place_without_errors_or_without_nodes():
    plain = CODED.replace("forward.error", "#")
    found = stock_space(bp.loads(plain), is_all=True)
    assert found.absent["node.NAME.middlebox = erasure"] == "no link with errors is between two nodes that can code"


def test_both_parts_of_a_code_together_repair_the_losses():
    space = space_of(CODED, **{"tune.space": "all"})
    both = space.make_point({"node.gateway.middlebox": [ENCODER], "node.station.middlebox": [DECODER]})
    runs = [bp.run(bp.loads(CODED, sets), progress=False) for sets in ({}, dict(both.changes))]
    # The coded run sends several times as many packets in the same time: compare shares, not counts.
    without, coded = (run.flows["retransmissions"][0] / run.flows["sent_packets"][0] for run in runs)
    assert coded < without / 3


@pytest.mark.parametrize("key", [f"{ACCESS}.constant", "medium.up.free"])
def test_names_of_settings_of_media_are_words(key):
    axes = {axis.key: axis.what for axis in stock_space(bp.loads(MEDIUM.format(random=RANDOM)), is_all=False).axes}
    assert axes[key] == {"free": "free of up", "constant": "constant access of user.reverse"}[key.rpartition(".")[2]]


FORWARD = """
duration = "20 s"
[medium.down]
kind = "tdm"
symbol_rate = "2 Mbaud"
{modcod}
[link.user]
from = "gateway"
to = "terminal"
delay = "250 ms"
forward = {{ medium = "down", es_n0 = "13 dB" }}
reverse.rate = "1 Mbit/s"
[flow.file]
from = "gateway"
to = "terminal"
app = {{ kind = "bulk", size = "50 kB", pause = "2 s" }}
[tune]
objective = {{ fct = 1 }}
"""


def test_a_forward_carrier_has_its_margin_and_its_turns():
    values = {axis.key: axis.values for axis in space_of(FORWARD.format(modcod="")).axes}
    assert values["medium.down.acm.margin"] == ("0.5 dB", "2 dB")
    assert values["medium.down.share"] == ("time",)
    assert values["medium.down.hold"] == ("0 s", "5 ms", "30 ms")
    constant = stock_space(bp.loads(FORWARD.format(modcod='modcod = "QPSK 1/2"')), is_all=False)
    assert constant.absent["medium.down.acm.margin"] == "it has one MODCOD"


SKY = """
duration = "10 s"
[sky]
over = ["one", "two"]
gateway = ["Madrid"]
between_satellites = "none"
[sky.constellation.one]
over = { geo = -30 }
failure = [{ terminal = "ship", from = "4 s", to = "8 s" }]
user.forward = { medium = "return", es_n0 = "9 dB", access = { rate_based = "2 Mbit/s", volume_based = true } }
user.reverse.rate = "8 Mbit/s"
[sky.constellation.two]
over = { geo = -20 }
user.forward.rate = "15 Mbit/s"
user.forward.queue = "2 bdp"
user.reverse.rate = "100 Mbit/s"
[sky.place.ship]
latitude = 43.6
longitude = -10.0
[medium.return]
kind = "mf-tdma"
symbol_rate = "1.3 Mbaud"
carriers = 4
controller = "Madrid"
random = { carriers = 1 }
[link.internet]
from = "server"
to = "Madrid"
rate = "1 Gbit/s"
delay = "20 ms"
[link.lan]
from = "crew{n}"
to = "ship"
count = 2
rate = "1 Gbit/s"
delay = "1 ms"
[flow.web]
from = "crew{n}"
to = "server"
count = 2
app = "page"
"""


def test_the_space_of_a_sky_has_its_hops_its_media_and_its_gateway():
    """Routes over time count: the second constellation takes over after four seconds."""
    scenario = bp.loads(SKY)
    axes, absent = stock_space(scenario, is_all=False)
    found = {axis.key: axis for axis in axes}
    one, two = (f"sky.constellation.{name}.user" for name in ("one", "two"))
    for key in (one, two):
        assert f"{key}.forward.queue" in found
        assert f"{key}.reverse.queue" in found
    assert {f"{one}.forward.access.rate_based", "medium.return.free", "node.Madrid.middlebox"} <= found.keys()
    assert not {"medium.return", "medium.return one", "link", "node.one.middlebox"} & {*found, *absent}
    # Up and down over a satellite, there and back, and 2 * 21 ms on the ground.
    assert found["tcp.initial_window"].reason == "a round trip takes 550 ms, and slow start needs several"
    assert found[f"{one}.reverse.queue"].reason == "it is the tightest link of its direction, 8 Mbit/s"
    assert found[f"{two}.forward.queue"].what == "queue of two.user.forward"


def test_each_key_of_a_sky_has_its_own_value_and_can_be_set():
    work = Work(bp.loads(SKY + '[tune]\nobjective = { "fct:web" = 1 }\n'))
    axes = {axis.key: axis for axis in work.space.axes}
    assert axes["sky.constellation.two.user.forward.queue"].default == "2 bdp"
    assert axes["sky.constellation.one.user.forward.access.volume_based"].default is True
    point = work.space.make_point({"sky.constellation.two.user.forward.queue": "0.5 bdp", "medium.return.free": "all"})
    assert len(point.changes) == 2
    assert point.digest != work.space.default.digest


@pytest.mark.parametrize(
    ("key", "what"),
    [
        ("link.access.forward.queue", "queue of access.forward"),
        ("link.access.reverse.access.constant", "constant access of access.reverse"),
        ("sky.constellation.vsat.user.forward.access.random", "random access of vsat.user.forward"),
    ],
)
def test_a_link_with_the_name_of_a_setting_is_named(key, what):
    assert Axis(key, ()).what == what


def test_a_middlebox_that_a_node_has_already_is_no_lack_of_a_stock_gateway():
    scenario = bp.load("distance-learning", {"duration": "10 s", "tune.objective": {"fct:slides": 1.0}})
    (proxy,) = [axis for axis in Work(scenario).space.axes if axis.key == "node.satellite.middlebox"]
    assert [[box["kind"] for box in boxes] for boxes in proxy.values] == [["cache", "split"]]
    added = {
        "tune.objective": {"fct:slides": 1.0},
        "tune.vary": {"node.gateway.middlebox": [[{"kind": "cache", "room": "1 MB"}]]},
    }
    with pytest.raises(bp.errors.BentpipeError, match="a stock gateway has no cache"):
        _ = Work(bp.load("distance-learning", added)).space


LINK = """
duration = "60 s"
[link.l]
from = "a"
to = "b"
rate = "8 Mbit/s"
{0}
[flow.f]
from = "a"
to = "b"
[tune]
{1}
"""


def axes_of(link, tune="", *, is_all=False):
    """Return the values of the stock space by key, and the reasons of entries that are left out."""
    space = "all" if is_all else "linux"
    work = Work(bp.loads(LINK.format(link, f'objective = {{ "goodput:f" = 1 }}\nspace = "{space}"\n{tune}')))
    return {axis.key: axis.values for axis in work.space.axes}, work.absent


def test_one_slow_moment_decides_neither_the_queue_nor_the_times_of_its_discipline():
    steady = 'delay = "13 ms"'
    slow = 'delay = { points = [["0 s", "13 ms"], ["30 s", "158.5 ms"], ["30.1 s", "13 ms"]] }'
    known, _ = axes_of(steady)
    found, _ = axes_of(slow)
    key = "link.l.forward.queue"
    assert known[key][:2] == ("0.25 bdp", "0.5 bdp")
    # 26 ms of 8 Mbit/s are 26 kB; 317 ms would be 317 kB.
    assert found[key][:4] == ("6500 B", "13000 B", "26000 B", "52000 B")
    assert found[key][4:] == known[key][-3:]
    assert found[key][-2]["interval"] == "100 ms"
    assert found["tcp.auto_buffer.limit"] == known["tcp.auto_buffer.limit"]


@pytest.mark.parametrize(
    ("link", "tune", "periodic"),
    [
        ('delay = "20 ms"', "", None),
        ('delay = "20 ms"\njitter = { delay = { kind = "exponential", mean = "4 ms" }, every = "20 ms" }', "", None),
        ('delay = "20 ms"\njitter = { delay = { kind = "exponential", mean = "4 ms" }, every = "15 s" }', "", 15),
        ('delay = { points = [["0 s", "13 ms"], ["5 s", "20 ms"]], every = "12 s" }', "", 12),
        ('delay = "20 ms"', 'period = "15 s"', 15),
        ('delay = "20 ms"', 'period = "12 s"', 12),
    ],
)
def test_a_period_of_the_path_is_known_to_the_search(link, tune, periodic):
    found, absent = axes_of(link, tune, is_all=True)
    mine = [each for each in found["tcp.cc"] if "leocc" in str(each)]
    if periodic is None:
        assert mine == []
        assert absent["tcp.cc = leocc, satcp"] == "the path has no periodic steps"
    elif periodic == 15:
        assert mine == ["leocc"]
    else:
        assert mine == [{"kind": "leocc", "period": "12 s", "reallocation": "detected"}]


def test_a_sky_with_the_selection_of_starlink_has_its_period():
    assert NetworkPaths(bp.load("victoria-seattle")).period_s == 15


def test_a_change_that_changes_nothing_is_no_part_of_a_setting():
    """Slow start without HyStart is the default under Westwood+, so both settings are one."""
    text = LINK.format(
        'delay = "20 ms"', 'objective = { "goodput:f" = 1 }\n[tune.vary]\ntcp.slow_start = ["standard"]\n'
    )
    space = Work(bp.loads(text + 'tcp.cc = ["westwood-plus"]\n')).space
    both = space.make_point({"tcp.slow_start": "standard", "tcp.cc": "westwood-plus"})
    alone = space.make_point({"tcp.cc": "westwood-plus"})
    assert both.digest == alone.digest
    assert space.make_point(dict(both.changes)).changes == alone.changes == (("tcp.cc", "westwood-plus"),)
