"""Files of `tune --apply`: each line has the grammar of its tool, and `undo.sh` undoes what `apply.sh` does."""

import re
import shutil
import subprocess

import pytest

import bentpipe as bp
from bentpipe.tuning.applying import _shell, script_of, tuned
from bentpipe.tuning.stock import stock_space
from tests.test_tune_runs import SCENARIO

NUMBER = r"\d+(\.\d+)?"
GRAMMAR = [
    r"true",
    r"modprobe tcp_[a-z]+",
    r"sysctl -w net\.ipv4\.tcp_(congestion_control=[a-z]+|ecn=[012]|slow_start_after_idle=[01])",
    r"sysctl -w net\.ipv4\.tcp_[rw]mem='4096 \d+ \d+'",
    r"echo [01] > /sys/module/tcp_cubic/parameters/hystart",
    r'ip route change "\$PREFIX" via "\$GW" dev "\$DEV"'
    rf"( initcwnd \d+ initrwnd \d+| congctl [a-z]+| rto_min {NUMBER}ms)+",
    r'tc qdisc (replace|del) dev "\$DEV" root( fq| handle 1: htb default 10)?',
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
    {"tcp.rto.min": "300 ms"},
    {"tcp.initial_window": "20 segments", "tcp.rto.min": "300 ms"},
    {"tcp.receive_buffer": "4 MB"},
    {"tcp.send_buffer": "4 MB"},
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
    script = script_of(bp.loads(SCENARIO), changes)
    assert script.lines, script.notes
    for line in script.lines:
        for command in (line.do, line.undo):
            assert any(re.fullmatch(form, command) for form in GRAMMAR), command
        assert any(key in line.why for key in changes)
        assert line.node in ("a", "b")


def test_a_node_has_one_line_for_its_route_because_each_change_replaces_all():
    changes = {"tcp.initial_window": "20 segments", "tcp.rto.min": "300 ms", "flow.film.tcp.cc": "bbr1"}
    lines = [line for line in script_of(bp.loads(SCENARIO), changes).lines if line.node == "a" and line.is_route]
    (line,) = lines
    assert line.do.endswith("initcwnd 20 initrwnd 20 rto_min 300ms congctl bbr")
    assert line.undo.endswith("initcwnd 10 initrwnd 10 rto_min 200ms congctl cubic")


def test_a_setting_without_a_command_is_a_note():
    script = script_of(bp.loads(SCENARIO), {"tcp.recovery": "sack", "link.l.forward.interleave": "10 packets"})
    assert script.lines == []
    assert len(script.notes) == 2


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


@pytest.mark.skipif(
    not all(map(shutil.which, ("ip", "tc", "unshare"))) or in_namespace(["true"]).returncode != 0,
    reason="no private network namespace with ip and tc here",
)
@pytest.mark.parametrize("changes", CHANGES, ids=names)
def test_ip_and_tc_accept_each_line_in_a_private_namespace(changes):
    lines = script_of(bp.loads(SCENARIO), changes).lines
    nodes = dict.fromkeys(line.node for line in lines)
    for node in nodes:
        commands = [line.do for line in lines if line.node == node and line.do.startswith(("ip ", "tc "))]
        undone = [line.undo for line in lines if line.node == node and line.undo.startswith(("ip ", "tc "))]
        done = in_namespace(commands)
        if (
            "Unknown tcp congestion" in done.stderr
            or "Unknown qdisc" in done.stderr
            or "Specified qdisc" in done.stderr
            or "No such file" in done.stderr
        ):
            pytest.skip(f"the kernel lacks a module: {done.stderr.strip()}")
        assert done.returncode == 0, done.stderr
        assert in_namespace([*commands, *reversed(undone)]).returncode == 0


@pytest.fixture(scope="module")
def found():
    return bp.tune(bp.loads(SCENARIO))


def test_the_tuned_scenario_is_the_recommended_one_with_its_comments(found, tmp_path):
    text = tuned(found)
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
    script = script_of(bp.loads(text), changes)
    for which, name in (("do", "apply.sh"), ("undo", "undo.sh")):
        (folder / name).write_text(_shell(found, script, which))


def test_names_of_a_scenario_never_reach_the_shell(found, tmp_path):
    text = SCENARIO.replace('"a"', f'"{NASTY}"').replace("[link.l", f'[link."{NASTY}.x"').partition("[tune]")[0]
    text = text.replace("[flow.film]", f'[flow."{NASTY}"]')
    keys = {axis.key: axis.values[-1] for axis in stock_space(bp.loads(text), is_all=False)}
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
    script = script_of(bp.loads(SCENARIO), {"link.l.forward.queue": "2 bdp", "tcp.pacing": "window"})
    assert [line.node for line in script.lines if line.do.endswith("root fq")] == ["b"]
    assert any("at a: no command" in note for note in script.notes)


@pytest.mark.parametrize(
    ("key", "value", "command"),
    [
        ("tcp.initial_window", "20segments", "initcwnd 20 initrwnd 20"),
        ("tcp.initial_window", "rfc5681", "initcwnd 3 initrwnd 3"),
        ("tcp.rto.min", "300ms", "rto_min 300ms"),
        ("tcp.receive_buffer", "4MB", "sysctl -w net.ipv4.tcp_rmem='4096 131072 8060928'"),
    ],
)
def test_amounts_are_read_as_in_scenarios(key, value, command):
    assert bp.loads(SCENARIO, {key: value})
    lines = script_of(bp.loads(SCENARIO), {key: value}).lines
    assert [line.do.endswith(command) for line in lines] == [True, True]


def test_slow_start_has_a_command_for_cubic_only():
    script = script_of(bp.loads(SCENARIO), {"tcp.cc": "hybla", "tcp.slow_start": "standard"})
    assert not any("hystart" in line.do for line in script.lines)
    assert any("tcp.slow_start" in note for note in script.notes)
