"""Lines of Linux' tc become scenarios, and scenarios become lines of tc."""

import random
import shutil
import statistics
import subprocess
from itertools import pairwise

import pytest
from click.testing import CliRunner

import bentpipe as bp
from bentpipe.cli.app import app
from bentpipe.errors import BentpipeError
from bentpipe.tc.amounts import read_rate, read_share, read_size, read_time
from bentpipe.tc.chance import compute_correlated, compute_quantiles, make_bursts
from bentpipe.tc.shell import UNKNOWN, read_commands

NETEM = "tc qdisc add dev eth0 root netem "


def cli(*args, **given):
    return CliRunner().invoke(app, list(args), **given)


def direction(lines, name):
    """The keys of one direction of the path. The link has those that are the same in both."""
    link = bp.from_tc(lines).scenario.to_dict()["link"]["path"]
    return {**link, **link.get(name, {})}


def forward(lines):
    """The keys of the direction away from the machine of these lines."""
    return direction(lines, "forward")


def middleboxes(lines, node="netem"):
    return bp.from_tc(lines).scenario.to_dict()["node"][node]["middlebox"]


def test_a_script_is_read_as_a_shell_reads_it():
    script = """#!/bin/sh
IF=eth0   # the device
DELAY_MS=$((250 / 2))
TC="sudo /sbin/tc"
up() {
  local loss=$1
  $TC qdisc add dev $IF root netem \\
      delay ${DELAY_MS}ms loss "${loss:-3}"% rate ${2:-5mbit} 2>/dev/null || true
}
function down { $TC qdisc del dev $IF root; }
case "$1" in
  start) up 2 ;;
  stop) down ;;
esac
for each in 10 20; do echo $each; done
"""
    found = [command for command in read_commands(script, ["start"]) if "/sbin/tc" in command.words]
    wanted = ("delay", "125ms", "loss", "2%", "rate", "5mbit")
    assert found[0].words[1:] == ("qdisc", "add", "dev", "eth0", "root", "netem", *wanted)
    assert found[0].line == 7
    assert found[1].words[1:] == ("qdisc", "del", "dev", "eth0", "root")
    assert ("echo", "10") in [command.words for command in read_commands(script)]


def test_a_value_that_only_a_shell_knows_is_an_error_unless_it_is_given(tmp_path):
    script = tmp_path / "path.sh"
    script.write_text('DEV=$(ip route | head -1)\ntc qdisc add dev "$DEV" root netem delay ${RTT}ms\n')
    assert any(UNKNOWN in word for word in read_commands(script.read_text())[-1].words)
    with pytest.raises(
        BentpipeError, match=r"line 2: the value of \$\{RTT\}ms is not in the script\n  expected it after"
    ):
        bp.from_tc(str(script))
    assert forward(f"{script} RTT=40")["delay"] == "40 ms"


@pytest.mark.parametrize(
    ("read", "word", "value"),
    [
        # tc(8): kbps are bytes, prefixes of rates are powers of 1000 and those of sizes of 1024; bare times are us.
        (read_rate, "20mbit", 20e6),
        (read_rate, "250kbps", 2e6),
        (read_rate, "1kibit", 1024),
        (read_rate, "9600", 9600),
        (read_size, "32kbit", 4096),
        (read_size, "1600", 1600),
        (read_size, "1mb", 2**20),
        (read_time, "100000", 0.1),
        (read_time, "1.5s", 1.5),
        (read_share, "0.3%", 0.003),
        (read_share, "5", 0.05),
    ],
)
def test_amounts_have_the_units_of_tc(read, word, value):
    assert read(word) == pytest.approx(value)


def test_netem_becomes_a_link():
    found = forward(NETEM + "delay 270ms loss 1% rate 20mbit limit 2000")
    # 446 packets of 1514 B are 270 ms at 20 Mbit/s: of the limit, they are under way.
    assert {"rate": "20 Mbit/s", "delay": "270 ms", "queue": "1554 packets"}.items() <= found.items()
    assert found["error"] == {"kind": "packet", "rate": 0.01, "effect": "lose"}
    # Rates of Linux count the Ethernet header.
    assert found["framing"]["overhead"] == "14 B"
    back = direction(NETEM + "delay 270ms", "reverse")
    assert (back["delay"], back["rate"]) == ("0 s", "1 Gbit/s")


def test_bytes_and_cells_of_a_rate_are_framing():
    found = forward(NETEM + "rate 5kbit 20 100 5")["framing"]
    assert (found["overhead"], found["payload"], found["cell"]) == ("34 B", "100 B", "105 B")


def test_gemodel_has_the_complements_of_tc():
    found = forward(NETEM + "loss gemodel 1% 10% 70% 0.1%")["error"]
    assert (found["mean_good"], found["mean_bad"]) == ("100 packets", "10 packets")
    assert (found["rate_good"], found["rate_bad"]) == (0.001, 0.7)
    # Without 1-h and 1-k, all packets of the bad state are lost; without r, losses are independent.
    assert make_bursts("gemodel", (0.01, 0.1, 1.0, 0.0)).rate_bad == 1
    assert forward(NETEM + "loss gemodel 20%")["error"]["mean_bad"] == "1.25 packets"


def test_as_many_packets_are_lost_as_the_chain_of_netem_loses():
    """The share of the stationary chain, against datagrams of a run."""
    content = bp.from_tc(NETEM + "loss gemodel 2% 25% 80% 1%").scenario.to_dict()
    flow = {"from": "server", "to": "client", "app": {"kind": "cbr", "rate": "8 Mbit/s", "size": "972 B"}}
    flows = bp.run({**content, "flow": {"f": flow}, "duration": "100 s"}).flows
    sent = flows["sent_packets"][0]
    lost = sent - flows["arrived_packets"][0]
    bad = 0.02 / (0.02 + 0.25)
    assert sent > 100_000
    assert lost / sent == pytest.approx(bad * 0.8 + (1 - bad) * 0.01, rel=0.05)


def four_states(p13, p31, p32, p23, p14, packets=300_000):
    """The chain of tc-netem(8), word by word: the share of lost packets, and the mean run of states 2 and 3."""
    dice, state, lost, bursts, inside = random.Random(1), 1, 0, 0, 0
    for _ in range(packets):
        draw = dice.random()
        before = state
        if state == 1:
            state = 4 if draw < p14 else 3 if draw < p14 + p13 else 1
        elif state == 2:
            state = 3 if draw < p23 else 2
        elif state == 3:
            state = 2 if draw < p32 else 1 if draw < p32 + p31 else 3
        else:
            state = 1
        lost += state in (3, 4)
        inside += state in (2, 3)
        bursts += state in (2, 3) and before not in (2, 3)
    return lost / packets, inside / bursts


def test_loss_state_keeps_the_share_of_lost_packets_and_the_mean_burst():
    numbers = (0.02, 0.2, 0.1, 0.5, 0.01)
    share, mean = four_states(*numbers)
    found = make_bursts("state", numbers)
    assert found.share == pytest.approx(share, rel=0.04)
    assert found.mean_bad == pytest.approx(mean, rel=0.04)


@pytest.mark.parametrize(("share", "correlation"), [(0.3, 0.25), (0.1, 0.25), (0.5, 0.5)])
def test_correlated_events_are_as_rare_as_the_numbers_of_the_kernel_make_them(share, correlation):
    """Each number of the kernel is a mean of a new one and the one before, which is rarely small."""
    dice, number, events, pairs, before, count = random.Random(2), 0.0, 0, 0, False, 400_000
    for _ in range(count):
        number = (1 - correlation) * dice.random() + correlation * number
        events += number < share
        pairs += before and number < share
        before = number < share
    found, follow = compute_correlated(share, correlation)
    assert found == pytest.approx(events / count, rel=0.05)
    assert follow == pytest.approx(pairs / events, rel=0.08)


def test_a_loss_with_a_correlation_that_loses_nothing_is_named():
    made = bp.from_tc(NETEM + "loss 0.3% 25%")
    assert forward(NETEM + "loss 0.3% 25%")["error"] == {"kind": "none"}
    assert any("practically none" in note for note in made.notes)


def delays(lines):
    """One-way delays of 4,000 datagrams from the machine of the lines, ms."""
    content = bp.from_tc(lines).scenario.to_dict()
    probe = {"kind": "probe", "interval": "5 ms", "size": "100 B"}
    result = bp.run({**content, "flow": {"f": {"from": "server", "to": "client", "app": probe}}, "duration": "21 s"})
    return [1e3 * each for each in result.probes["rtt_s"].drop_nulls()[:4000]]


def test_delays_are_uniform_around_the_delay_and_packets_overtake():
    found = delays(NETEM + "delay 100ms 20ms")
    assert (min(found), max(found)) == (pytest.approx(80, abs=0.3), pytest.approx(120, abs=0.3))
    # The deviation of a uniform distribution is its width over the root of 12, and neighbours are independent.
    assert statistics.pstdev(found) == pytest.approx(40 / 12**0.5, rel=0.03)
    assert abs(statistics.correlation(found[1:], found[:-1])) < 0.05
    assert middleboxes(NETEM + "delay 100ms 20ms")[0]["reorder"] == 1.0


def test_a_delay_below_its_jitter_leaves_a_part_at_once():
    found = delays(NETEM + "delay 10ms 20ms")
    # Uniform from -10 to 30 ms, and negative ones are 0.
    assert sum(each < 0.2 for each in found) / len(found) == pytest.approx(0.25, abs=0.03)


def test_reordered_packets_leave_without_the_delay():
    found = delays(NETEM + "delay 30ms reorder 25%")
    assert sum(each < 1 for each in found) / len(found) == pytest.approx(0.25, abs=0.03)
    # With a gap of 5, four packets with the delay lie between two others, and a quarter of the others leaves early.
    found = delays(NETEM + "delay 30ms reorder 25% gap 5")
    assert sum(each < 1 for each in found) / len(found) == pytest.approx(1 / 8, abs=0.02)


def test_distributions_have_the_mean_and_deviation_of_the_tables_of_tc():
    for name, deviation in (("normal", 1.0), ("paretonormal", 0.9)):
        points = compute_quantiles(name)
        assert points == sorted(points)
        shares = [share / 1000 for share in range(1001)]
        values = [
            next(a + (share - x) / (y - x) * (b - a) for (x, a), (y, b) in pairwise(points) if share <= y)
            for share in shares
        ]
        assert statistics.mean(values) == pytest.approx(0, abs=0.12)
        assert statistics.pstdev(values) == pytest.approx(deviation, abs=0.12)
    found = forward(NETEM + "delay 100ms 20ms distribution normal")
    assert found["jitter"]["delay"]["kind"] == "quantiles"


def test_with_a_rate_packets_keep_their_order():
    found = forward(NETEM + "delay 100ms 20ms rate 10mbit")
    assert found["delay"] == "80 ms"
    assert found["jitter"]["delay"] == {"kind": "uniform", "from": "0 s", "to": "40 ms"}


SCRIPTS = {
    "a bucket, then a delay": (
        "tc qdisc add dev $1 root handle 1:0 tbf rate $2mbit burst 16000 latency 5ms\n"
        "tc qdisc add dev $1 parent 1:1 handle 10: netem delay $3ms loss $4%\n",
        "eth0 20 270 1",
        {"shaper": {"rate": "20 Mbit/s", "burst": "16000 B"}, "delay": "270 ms"},
    ),
    "a delay, then a bucket": (
        "sudo tc qdisc add dev enp3s0 root handle 1: netem delay 40ms\n"
        "sudo tc qdisc add dev enp3s0 parent 1:1 handle 10: tbf rate 768kbit buffer 1600 limit 3000\n",
        "",
        {"shaper": {"rate": "768 kbit/s", "burst": "1600 B"}, "delay": "40 ms", "queue": "3000 B"},
    ),
    "a class with a delay": (
        "tc qdisc add dev wan0 root handle 1: htb default 20\n"
        "tc class add dev wan0 parent 1: classid 1:20 htb rate 3mbit ceil 5mbit\n"
        "tc qdisc add dev wan0 parent 1:20 handle 20: netem limit 15 delay 10ms\n",
        "",
        {"delay": "10 ms", "queue": "10 packets"},
    ),
    "a class of several, by a filter": (
        "tc qdisc add dev eth0 root handle 1: prio\n"
        "tc qdisc add dev eth0 parent 1:3 handle 30: netem delay 500ms\n"
        "tc filter add dev eth0 protocol ip parent 1:0 prio 3 u32 match ip dst 192.0.2.7/32 flowid 1:3\n",
        "",
        {"delay": "500 ms"},
    ),
    "a namespace": (
        "ip netns exec red tc qdisc add dev v0 root netem delay 240ms rate 10mbit\n",
        "",
        {"rate": "10 Mbit/s", "delay": "240 ms"},
    ),
    "another shell": (
        'ssh root@router "tc qdisc replace dev br0 root netem delay 30ms"\n',
        "",
        {"delay": "30 ms"},
    ),
    "defaults of arguments": (
        'tc qdisc replace dev "${1:-eth0}" root netem delay "${2:-300ms}" loss "${3:-0.5%}" rate "${4:-20mbit}"\n',
        "eth1 600ms",
        {"delay": "600 ms", "rate": "20 Mbit/s"},
    ),
    "two branches": (
        "if [ $1 = slow ]; then\n  tc qdisc add dev eth0 root netem delay 90ms\nelse\n"
        "  tc qdisc add dev eth0 root netem delay 9ms\nfi\n",
        "slow",
        {"delay": "90 ms"},
    ),
    "a change": (
        "tc qdisc add dev eth0 root netem delay 50ms\nsleep 9\ntc qdisc change dev eth0 root netem delay 70ms\n",
        "",
        {"delay": "70 ms"},
    ),
    "a queue": (
        "tc qdisc add dev eth0 root handle 1: tbf rate 5mbit burst 5kb latency 50ms\n"
        "tc qdisc add dev eth0 parent 1:1 fq_codel limit 300 target 20ms interval 400ms\n",
        "",
        {"queue": {"kind": "fq-codel", "limit": "300 packets", "target": "20 ms", "interval": "400 ms"}},
    ),
}
"""Forms of public scripts, in other words."""


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_runs_as_it_is(tmp_path, name):
    text, arguments, expected = SCRIPTS[name]
    script = tmp_path / "path.sh"
    script.write_text(text)
    made = bp.from_tc(f"{script} {arguments}")
    found = forward(f"{script} {arguments}")
    for key, value in expected.items():
        if isinstance(value, dict):
            assert value.items() <= found[key].items()
        else:
            assert found[key] == value
    assert bp.run(made.scenario.replace("duration", "3 s")).flows["sent_packets"][0] > 10


def test_arrivals_through_another_device_are_the_way_back():
    redirect = (
        "tc filter add dev eth0 parent ffff: protocol ip u32 match u32 0 0 action mirred egress redirect dev ifb0"
    )
    script = [NETEM + "delay 5ms rate 2mbit", "ip link add ifb0 type ifb", "tc qdisc add dev eth0 handle ffff: ingress"]
    script = "\n".join([*script, redirect, "tc qdisc add dev ifb0 root netem delay 25ms rate 20mbit"])
    for way, rate, delay in (("forward", "2 Mbit/s", "5 ms"), ("reverse", "20 Mbit/s", "25 ms")):
        found = direction(script, way)
        assert (found["rate"], found["delay"]) == (rate, delay)


def test_the_loopback_device_carries_both_directions():
    for way in ("forward", "reverse"):
        assert direction("tc qdisc add dev lo root netem delay 50ms", way)["delay"] == "50 ms"


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (NETEM + "delay 9ms slot 10ms 20ms packets 5", "slot 10ms 20ms packets 5 has no equivalent"),
        (NETEM + "loss 1% ecn", "ecn has no equivalent"),
        (NETEM + "delay 9ms 1ms distribution mine", "distribution mine, read as normal"),
        (
            "tc qdisc add dev eth0 root cake bandwidth 5mbit\n" + NETEM + "delay 1ms",
            "cake bandwidth 5mbit has no equivalent",
        ),
        (
            "tc qdisc add dev eth0 root tbf rate 1mbit burst 5k latency 9ms peakrate 2mbit mtu 1540",
            "peakrate 2mbit has no",
        ),
        (NETEM + "delay 300ms", "drops full packets above 40.4 Mbit/s"),
        (NETEM + "corrupt 1% loss 1%", "corrupted packets count as lost"),
        (NETEM + "delay 1ms\ntc qdisc add dev eth0 root netem delay 2ms", "line 2: line 1 sets the same place"),
    ],
)
def test_a_part_without_an_equivalent_is_named(lines, said):
    notes = bp.from_tc(lines).notes
    assert any(said in note for note in notes), notes
    # Also in the file.
    assert all(f"# - {note}" in bp.from_tc(lines).text for note in notes)


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (NETEM + "delay 100xs", "line 1: 100xs is not a time of tc\n  expected 270ms or 1500us"),
        (NETEM + "dely 100ms", "line 1: 'dely' is not an option of netem\n  expected one of limit, delay"),
        (NETEM + "loss 200%", "200% is not a share of tc\n  expected 0% to 100%"),
        (NETEM + "reorder 5%", "reorder has no effect without a delay"),
        (NETEM + "delay", "delay has no value"),
        ("tc qdisc add dev eth0 root tbf rate 1mbit", "tbf has no rate or no burst"),
        ("tc qdisc show dev eth0", "no line of tc adds a discipline"),
        ("echo 'hello'", "no line of tc was found"),
        ("echo 'hello", "no line of tc was found|a quote ' has no end"),
        ("nosuch.sh", "no file is named 'nosuch.sh'"),
    ],
)
def test_lines_that_tc_refuses_are_refused(lines, said):
    with pytest.raises(BentpipeError, match=said.replace("(", r"\(")):
        bp.from_tc(lines)


def test_init_writes_a_scenario_of_lines(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = cli("init", "mine", "--from-tc", NETEM + "delay 270ms rate 20mbit slot 1ms")
    assert done.exit_code == 0, done.output
    assert "note: line 1: slot 1ms has no equivalent: left out" in done.stderr
    assert bp.load("mine.toml").to_dict()["link"]["path"]["forward"]["delay"] == "270 ms"
    assert bp.run("mine.toml", seed=2).flows["goodput_bps"][0] > 1e6
    done = cli("init", "other", "--from", "geo", "--from-tc", NETEM)
    assert "--from and --from-tc exclude each other" in done.stderr


def test_a_path_as_lines_of_tc_is_the_same_path_again():
    content = {
        "duration": "9 s",
        "link": {
            "path": {
                "from": "a",
                "to": "b",
                "rate": "20 Mbit/s",
                "delay": "270 ms",
                "queue": "100 packets",
                "error": {"kind": "bursts", "mean_loss": 0.02, "mean_burst": "4 packets", "effect": "lose"},
            }
        },
        "flow": {"f": {"from": "a", "to": "b", "app": "greedy"}},
    }
    lines = bp.to_tc(content)
    assert lines.notes == []
    for way in ("forward", "reverse"):
        found = direction(lines.text, way)
        assert found["delay"] == "270 ms"
        assert found["shaper"]["rate"] == "20 Mbit/s"
        assert found["queue"] == f"{100 * 1514} B"
        error = found["error"]
        # Of 196 packets in the good state and 4 in the bad one, 2 % are lost.
        assert float(error["mean_good"].split()[0]) == pytest.approx(196)
        assert error["mean_bad"] == "4 packets"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("starlink", "access.forward: a path in slots"),
        ("victoria-seattle", "routes change during the run"),
        ("london-singapore", "a delay that changes"),
    ],
)
def test_lines_name_what_linux_cannot_express(name, said):
    lines = bp.to_tc(name)
    assert any(said in note for note in lines.notes)
    assert all(f"# - {note}" in lines.text for note in lines.notes)
    assert cli("show", name, "--tc").stdout == lines.text


def test_tc_reads_the_lines():
    """`tc` itself checks the grammar; a kernel without netem then knows no such discipline."""
    if shutil.which("tc") is None or subprocess.run(["unshare", "-rn", "true"], capture_output=True).returncode:
        pytest.skip("no tc, or no private namespaces")
    for queue in ("100 packets", {"kind": "fq-codel", "limit": "300 packets", "target": "30 ms"}, {"kind": "pie"}):
        link = {"from": "a", "to": "b", "rate": "20 Mbit/s", "delay": "27 ms", "queue": queue}
        lines = bp.to_tc(
            {"duration": "9 s", "link": {"l": link}, "flow": {"f": {"from": "a", "to": "b", "app": "greedy"}}}
        )
        for line in lines.text.splitlines():
            if line.startswith("tc "):
                # Each alone at the root.
                words = line.replace('"$DEV"', "lo").replace('"$BACK"', "lo").split()
                place = words.index("handle")
                words[5:place] = ["root"]
                done = subprocess.run(["unshare", "-rn", *words], capture_output=True, text=True)
                assert done.returncode == 0 or "qdisc kind is unknown" in done.stderr, (line, done.stderr)


def test_show_takes_a_flow_with_lines_only():
    assert "--flow has no effect without --tc" in cli("show", "geo", "--flow", "x").stderr
    assert "'x' is not a flow" in cli("show", "geo", "--tc", "--flow", "x").stderr


@pytest.mark.parametrize("delay", ["$()10", "$( )", "``", "$(", "${", "$(("])
def test_an_empty_substitution_is_no_delay(delay):
    with pytest.raises(BentpipeError):
        bp.from_tc(f"tc qdisc add dev eth0 root netem delay {delay}")


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("f() { f; f() { f; f() {f; }; f", "more than 20000 commands"),
        ("f() { f; f; }; f", "more than 20000 commands"),
        ("A=xx\n" + "A=$A$A\n" * 60, "more than 4096 letters"),
    ],
    ids=["nested", "twice", "doubled"],
)
def test_a_script_that_grows_without_end_is_refused(script, said):
    with pytest.raises(BentpipeError, match=said):
        bp.from_tc(f"{script}\ntc qdisc add dev eth0 root netem delay 3ms")


@pytest.mark.parametrize("count", ["²", "9" * 5000, "-1"])
def test_a_shift_by_an_impossible_number_is_one(count):
    script = f"f() {{ shift {count}; tc qdisc add dev eth0 root netem delay $1; }}; f x 30ms"
    assert bp.from_tc(script).scenario.network()["links"]
