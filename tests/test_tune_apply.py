"""Files of `tune --apply`: each line has the grammar of its tool, and `undo.sh` undoes what `apply.sh` does."""

import re
import shutil
import subprocess

import pytest

import bentpipe as bp
from bentpipe.trials.amounts import round_value
from bentpipe.trials.linux import TRANSPORT, lack
from bentpipe.trials.stock import stock_space
from bentpipe.tuning.applying import _shell, write_tuned
from bentpipe.tuning.script import write_script
from tests.test_tune_runs import SCENARIO

NUMBER = r"\d+(\.\d+)?"
GRAMMAR = [
    r"true",
    r"modprobe tcp_[a-z]+",
    r"sysctl -w net\.ipv4\.tcp_(congestion_control=[a-z]+|ecn=[012]|slow_start_after_idle=[01])",
    r"sysctl -w net\.ipv4\.tcp_(timestamps|window_scaling|sack)=[01]",
    r"sysctl -w net\.ipv4\.tcp_fastopen=[0-3]",
    r"sysctl -w net\.ipv4\.tcp_[rw]mem='4096 \d+ \d+'",
    r"echo [01] > /sys/module/tcp_cubic/parameters/hystart",
    r'ip route change "\$PREFIX" via "\$GW" dev "\$DEV"'
    r"( initcwnd \d+ initrwnd \d+| congctl [a-z]+| rto_min \d+ms)+",
    r'tc qdisc (replace|del) dev "\$DEV" root( fq( maxrate \d+kbit)?| fq_codel| handle 1: htb default 10)?',
    r"ip rule (add|del) fwmark 1 lookup 100",
    r"ip route (add|del) local 0\.0\.0\.0/0 dev lo table 100",
    r"pepsal -p 5000 >/dev/null 2>&1 & echo \$! > /run/bentpipe-pepsal\.pid",
    r'kill "\$\(cat /run/bentpipe-pepsal\.pid\)"',
    r"iptables -t mangle -[AD] PREROUTING -p tcp -m addrtype ! --dst-type LOCAL"
    r" -j TPROXY --on-port 5000 --tproxy-mark 1",
    r'tc class replace dev "\$DEV" parent 1: classid 1:10 htb rate \d+kbit',
    r'tc qdisc replace dev "\$DEV" parent 1:10 handle 10: (pfifo|bfifo) limit \d+',
    r'tc qdisc replace dev "\$DEV" parent 1:10 handle 10: (codel|fq_codel) limit \d+'
    rf" target {NUMBER}ms interval {NUMBER}ms( noecn)?",
    rf'tc qdisc replace dev "\$DEV" parent 1:10 handle 10: pie limit \d+ target {NUMBER}ms',
]
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
    script = write_script(bp.loads(SCENARIO), changes)
    assert script.lines, script.notes
    for line in script.lines:
        for command in (line.do, line.undo):
            assert any(re.fullmatch(form, command) for form in GRAMMAR), command
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
    assert [line.do.split()[0] for line in proxy] == ["ip", "ip", "pepsal", "iptables"]
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
        "sysctl -w net.ipv4.tcp_rmem='4096 131072 67108864'",
        "sysctl -w net.ipv4.tcp_wmem='4096 16384 67108864'",
    }
    assert {line.undo for line in script.lines} == {
        "sysctl -w net.ipv4.tcp_rmem='4096 131072 6291456'",
        "sysctl -w net.ipv4.tcp_wmem='4096 16384 4194304'",
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


def test_a_node_has_one_line_for_its_route_because_each_change_replaces_all():
    changes = {"tcp.initial_window": "20 segments", "tcp.rto.variance_min": "300 ms", "flow.film.tcp.cc": "bbr1"}
    lines = [line for line in write_script(bp.loads(SCENARIO), changes).lines if line.node == "a" and line.is_route]
    (line,) = lines
    assert line.do.endswith("initcwnd 20 initrwnd 20 rto_min 300ms congctl bbr")
    assert line.undo.endswith("initcwnd 10 initrwnd 10 rto_min 200ms congctl cubic")


def test_a_setting_without_a_command_is_a_note():
    text = SCENARIO.replace('kind = "packet", rate = 1e-2', 'kind = "bit", rate = 1e-6')
    changes = {"tcp.recovery": "sack", "link.l.forward.interleave": {"span": "20 ms"}}
    script = write_script(bp.loads(text), {**changes, "link.l.forward.coding": "convolutional"})
    assert script.lines == []
    # 20 ms of 2 Mbit/s are 5 kB, and the packets wait for two blocks.
    assert [note for note in script.notes if "5000 B" in note and "40 ms of delay" in note]
    assert len(script.notes) == 3


NAMESPACE = ["unshare", "--map-root-user", "--net", "sh", "-c"]
DEVICE = [
    "set -e",
    "ip link add d0 type veth peer name d1",
    "ip link set d0 up",
    "ip addr add 10.0.0.1/24 dev d0",
    "ip route add 10.9.0.0/16 via 10.0.0.2 dev d0",
    "DEV=d0 PREFIX=10.9.0.0/16 GW=10.0.0.2",
]


def in_namespace(commands):
    return subprocess.run([*NAMESPACE, "\n".join([*DEVICE, *commands])], capture_output=True, text=True, check=False)


STATE = ["echo STATE", "ip route show table all", "ip rule show", "tc qdisc show dev d0"]
# Linux's defaults, by its documentation (ip-sysctl.rst): this machine may have others.
KERNEL = {
    "tcp_rmem": "4096 131072 6291456",
    "tcp_wmem": "4096 16384 4194304",
    "tcp_ecn": "2",
    "tcp_sack": "1",
    "tcp_fastopen": "1",
    "tcp_timestamps": "1",
    "tcp_window_scaling": "1",
    "tcp_slow_start_after_idle": "1",
}
TOOLS = ("ip ", "tc ", "sysctl ")
LACKING = ("Unknown tcp congestion", "Unknown qdisc", "Specified qdisc", "No such file", "sysctl: ")
DEFAULTS = r" (init[cr]wnd 10|rto_min( lock)? 200ms|congctl cubic)"
"""Values of the scenario, which the route has after `undo.sh`."""


@pytest.mark.skipif(
    not all(map(shutil.which, ("ip", "tc", "unshare"))) or in_namespace(["true"]).returncode != 0,
    reason="no private network namespace with ip and tc here",
)
@pytest.mark.parametrize("changes", CHANGES, ids=names)
def test_the_tools_accept_each_line_in_a_private_namespace_and_undo_restores_its_state(changes):
    lines = write_script(bp.loads(SCENARIO), changes).lines
    for node in dict.fromkeys(line.node for line in lines):
        mine = [line for line in lines if line.node == node and line.do.startswith(TOOLS)]
        # A private namespace may not choose any congestion control.
        mine = [line for line in mine if "tcp_congestion_control" not in line.do]
        if not mine:
            continue
        do, undo = [line.do for line in mine], [line.undo for line in reversed(mine) if line.undo != "true"]
        done = in_namespace(do)
        if any(each in done.stderr for each in LACKING):
            pytest.skip(f"the kernel lacks a module or setting: {done.stderr.strip()}")
        assert done.returncode == 0, done.stderr
        settings = dict.fromkeys(each.split()[2].partition("=")[0] for each in do if each.startswith("sysctl "))
        state = [*STATE, *(f"sysctl {name}" for name in settings)]
        do, undo = ([f"{each} >/dev/null" for each in commands] for commands in (do, undo))
        known = [f"sysctl -w {name}='{KERNEL[name.rpartition('.')[2]]}' >/dev/null" for name in settings]
        states = in_namespace([*known, *state, *do, *state, *undo, *state])
        assert states.returncode == 0, states.stderr
        _, before, changed, after = states.stdout.split("STATE\n")
        assert changed != before
        assert re.sub(DEFAULTS, "", after).split() == before.split()


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
        script = tmp_path / "out" / name
        assert subprocess.run(["sh", "-n", script], check=False).returncode == 0
        for key in found.recommended:
            assert key in script.read_text()
        asked = subprocess.run(["sh", script], capture_output=True, text=True, check=False)
        assert "expected the name of a node" in asked.stderr
        unknown = subprocess.run(["sh", script, "nowhere"], capture_output=True, text=True, check=False)
        assert (unknown.returncode, unknown.stderr) == (2, "unknown node nowhere\n")
    assert "97 %" in (tmp_path / "out" / "NOTES.md").read_text()


def test_without_a_recommendation_there_is_nothing_to_apply(tmp_path):
    text = SCENARIO.partition("[tune.vary]")[0]
    found = bp.tune(bp.loads(text), {"tcp.keepalive": ["off", {"kind": "on"}]}, space="all")
    assert found.recommended == {}
    with pytest.raises(bp.errors.BentpipeError, match="no setting is recommended"):
        found.apply(tmp_path / "out")


NASTY = "a'b $(touch PWNED) `touch PWNED` ;touch PWNED # &"


def ran(script, node, folder, **variables):
    """Run a script with stubs of its tools, which print their arguments."""
    tools = folder / "tools"
    tools.mkdir(exist_ok=True)
    for name in ("tc", "ip", "sysctl", "modprobe"):
        (tools / name).write_text(f'#!/bin/sh\necho {name} "$@"\n')
        (tools / name).chmod(0o755)
    at = {"PATH": f"{tools}:/usr/bin:/bin", **variables}
    asked = ["sh", str(script), node]
    return subprocess.run(asked, capture_output=True, text=True, check=False, env=at, cwd=folder)


def scripts(text, changes, folder, found):
    """Write the scripts of these changes."""
    script = write_script(bp.loads(text), changes)
    for which, name in (("do", "apply.sh"), ("undo", "undo.sh")):
        (folder / name).write_text(_shell(found, script, which))


def test_names_of_a_scenario_never_reach_the_shell(found, tmp_path):
    text = SCENARIO.replace('"a"', f'"{NASTY}"').replace("[link.l", f'[link."{NASTY}.x"').partition("[tune]")[0]
    text = text.replace("[flow.film]", f'[flow."{NASTY}"]')
    # This link's errors are those of packets, which a code does not correct.
    axes = [axis for axis in stock_space(bp.loads(text), is_all=False).axes if not axis.key.endswith(("ve", "coding"))]
    keys = {axis.key: axis.values[-1] for axis in axes}
    del keys["tcp.slow_start"]
    assert sum(key.startswith("link.") for key in keys) == 2
    scripts(text, keys, tmp_path, found)
    for name in ("apply.sh", "undo.sh"):
        done = ran(tmp_path / name, NASTY, tmp_path, DEV="d0", PREFIX="10.0.0.0/8", GW="10.0.0.1")
        assert done.returncode == 0, done.stderr
        assert "d0" in done.stdout
    assert not (tmp_path / "PWNED").exists()


def test_a_missing_variable_ends_a_script_before_its_first_command(found, tmp_path):
    scripts(SCENARIO, {"tcp.cc": "hybla", "tcp.initial_window": "40 segments"}, tmp_path, found)
    for name in ("apply.sh", "undo.sh"):
        done = ran(tmp_path / name, "a", tmp_path, DEV="d0", GW="10.0.0.1")
        assert done.returncode != 0
        assert done.stdout == ""
        assert "PREFIX: expected the prefix of the route" in done.stderr
        assert f"sh {name} NODE" in (tmp_path / name).read_text()


def test_queues_of_two_links_of_a_node_have_two_devices(found, tmp_path):
    more = '[link.m]\nfrom = "a"\nto = "c"\nrate = "1 Mbit/s"\ndelay = "1 ms"\n\n'
    more += '[flow.more]\nfrom = "a"\nto = "c"\napp = "greedy"\n\n[flow.pages]'
    text = SCENARIO.replace("[flow.pages]", more)
    scripts(text, {"link.l.forward.queue": "2 bdp", "link.m.queue": "50 packets"}, tmp_path, found)
    done = ran(tmp_path / "apply.sh", "a", tmp_path, DEV="d0", DEV2="d1")
    assert (done.stdout.count("d0"), done.stdout.count("d1")) == (3, 3)
    assert ran(tmp_path / "undo.sh", "a", tmp_path, DEV="d0").returncode != 0
    # Without a direction, the key is for both.
    assert ran(tmp_path / "apply.sh", "c", tmp_path, DEV="d0").stdout.count("d0") == 3


def test_pacing_and_a_queue_do_not_replace_each_other():
    script = write_script(bp.loads(SCENARIO), {"link.l.forward.queue": "2 bdp", "tcp.pacing": "window"})
    assert [line.node for line in script.lines if line.do.endswith("root fq")] == ["b"]
    assert any("at a: no command" in note for note in script.notes)


@pytest.mark.parametrize(
    ("key", "value", "command"),
    [
        ("tcp.initial_window", "20segments", "initcwnd 20 initrwnd 20"),
        ("tcp.initial_window", "rfc5681", "initcwnd 3 initrwnd 3"),
        ("tcp.rto.variance_min", "300ms", "rto_min 300ms"),
        ("tcp.receive_buffer", "4MB", "sysctl -w net.ipv4.tcp_rmem='4096 131072 6422528'"),
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
