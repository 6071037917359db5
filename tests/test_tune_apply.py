"""Files of `tune --apply`: each line has the grammar of its tool, and `undo.sh` undoes what `apply.sh` does."""

import os
import re
import shutil
import subprocess
import sys

import polars as pl
import pytest

import bentpipe as bp
from bentpipe.trials.amounts import round_value
from bentpipe.trials.linux import TRANSPORT, lack
from bentpipe.trials.stock import stock_space
from bentpipe.tuning.applying import _write_apply, _write_undo, write_tuned
from bentpipe.tuning.script import write_script
from bentpipe.tuning.shaping import Shaping
from tests.test_tune_runs import SCENARIO

NUMBER = r"\d+(\.\d+)?"
GRAMMAR = [
    r"load [a-z]+",
    r"set_sysctl net\.ipv4\.tcp_(congestion_control [a-z]+|ecn [012]|slow_start_after_idle [01])",
    r"set_sysctl net\.ipv4\.tcp_(timestamps|window_scaling|sack) [01]",
    r"set_sysctl net\.ipv4\.tcp_fastopen [0-3]",
    r"set_sysctl net\.ipv4\.tcp_[rw]mem '4096 \d+ \d+'",
    r"set_file /sys/module/tcp_cubic/parameters/hystart [01]",
    r'set_route "\$PREFIX" (initcwnd \d+|congctl [a-z]+|rto_min \d+m?s)',
    r'set_root "\$DEV" (fq( maxrate \d+kbit)?|fq_codel|handle 1: htb default 10)',
    r"add 'ip rule del (fwmark 1 lookup 100)' ip rule add \1",
    r"add 'ip route del (local 0\.0\.0\.0/0 dev lo table 100)' ip route add \1",
    r'command -v pepsal >/dev/null \|\| fail "PEPsal is not installed"',
    r"pepsal -p 5000 >/dev/null 2>&1 & sleep 1; kill -0 \$!; keep kill \$!",
    r"add 'iptables -t mangle -D (PREROUTING -p tcp -m addrtype ! --dst-type LOCAL"
    r" -j TPROXY --on-port 5000 --tproxy-mark 1)' iptables -t mangle -A \1",
    r'tc class add dev "\$DEV" parent 1: classid 1:10 htb rate \d+kbit burst (\d+) cburst \1',
    r'tc qdisc add dev "\$DEV" parent 1:10 handle 10: (pfifo|bfifo) limit \d+',
    r'tc qdisc add dev "\$DEV" parent 1:10 handle 10: (codel|fq_codel) limit \d+'
    rf" target {NUMBER}ms interval {NUMBER}ms( noecn)?",
    rf'tc qdisc add dev "\$DEV" parent 1:10 handle 10: pie limit \d+ target {NUMBER}ms',
]
STEADY = SCENARIO.partition("[tune.condition")[0]
"""The scenario without the condition in which the rate differs."""
CHANGES = [
    {"tcp.cc": "bbr1"},
    {"tcp.cc": "westwood-plus"},
    {"tcp.cc": "sack"},
    {"flow.film.tcp.cc": "hybla"},
    {"tcp.initial_window": "40 segments"},
    {"tcp.slow_start": "standard"},
    {"tcp.pacing": "window"},
    {"tcp.ecn": "classic"},
    {"tcp.idle_restart": False},
    {"tcp.rto.variance_min": "300 ms"},
    {"tcp.initial_window": "20 segments", "tcp.rto.variance_min": "300 ms"},
    {"tcp.receive_buffer": "4 MB"},
    {"tcp.receive_buffer": "2 bdp"},
    {"tcp.auto_buffer.limit": "4 MB"},
    {"tcp.buffers": "raised"},
    {"tcp.send_buffer": "4 MB"},
    {"tcp.auto_send_buffer.limit": "4 MB"},
    {"tcp.pacing": {"kind": "rate", "rate": "1 Mbit/s"}},
    {"tcp.timestamps": False},
    {"tcp.window_scaling": False},
    {"tcp.recovery": "newreno"},
    {"tcp.fast_open": "on"},
    {"node.b.middlebox": [{"kind": "split"}]},
    {"link.l.forward.queue": "2 bdp"},
    {"link.l.forward.queue": "50 packets"},
    {"link.l.forward.queue": {"kind": "codel", "target": "30 ms", "interval": "600 ms"}},
    {"link.l.forward.queue": {"kind": "fq-codel", "target": "30 ms", "interval": "600 ms", "ecn": False}},
    {"link.l.forward.queue": {"kind": "pie", "target": "30 ms"}},
]


def names(changes):
    return " ".join(f"{key}={value}" for key, value in changes.items())


@pytest.mark.parametrize("changes", CHANGES, ids=names)
def test_each_line_has_the_grammar_of_its_tool(changes):
    script = write_script(bp.loads(STEADY), changes)
    assert script.lines, script.notes
    for line in script.lines:
        assert any(re.fullmatch(form, line.do) for form in GRAMMAR), line.do
        assert any(key in line.why for key in changes)
        assert line.node in ("a", "b")


@pytest.mark.parametrize(
    ("key", "value", "why", "instead"),
    [
        ("tcp.cc", "bbr3", "a stock kernel has no bbr3", "bbr1"),
        ("flow.film.tcp.cc", "westwood", "a stock kernel has no westwood", "westwood-plus"),
        ("tcp.cc", "tahoe", "a stock kernel has no tahoe", "cubic"),
        ("tcp.cc", {"kind": "bbr1", "leo": True}, "a stock kernel has no setting for leo of bbr1", '"bbr1"'),
        ("tcp.slow_start", "limited", "a stock kernel has no slow_start limited", "standard or hystart"),
        ("tcp.ecn", "accurate", "a stock kernel has no ecn accurate", "off or classic"),
        ("tcp.recovery", "reno", "a stock kernel has no recovery reno", "newreno or rack"),
        ("tcp.pacing", {"kind": "window", "gain": 2.0}, "has no setting for gain of window", '"window"'),
        ("tcp.rto.min", "300 ms", "a stock kernel has no setting for rto.min", "tcp.rto.variance_min"),
        ("tcp.ack.every", 4, "a stock kernel has no setting for ack.every", "another key"),
        ("link.l.forward.queue", {"kind": "priority"}, "a stock gateway has no queue priority", "fq-codel"),
        ("node.b.middlebox", [{"kind": "snoop"}], "a stock gateway has no snoop", "split"),
        ("node.b.middlebox", [{"kind": "split", "fails_at": "1 s"}], "no setting for fails_at of split", '"split"'),
    ],
)
def test_what_a_stock_system_lacks_is_refused_with_its_remedy(key, value, why, instead):
    found = lack(key, value)
    assert found is not None
    assert why in found.why
    assert instead in found.instead


def test_a_gateway_without_a_middlebox_lacks_nothing():
    assert lack("node.gateway.middlebox", None) is None


def test_a_key_that_a_stock_kernel_has_needs_a_command():
    """Each key that `space = "linux"` permits has a command."""
    values = {
        "cc": ["hybla"],
        "initial_window": ["20 segments"],
        "idle_restart": [True, False],
        "timestamps": [True, False],
        "window_scaling": [True, False],
        "rto.variance_min": ["300 ms"],
        "slow_start": ["standard", "hystart"],
        "pacing": ["off", "window", {"kind": "rate", "rate": "1 Mbit/s"}],
        "ecn": ["off", "classic"],
        "recovery": ["newreno", "rack"],
        "fast_open": ["off", "on"],
        "receive_buffer": ["4 MB", "2 bdp"],
        "send_buffer": ["4 MB", "2 bdp"],
        "buffers": ["stock", "raised"],
        "auto_buffer.limit": ["4 MB"],
        "auto_send_buffer.limit": ["4 MB"],
    }
    assert set(values) == set(TRANSPORT)
    for name, each in values.items():
        for value in each:
            assert lack(f"tcp.{name}", value) is None
            script = write_script(bp.loads(SCENARIO), {f"tcp.{name}": value})
            assert len(script.lines) >= 2, (name, value)
            for line in script.lines:
                assert any(re.fullmatch(form, line.do) for form in GRAMMAR), line.do


def test_a_split_proxy_has_the_transport_of_its_node_and_tcp_only():
    text = SCENARIO.replace('to = "b"\ndelay', 'to = "g"\ndelay')
    text = text.replace(
        "[flow.pages]", '[link.m]\nfrom = "g"\nto = "b"\nrate = "9 Mbit/s"\ndelay = "1 ms"\n\n[flow.pages]'
    )
    scenario = bp.loads(text)
    axes = {axis.key: axis for axis in stock_space(scenario, is_all=False).axes}
    assert axes["node.g.middlebox"].values == ([{"kind": "split"}],)
    script = write_script(scenario, {"tcp.cc": "hybla", "node.g.middlebox": [{"kind": "split"}]})
    assert {line.node for line in script.lines if "congestion_control" in line.do} == {"a", "b", "g"}
    proxy = [line for line in script.lines if "middlebox" in line.why]
    assert {line.node for line in proxy} == {"g"}
    assert [re.sub("add '(\\w+) .*", r"\1", line.do).split()[0] for line in proxy] == [
        "command",
        "ip",
        "ip",
        "pepsal",
        "iptables",
    ]
    assert any("QUIC" in note for note in script.notes)
    # A node that splits already, and a path without a node, have no place for it.
    split = scenario.with_sets([("node.g.middlebox", '[{kind = "split"}]')])
    assert "splits connections already" in stock_space(split, is_all=False).absent["node.g.middlebox"]
    assert "no node between the hosts" in stock_space(bp.loads(SCENARIO), is_all=False).absent["node.NAME.middlebox"]


def test_stock_buffers_are_raised_if_twice_the_path_is_above_them():
    """Linux has 6 MiB to receive, of which 0.625 are a window, and 4 MiB to send."""
    path = '[link.l]\nfrom = "a"\nto = "b"\nrate = "{rate}"\ndelay = "260 ms"\n[flow.f]\nfrom = "a"\nto = "b"\n'

    def space(rate, *sets):
        return stock_space(bp.loads('duration = "9 s"\n' + path.format(rate=rate)).with_sets(sets), is_all=False)

    axes = {axis.key: axis.values for axis in space("100 Mbit/s").axes}
    assert axes["tcp.buffers"] == ("raised",)
    # 6.5 MB of window are 10.4 MB of memory, in steps of 64 KiB.
    assert axes["tcp.auto_buffer.limit"][0] == "10420224 B"
    assert "tcp.buffers" in space("20 Mbit/s").absent
    assert "tcp.buffers" in space("100 Mbit/s", ("tcp.buffers", "raised")).absent
    script = write_script(bp.loads(SCENARIO), {"tcp.buffers": "raised"})
    assert {line.do for line in script.lines} == {
        "set_sysctl net.ipv4.tcp_rmem '4096 131072 67108864'",
        "set_sysctl net.ipv4.tcp_wmem '4096 16384 67108864'",
    }


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("tcp.initial_window", "20 segments", "20 segments"),
        ("tcp.initial_window", "14480 B", "14480 B"),
        ("tcp.initial_window", "10 kB", "7 segments"),
        # Steps of 64 KiB.
        ("tcp.auto_buffer.limit", "4 MB", "4063232 B"),
        ("tcp.auto_buffer.limit", "100 kB", "131072 B"),
        # A window of 100 kB takes 160 kB of the kernel's memory, and 192 KiB in its steps.
        ("tcp.receive_buffer", "100 kB", "122880 B"),
        ("tcp.receive_buffer", "4 MB", "4 MB"),
        ("tcp.auto_send_buffer.limit", "100 kB", "131072 B"),
        ("tcp.rto.variance_min", "300 ms", "300 ms"),
        ("flow.film.tcp.rto.variance_min", "1500 us", "2 ms"),
        ("link.l.forward.queue", "1 bdp", "1 bdp"),
    ],
)
def test_values_are_rounded_to_those_that_the_tool_sets(key, value, expected):
    assert round_value(key, value) == expected
    assert round_value(key, expected) == expected


def test_a_setting_without_a_command_is_a_note():
    text = SCENARIO.replace('kind = "packet", rate = 1e-2', 'kind = "bit", rate = 1e-6')
    changes = {"tcp.recovery": "sack", "link.l.forward.interleave": {"span": "20 ms"}}
    script = write_script(bp.loads(text), {**changes, "link.l.forward.coding": "convolutional"})
    assert script.lines == []
    # 20 ms of 2 Mbit/s are 5 kB, and the packets wait for two blocks.
    assert [note for note in script.notes if "5000 B" in note and "40 ms of delay" in note]
    assert len(script.notes) == 3


DEVICES = """
set -e
sysctl -qw net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1
sysctl -qw net.ipv4.tcp_congestion_control=cubic 2>/dev/null || :
ip link add d0 type veth peer name d1
ip link set d0 up
ip link set d1 up
ip addr add 10.0.0.1/24 dev d0
ip addr add 10.0.0.3/24 dev d0
ip route add default via 10.0.0.2 dev d0 proto dhcp src 10.0.0.3 metric 100 mtu 1400
ip route add 10.9.0.0/16 via 10.0.0.2 dev d0 proto static initcwnd 12 rto_min 250ms
# All namespaces have the same parameters of modules.
echo 1 > hystart
[ ! -e /sys/module/tcp_cubic/parameters/hystart ] || mount --bind hystart /sys/module/tcp_cubic/parameters/hystart
export DEV=d0 SAVED=$PWD/saved
"""
STATE = """
echo STATE
ip route show table all
ip rule show
tc qdisc show
tc class show dev d0
sysctl -a --pattern '^net[.]ipv4[.]tcp_([rw]mem|ecn|sack|fastopen|timestamps|window|slow|congestion)' 2>/dev/null
sysctl net.ipv4.tcp_available_congestion_control
cat hystart
"""
LACKING = ("Specified qdisc kind is unknown", "modprobe", "PEPsal", "iptables", "not permitted")


def in_namespace(commands, folder):
    # Only real root may choose any congestion control.
    user = [] if os.geteuid() == 0 else ["--map-root-user"]
    asked = ["unshare", *user, "--net", "--mount", "sh", "-c", DEVICES + commands]
    return subprocess.run(asked, capture_output=True, text=True, check=False, cwd=folder)


def has_namespaces(folder="/tmp"):
    tools = all(map(shutil.which, ("ip", "tc", "sysctl", "unshare")))
    return tools and in_namespace("", folder).returncode == 0


needs_namespace = pytest.mark.skipif(not has_namespaces(), reason="no private network namespace with ip and tc here")


@needs_namespace
@pytest.mark.parametrize("prefix", ["default", "10.9.0.0/16"])
@pytest.mark.parametrize("changes", CHANGES, ids=names)
def test_undo_restores_what_apply_found_byte_for_byte(changes, prefix, found, tmp_path):
    scripts(STEADY, changes, tmp_path, found)
    nodes = dict.fromkeys(line.node for line in write_script(bp.loads(STEADY), changes).lines)
    for node in nodes:
        commands = f"{STATE} PREFIX={prefix} sh apply.sh {node} {STATE} sh undo.sh {STATE}"
        done = in_namespace(commands, tmp_path)
        if any(each in done.stderr for each in LACKING):
            # A setting that fails leaves nothing behind.
            assert "the host is as before" in done.stderr
            assert not (tmp_path / "saved").exists()
            pytest.skip(f"this system lacks a part: {done.stderr.splitlines()[0]}")
        assert done.returncode == 0, done.stderr
        _, before, changed, after = done.stdout.replace("the host is as before\n", "").split("STATE\n")
        # The machine may have this congestion control already.
        assert changed != before or "tcp.cc" in changes
        assert after == before
        assert not (tmp_path / "saved").exists()


THROUGH = """
net() { readlink "/proc/$1/ns/net"; }
place() { unshare --net sleep 100 & while [ "$(net $!)" = "$(net $$)" ]; do sleep 0.01; done; }
attach() {
    ip link add "$2" type veth peer name p netns "$1"
    ip addr add "$3.1/24" dev "$2"
    ip link set "$2" up
    nsenter -t "$1" -n ip addr add "$3.2/24" dev p
    nsenter -t "$1" -n ip link set p up
    nsenter -t "$1" -n ip route add default via "$3.1"
}
place; client=$!
place; server=$!
trap 'kill $client $server' EXIT
attach $client c 10.1.0
attach $server s 10.2.0
sysctl -qw net.ipv4.ip_forward=1
nsenter -t $server -n "$PYTHON" -m http.server -d served > served.log 2>&1 &
trap "kill $client $server $!" EXIT
reach() { nsenter -t $client -n "$PYTHON" -c 'import socket; socket.create_connection(("10.2.0.2", 8000))'; }
until reach 2> /dev/null; do sleep 0.1; done
download() { nsenter -t $client -n "$PYTHON" -c '
from urllib.request import urlopen
print(urlopen("http://10.2.0.2:8000/bytes", timeout=20).read() == open("served/bytes", "rb").read())'; }
opened() { awk '/^Tcp: [0-9]/ { print $6 }' /proc/net/snmp; }
"""
"""A client and a server on both sides of the host; `opened` is the number of connections that the host has opened."""


@needs_namespace
@pytest.mark.skipif(not shutil.which("pepsal"), reason="PEPsal is not installed")
def test_a_real_proxy_splits_connections_until_it_is_undone(found, tmp_path):
    scripts(STEADY, {"node.b.middlebox": [{"kind": "split"}]}, tmp_path, found)
    (tmp_path / "served").mkdir()
    (tmp_path / "served" / "bytes").write_bytes(os.urandom(5_000_000))
    look = ("download", "opened")
    commands = "\n".join([THROUGH, *look, "sh apply.sh b", *look, "sh undo.sh", *look])
    done = in_namespace(f"PYTHON={sys.executable}\n{commands}", tmp_path)
    assert done.returncode == 0, done.stderr
    said = done.stdout.replace("the host is as before\n", "").split()
    assert said == ["True", "0", "True", "1", "True", "1"]


@needs_namespace
def test_a_route_keeps_the_attributes_that_no_change_is_about(found, tmp_path):
    changes = {"tcp.initial_window": "40 segments", "tcp.rto.variance_min": "1.5 s"}
    scripts(STEADY, changes, tmp_path, found)
    done = in_namespace("PREFIX=default sh apply.sh a\nip route show default\nsh undo.sh", tmp_path)
    assert done.returncode == 0, done.stderr
    route = done.stdout.splitlines()[0].split()
    assert " ".join(route) == (
        "default via 10.0.0.2 dev d0 proto dhcp src 10.0.0.3 metric 100 mtu 1400 initcwnd 40 rto_min lock 1.5s"
    )


@needs_namespace
def test_the_first_error_takes_all_changes_back(found, tmp_path):
    changes = {"tcp.receive_buffer": "4 MB", "tcp.initial_window": "40 segments", "link.l.forward.queue": "50 packets"}
    scripts(STEADY, changes, tmp_path, found)
    refusals = {
        "PREFIX=10.77.0.0/16": "expected one route 10.77.0.0/16",
        "tc qdisc add dev d0 root handle 5: htb; PREFIX=default": "d0 has the queue root handle 5: htb",
    }
    for variable, expected in refusals.items():
        first, _, prefix = variable.rpartition("; ")
        done = in_namespace(f"{first}\n{STATE} {prefix} sh apply.sh a && echo APPLIED; {STATE}", tmp_path)
        _, before, after = done.stdout.split("STATE\n")
        assert expected in done.stderr
        assert after == before
        assert not (tmp_path / "saved").exists()


@needs_namespace
@pytest.mark.parametrize("queue", ["pfifo limit 77", "bfifo limit 9000"])
def test_a_queue_that_somebody_has_set_is_restored(queue, found, tmp_path):
    scripts(STEADY, {"link.l.forward.queue": "50 packets"}, tmp_path, found)
    commands = f"tc qdisc add dev d0 root handle 5: {queue}\n{STATE} sh apply.sh a {STATE} sh undo.sh {STATE}"
    done = in_namespace(commands, tmp_path)
    assert done.returncode == 0, done.stderr
    _, before, changed, after = done.stdout.replace("the host is as before\n", "").split("STATE\n")
    assert "qdisc htb 1: dev d0 root" in changed
    assert after == before


@needs_namespace
def test_settings_are_applied_once(found, tmp_path):
    scripts(STEADY, {"tcp.receive_buffer": "4 MB"}, tmp_path, found)
    done = in_namespace("sh apply.sh a\nsh apply.sh a || sh undo.sh\nsh undo.sh", tmp_path)
    assert "saved exists: run undo.sh first" in done.stderr
    assert "nothing is applied since the last start" in done.stderr


@pytest.fixture(scope="module")
def found():
    return bp.tune(bp.loads(SCENARIO))


def test_the_tuned_scenario_is_the_recommended_one_with_its_comments(found, tmp_path):
    text = write_tuned(found)
    assert bp.loads(text).digest == found.content["recommended"]["digest"] == found.scenario.digest
    assert bp.loads(text).digest != bp.loads(SCENARIO).digest
    for comment in ("# A short path.", "# the hosts"):
        assert comment in text


def test_files_are_shell_and_name_node_and_key(found, tmp_path):
    written = found.apply(tmp_path / "out")
    assert [path.name for path in written.files] == ["tuned.toml", "apply.sh", "undo.sh", "NOTES.md"]
    for name in ("apply.sh", "undo.sh"):
        assert subprocess.run(["sh", "-n", tmp_path / "out" / name], check=False).returncode == 0
    script = tmp_path / "out" / "apply.sh"
    notes = (tmp_path / "out" / "NOTES.md").read_text()
    for key in found.recommended:
        assert key in script.read_text() + notes
    asked = subprocess.run(["sh", script], capture_output=True, text=True, check=False)
    assert "expected the name of a node" in asked.stderr
    unknown = subprocess.run(["sh", script, "nowhere"], capture_output=True, text=True, check=False)
    assert (unknown.returncode, unknown.stderr) == (2, "unknown node nowhere\n")
    # The condition `slow` halves the rate.
    assert "the rate of l.forward varies from 1 to 2 Mbit/s" in notes
    assert "reboot" in notes
    assert "ip tcp_metrics flush" in notes


def test_without_a_recommendation_there_is_nothing_to_apply(tmp_path):
    text = SCENARIO.partition("[tune.vary]")[0]
    found = bp.tune(bp.loads(text), {"tcp.keepalive": ["off", {"kind": "on"}]}, space="all")
    assert found.recommended == {}
    with pytest.raises(bp.errors.BentpipeError, match="no setting is recommended"):
        found.apply(tmp_path / "out")


NASTY = "a'b $(touch PWNED) `touch PWNED` ;touch PWNED # &"


def ran(script, node, folder, **variables):
    """Run a script with stubs of its tools, which print their arguments to `calls`."""
    tools = folder / "tools"
    tools.mkdir(exist_ok=True)
    (folder / "calls").write_text("")
    answers = {
        "ip": 'case "$1 $2" in "-o route") cat route 2>/dev/null || echo "$5 via g dev $DEV";;\n'
        '"route change") shift 2; echo "$@" > route;; esac',
        "tc": "echo qdisc noqueue 0: root refcnt 2",
        "sysctl": '[ "$1" = -n ] && { cat "$2" 2>/dev/null || echo cubic hybla; exit; }\n'
        'value=${2:-$1}; echo "${value#*=}" > "${value%%=*}"',
        "modprobe": "true",
    }
    for name, answer in answers.items():
        (tools / name).write_text(f'#!/bin/sh\necho {name} "$@" >> calls\n{answer}\n')
        (tools / name).chmod(0o755)
    at = {"PATH": f"{tools}:/usr/bin:/bin", "SAVED": str(folder / "saved"), **variables}
    return subprocess.run(["sh", str(script), node], capture_output=True, text=True, check=False, env=at, cwd=folder)


def scripts(text, changes, folder, found):
    """Write the scripts of these changes."""
    script = write_script(bp.loads(text), changes)
    (folder / "apply.sh").write_text(_write_apply(found, script))
    (folder / "undo.sh").write_text(_write_undo(found))


def test_names_of_a_scenario_never_reach_the_shell(found, tmp_path):
    text = SCENARIO.replace('"a"', f'"{NASTY}"').replace("[link.l", f'[link."{NASTY}.x"').partition("[tune]")[0]
    text = text.replace("[flow.film]", f'[flow."{NASTY}"]')
    # This link's errors are those of packets, which a code does not correct.
    axes = [axis for axis in stock_space(bp.loads(text), is_all=False).axes if not axis.key.endswith(("ve", "coding"))]
    keys = {axis.key: axis.values[-1] for axis in axes}
    del keys["tcp.slow_start"]
    assert sum(key.startswith("link.") for key in keys) == 2
    scripts(text, keys, tmp_path, found)
    done = ran(tmp_path / "apply.sh", NASTY, tmp_path, DEV="d0", PREFIX="10.0.0.0/8")
    assert done.returncode == 0, done.stderr
    assert "d0" in (tmp_path / "calls").read_text()
    undone = ran(tmp_path / "undo.sh", "", tmp_path)
    assert undone.returncode == 0, undone.stderr
    assert "d0" in (tmp_path / "calls").read_text()
    assert not (tmp_path / "PWNED").exists()


def test_values_that_apply_finds_never_reach_the_shell(found, tmp_path):
    scripts(STEADY, {"tcp.idle_restart": False}, tmp_path, found)
    (tmp_path / "net.ipv4.tcp_slow_start_after_idle").write_text(NASTY)
    assert ran(tmp_path / "apply.sh", "a", tmp_path).returncode == 0
    assert (tmp_path / "net.ipv4.tcp_slow_start_after_idle").read_text() == "0\n"
    assert ran(tmp_path / "undo.sh", "", tmp_path).returncode == 0
    assert (tmp_path / "net.ipv4.tcp_slow_start_after_idle").read_text().rstrip() == NASTY
    assert not (tmp_path / "PWNED").exists()


def test_a_missing_variable_ends_a_script_before_its_first_command(found, tmp_path):
    scripts(STEADY, {"tcp.cc": "hybla", "tcp.initial_window": "40 segments"}, tmp_path, found)
    done = ran(tmp_path / "apply.sh", "a", tmp_path, DEV="d0")
    assert done.returncode != 0
    assert (tmp_path / "calls").read_text() == ""
    assert "PREFIX: expected the prefix of the route" in done.stderr
    assert "sh apply.sh NODE" in (tmp_path / "apply.sh").read_text()


def test_queues_of_two_links_of_a_node_have_two_devices(found, tmp_path):
    more = '[link.m]\nfrom = "a"\nto = "c"\nrate = "1 Mbit/s"\ndelay = "1 ms"\n\n'
    more += '[flow.more]\nfrom = "a"\nto = "c"\napp = "greedy"\n\n[flow.pages]'
    text = STEADY.replace("[flow.pages]", more)
    scripts(text, {"link.l.forward.queue": "2 bdp", "link.m.queue": "50 packets"}, tmp_path, found)

    def devices(node, **variables):
        (tmp_path / "saved").unlink(missing_ok=True)
        done = ran(tmp_path / "apply.sh", node, tmp_path, **variables)
        added = [line for line in (tmp_path / "calls").read_text().splitlines() if " add " in line]
        return done.returncode, [line.split(" dev ")[1].split()[0] for line in added]

    assert devices("a", DEV="d0", DEV2="d1") == (0, ["d0"] * 3 + ["d1"] * 3)
    code, added = devices("a", DEV="d0")
    assert code != 0
    assert added == []
    # Without a direction, the key is for both.
    assert devices("c", DEV="d0") == (0, ["d0"] * 3)


def test_pacing_and_a_queue_do_not_replace_each_other():
    script = write_script(bp.loads(STEADY), {"link.l.forward.queue": "2 bdp", "tcp.pacing": "window"})
    assert [line.node for line in script.lines if line.do.endswith('"$DEV" fq')] == ["b"]
    assert any("at a: no command" in note for note in script.notes)


@pytest.mark.parametrize(
    ("key", "value", "command"),
    [
        ("tcp.initial_window", "20segments", "initcwnd 20"),
        ("tcp.initial_window", "rfc5681", "initcwnd 3"),
        ("tcp.rto.variance_min", "300ms", "rto_min 300ms"),
        ("tcp.receive_buffer", "4MB", "set_sysctl net.ipv4.tcp_rmem '4096 131072 6422528'"),
    ],
)
def test_amounts_are_read_as_in_scenarios(key, value, command):
    assert bp.loads(SCENARIO, {key: value})
    lines = write_script(bp.loads(SCENARIO), {key: value}).lines
    assert [line.do.endswith(command) for line in lines] == [True, True]


def test_slow_start_has_a_command_for_cubic_only():
    script = write_script(bp.loads(SCENARIO), {"tcp.cc": "hybla", "tcp.slow_start": "standard"})
    assert not any("hystart" in line.do for line in script.lines)
    assert any("tcp.slow_start" in note for note in script.notes)


def test_the_confirmed_setting_has_the_shaper_that_is_applied():
    """A gateway that sends 97 % of the rate carries less than the link, and the runs that confirm show it."""
    text = STEADY.replace('queue = "1 bdp"', 'queue = "20 bdp"').partition("[tune]")[0].replace("1e-2", "0.0")
    scenario = bp.loads(text)
    found = bp.tune(
        scenario, {"link.l.forward.queue": ["20 packets"]}, objective="rtt_p95:film", guard="goodput:film >= -30 %"
    )
    assert found.verdict == "better"
    link = found.scenario.to_dict()["link"]["l"]["forward"]
    assert (link["shaper"]["rate"], link["shaper"]["burst"]) == ("1.94 Mbit/s", "3028 B")
    assert "shaper" in write_tuned(found)
    lines = [line.do for line in write_script(found.default, found.recommended).lines]
    assert any("htb rate 1940kbit burst 3028 cburst 3028" in line for line in lines)
    best = found.runs.filter(pl.col("of") == "best").row(0, named=True)

    def goodput(of):
        flows = bp.run(of.replace("seed", best["seed"])).flows
        return flows.filter(pl.col("flow") == "film")["goodput_bps"][0]

    assert best["goodput:film"] == pytest.approx(goodput(found.scenario))
    assert best["goodput:film"] != pytest.approx(goodput(scenario.replace("link.l.forward.queue", "20 packets")))


@pytest.mark.parametrize(
    ("rate", "said"),
    [
        ('{ every = "1 s", points = [["0 s", "2 Mbit/s"], ["0.9 s", "0 bit/s"]] }', "from 0 to 2 Mbit/s"),
        ('{ points = [["0 s", "85 Mbit/s"], ["1 s", "196 Mbit/s"]] }', "from 85 to 196 Mbit/s"),
    ],
)
def test_a_link_whose_rate_varies_has_no_shaper(rate, said):
    text = STEADY.replace('rate = "2 Mbit/s"', f"rate = {rate}").partition("[tune.vary]")[0]
    changes = {"link.l.forward.queue": {"kind": "fq-codel"}}
    script = write_script(bp.loads(text), changes)
    assert script.lines == []
    assert any(said in note and "no command" in note for note in script.notes)
    assert Shaping(bp.loads(text)).list_implied("link.l.forward.queue", "2 bdp") == []


def test_a_shaper_of_the_scenario_is_applied_as_it_is():
    shaper = 'shaper = { rate = "1.5 Mbit/s", burst = "10 kB" }'
    text = STEADY.replace('queue = "1 bdp"', f'{shaper}\nqueue = "1 bdp"')
    script = write_script(bp.loads(text), {"link.l.forward.queue": "50 packets"})
    assert any("htb rate 1500kbit burst 10000 cburst 10000" in line.do for line in script.lines)
