"""Custom middleboxes in Python."""

import os
import random
import re
import subprocess
import sys
import textwrap
from itertools import pairwise
from pathlib import Path

import pytest

import bentpipe as bp
from bentpipe.errors import ScenarioError, SenderError
from bentpipe.own.middlebox import HOOKS
from bentpipe.scenario.overrides import case_sets

SCENARIO = """
title = "A gateway between two hops"
duration = "10 s"
seed = 3
[tcp]
like = "rfc"
cc = "sack"
processing = "0 s"
[link.fast]
from = "a"
to = "gateway"
rate = "20 Mbit/s"
delay = "5 ms"
[link.slow]
from = "gateway"
to = "b"
rate = "4 Mbit/s"
delay = "50 ms"
queue = "60 packets"
[flow.one]
from = "a"
to = "b"
[flow.voice]
from = "a"
to = "b"
app = { kind = "cbr", size = "200 B", rate = "64 kbit/s" }
"""

SHED = """
import bentpipe as bp

MOST = 20

class Shed(bp.Middlebox):
    def on_packet(self, packet):
        if packet.is_to_receiver and self.queue_packets > MOST:
            self.drop()
"""


@pytest.fixture
def scenario():
    return bp.loads(SCENARIO)


@pytest.fixture
def shed(tmp_path):
    (tmp_path / "shed.py").write_text(SHED)
    return f"{tmp_path / 'shed.py'}:Shed"


class Plain(bp.Middlebox):
    """Sees each packet and does nothing."""

    def on_packet(self, packet):
        pass


def at_gateway(scenario, middlebox, **options):
    return bp.run(scenario, middlebox={"gateway": middlebox}, **options)


def policy(result):
    """Packets that a function dropped."""
    return sum(row["packets"] for row in result.drops.to_dicts() if row["cause"] == "policy")


def same(one, other):
    return all(getattr(one, table).equals(getattr(other, table)) for table in ("flows", "links", "drops", "summary"))


def test_one_that_does_nothing_changes_nothing(scenario):
    assert same(at_gateway(scenario, Plain), bp.run(scenario))


def test_packets_say_what_a_node_can_read(scenario):
    seen = {"one": [], "voice": []}

    class Reads(bp.Middlebox):
        def __init__(self):
            assert self.node == "gateway"

        def on_packet(self, packet):
            assert packet.is_to_sender is not packet.is_to_receiver
            seen[packet.flow].append(
                (packet.is_to_sender, packet.size, packet.payload, packet.seq, packet.ack, packet.connection)
            )
            assert packet.is_datagram is (packet.flow == "voice")
            if packet.is_datagram:
                assert (packet.seq, packet.ack, packet.window, packet.sack) == (None, None, None, [])
            else:
                assert packet.window > 0
                assert packet.is_bare_ack is (packet.is_to_sender and not packet.is_syn)
            assert not any((packet.is_fin, packet.is_rst, packet.is_ect, packet.is_ce))

    result = at_gateway(scenario, Reads)
    data = [each for each in seen["one"] if not each[0] and each[2] > 0]
    acks = [each for each in seen["one"] if each[0]]
    assert data[1][3] == data[0][3] + data[0][2], "sequence numbers count bytes"
    # The first answers the SYN.
    assert acks[1][4] > data[0][3]
    assert {each[1:3] for each in seen["voice"]} == {(228, 200)}
    assert len({each[5] for each in seen["one"]}) == 1, "a connection is one in both directions"
    assert seen["one"][0][5] != seen["voice"][0][5]
    assert result.summary["sent_packets"][0] >= len(seen["one"]) + len(seen["voice"])


def test_a_sack_block_can_be_read(scenario):
    blocks = []

    class Holes(bp.Middlebox):
        count = 0

        def on_packet(self, packet):
            if packet.payload > 1000:
                self.count += 1
                if self.count == 50:
                    self.drop()
            if packet.sack:
                blocks.append((packet.ack, packet.sack))

    at_gateway(scenario, Holes)
    ack, ((first, end), *_) = blocks[0]
    assert ack < first < end


def every(nth, what):
    class Every(bp.Middlebox):
        def __init__(self):
            self.count = 0

        def on_packet(self, packet):
            if packet.flow == "voice":
                self.count += 1
                if self.count % nth == 0:
                    what(self, packet)

    return Every


def test_what_is_dropped_is_lost_for_this_reason(scenario):
    plain = bp.run(scenario, middlebox={"gateway": every(4, lambda box, packet: None)})
    result = at_gateway(scenario, every(4, lambda box, packet: box.drop()))
    # 64 kbit/s of 200 bytes: 40 a second.
    assert policy(plain) == 0
    assert policy(result) == pytest.approx(100, abs=1)
    assert {row["where"] for row in result.drops.to_dicts() if row["cause"] == "policy"} == {"gateway"}


def test_what_is_consumed_counts_as_delivered_and_does_not_arrive(scenario):
    calls = []

    def consume(box, packet):
        calls.append(box.now_s)
        box.consume()

    class After(bp.Middlebox):
        def on_packet(self, packet):
            assert packet.flow != "voice"

    result = bp.run(scenario, middlebox={"gateway": [every(1, consume), After]})
    assert len(calls) == pytest.approx(400, abs=2)
    assert policy(result) == 0
    summary = result.summary.to_dicts()[0]
    total = summary["delivered_packets"] + summary["lost_packets"] + summary["in_flight_packets"]
    assert summary["sent_packets"] == total


def test_what_is_sent_back_comes_to_where_it_came_from(scenario):
    met = []

    class Back(bp.Middlebox):
        def on_packet(self, packet):
            if packet.flow == "voice":
                if packet.is_to_receiver:
                    self.send_back()
                else:
                    raise AssertionError("it turns round behind this function")

    class Before(bp.Middlebox):
        def on_packet(self, packet):
            if packet.flow == "voice":
                met.append(packet.is_to_sender)

    bp.run(scenario, middlebox={"gateway": [Before, Back]})
    assert met[:4] == [False, True, False, True]


def test_a_delayed_packet_goes_on_later_and_a_held_one_when_it_is_released(scenario):
    came = {}

    def wait(box, packet):
        came[len(came)] = box.now_s
        box.delay(0.25)

    gone = []

    class After(bp.Middlebox):
        def on_packet(self, packet):
            if packet.flow == "voice":
                gone.append(self.now_s)

    bp.run(scenario, middlebox={"gateway": [every(1, wait), After]})
    assert len(gone) > 300
    assert all(later == pytest.approx(came[at] + 0.25, abs=1e-12) for at, later in enumerate(gone))

    class Pairs(bp.Middlebox):
        """Lets each two go together, by the timer, the second one first."""

        def __init__(self):
            self.waiting = []
            self.set_timer(0.1)

        def on_packet(self, packet):
            if packet.flow == "voice":
                self.waiting.append(self.hold())

        def on_timer(self):
            for handle in reversed(self.waiting):
                self.release(handle)
            self.waiting = []
            self.set_timer(self.now_s + 0.1)

    gone.clear()
    bp.run(scenario, middlebox={"gateway": [Pairs, After]})
    assert len(gone) > 300
    assert len({round(at, 9) for at in gone}) < 101
    assert all(at == pytest.approx(round(at, 1), abs=1e-9) for at in gone)


def test_a_held_packet_may_be_discarded_and_what_is_never_let_go_is_in_flight(scenario):
    class Keeps(bp.Middlebox):
        last = None

        def on_packet(self, packet):
            if packet.flow == "voice":
                if self.last is not None:
                    self.discard(self.last)
                self.last = self.hold()

    result = at_gateway(scenario, Keeps)
    assert policy(result) == pytest.approx(399, abs=2)
    assert result.summary["in_flight_packets"][0] >= 1

    class AtOnce(bp.Middlebox):
        def on_packet(self, packet):
            handle = self.hold()
            self.release(handle)

    assert same(at_gateway(scenario, AtOnce), bp.run(scenario))


def test_a_copy_sets_out_too(scenario):
    met = []

    class After(bp.Middlebox):
        def on_packet(self, packet):
            if packet.flow == "voice":
                met.append(self.now_s)

    bp.run(scenario, middlebox={"gateway": [every(2, lambda box, packet: box.duplicate()), After]})
    again = sum(one == other for one, other in pairwise(met))
    assert again == pytest.approx(200, abs=2)


def test_an_advertised_window_can_be_made_smaller(scenario):
    class Window(bp.Middlebox):
        def on_packet(self, packet):
            if packet.window is not None and packet.is_to_sender and not packet.is_syn:
                packet.window = min(packet.window, 1)
                assert packet.window <= 1

    limited, free = at_gateway(scenario, Window), bp.run(scenario)
    assert limited.flows["goodput_bps"][0] < 0.9 * free.flows["goodput_bps"][0]
    assert limited.flows["goodput_bps"][0] > 0


def test_a_mark_reduces_the_window_of_who_supports_ecn(scenario):
    marked = []

    class Marks(bp.Middlebox):
        def on_packet(self, packet):
            if packet.is_to_receiver and self.queue_packets > 10:
                marked.append(packet.mark_ce())
                assert packet.is_ce is marked[-1]

    result = at_gateway(scenario, Marks)
    assert not any(marked), "without ECN nothing is marked"
    marked.clear()
    result = at_gateway(scenario.replace("tcp.ecn", "classic"), Marks)
    assert any(marked)
    assert result.flows["ecn_reductions"][0] > 0


def test_an_end_can_be_asked_for_smaller_segments(scenario):
    sizes = []

    class Small(bp.Middlebox):
        is_asked = False

        def on_packet(self, packet):
            if packet.flow == "one" and packet.is_to_receiver:
                if packet.payload and not self.is_asked:
                    self.is_asked = True
                    self.segment_size(500)
                sizes.append((self.now_s, packet.payload))

    at_gateway(scenario, Small)
    assert max(size for at, size in sizes if at < 1) > 1000
    assert max(size for at, size in sizes if at > 5) <= 500


def test_a_timer_comes_when_asked_for_and_can_be_stopped(scenario):
    rung = []

    class Rings(bp.Middlebox):
        def __init__(self):
            self.set_timer(1.5)

        def on_timer(self):
            rung.append(self.now_s)
            if len(rung) == 1:
                self.set_timer(2.5)
                self.set_timer(4)
            elif len(rung) == 2:
                self.set_timer(5)
                self.set_timer(None)

    at_gateway(scenario, Rings)
    assert rung == [1.5, 4.0]


def test_it_does_what_the_same_function_in_rust_does(scenario):
    """`impair` with these settings holds back every packet to the receiver for 30 ms."""
    rust = scenario.replace(
        "node.gateway.middlebox",
        [{"kind": "impair", "reorder": 1.0, "hold": "30 ms", "direction": "to-receiver"}],
    )

    class Holds(bp.Middlebox):
        def on_packet(self, packet):
            if packet.is_to_receiver:
                self.delay(0.03)

    assert same(at_gateway(scenario, Holds), bp.run(rust))
    assert not same(bp.run(scenario), bp.run(rust))


class Chance(bp.Middlebox):
    def __init__(self):
        self.random = random.Random(self.seed)

    def on_packet(self, packet):
        if self.random.random() < 0.01:
            self.drop()


def test_equal_seeds_give_equal_results_and_each_place_has_a_seed_of_its_own(scenario):
    one, other = at_gateway(scenario, Chance), at_gateway(scenario, Chance)
    assert policy(one) > 10
    assert same(one, other)
    assert not same(one, at_gateway(scenario, Chance, seed=4))
    seeds = []

    class Tells(bp.Middlebox):
        def __init__(self):
            seeds.append((self.node, self.seed))

    bp.run(scenario, middlebox={"gateway": [Tells, Tells], "a": Tells})
    assert [node for node, _ in seeds] == ["a", "gateway", "gateway"]
    assert len({seed for _, seed in seeds}) == 3


def test_it_stands_behind_those_that_the_node_has(scenario):
    with_one = scenario.replace("node.gateway.middlebox", [{"kind": "impair"}])
    result = bp.run(with_one, middlebox={"gateway": [Plain, {"kind": "ack-filter"}]})
    kinds = {node["node"]: node["middleboxes"] for node in result.scenario.network()["nodes"]}
    assert kinds["gateway"] == ["impair", "own", "ack-filter"]


def test_a_class_stands_wherever_a_table_does(scenario, shed):
    direct = at_gateway(scenario, shed)
    assert policy(direct) > 0
    for value in (shed, [shed], f'["{shed}"]'):
        assert same(bp.run(scenario.replace("node.gateway.middlebox", value)), direct)
    comparison = bp.compare(
        scenario, cases={"plain": {}, "shed": {"node.gateway.middlebox": [shed]}}, replications=2, jobs=1
    )
    assert comparison.names == ("plain", "shed")

    class Own(bp.Middlebox):
        name = "mine"

    content = scenario.to_dict() | {"node": {"gateway": {"middlebox": [Own]}}}
    resolved = bp.Scenario(content).to_dict()["node"]["gateway"]["middlebox"]
    assert [(each["kind"], each["name"]) for each in resolved] == [("own", "mine")]


def test_a_file_cannot_bring_code(tmp_path, shed):
    text = SCENARIO + '[node.gateway]\nmiddlebox = [{ kind = "own", name = "Shed" }]\n'
    with pytest.raises(ScenarioError) as error:
        bp.loads(text)
    assert 'node.gateway.middlebox.0.name = "Shed" is a custom middlebox without its class' in str(error.value)
    assert "FILE.py:CLASS" in str(error.value)
    with pytest.raises(ScenarioError):
        bp.loads(SCENARIO + f'[node.gateway]\nmiddlebox = ["{shed}"]\n')


def test_what_is_no_function_is_refused(scenario, shed):
    def refused(what):
        with pytest.raises(ScenarioError) as error:
            at_gateway(scenario, what)
        return str(error.value)

    class Sender(bp.CongestionControl):
        pass

    assert "'Sender' is not a middlebox\n  expected a class that extends bentpipe.Middlebox" in refused(Sender)
    assert "has no class Shod\n  did you mean 'Shed'? known: Shed" in refused(shed[:-2] + "od")
    with pytest.raises(ScenarioError, match="'Plain' is not a congestion control"):
        bp.run(scenario, cc=Plain)
    with pytest.raises(ScenarioError, match="gatewy is on no link"):
        bp.run(scenario, middlebox={"gatewy": Plain})


@pytest.mark.parametrize("name", ["on_paket", "onPacket", "on_loss", "ontimer"])
def test_methods_that_nothing_would_call_are_refused(name):
    with pytest.raises(ScenarioError, match="is not a hook, but a method of Wrong"):
        type("Wrong", (bp.Middlebox,), {name: lambda self, packet: None})


def test_what_would_never_run_or_hides_what_there_is_is_refused(scenario):
    def generator(self, packet):
        yield

    with pytest.raises(ScenarioError, match="on_packet of Wrong is a generator"):
        type("Wrong", (bp.Middlebox,), {"on_packet": generator})
    for name in ("drop", "now_s", "queue_packets", "set_timer"):
        with pytest.raises(ScenarioError, match=f"Wrong has its own {name}"):
            type("Wrong", (bp.Middlebox,), {name: 1})

    class Late(bp.Middlebox):
        def __init__(self):
            self.on_packet = print

    with pytest.raises(SenderError, match="on_packet is a hook: expected a method of Late"):
        at_gateway(scenario, Late)


def failing(what):
    class Fails(bp.Middlebox):
        calls = 0

        def on_packet(self, packet):
            if self.now_s > 1:
                type(self).calls += 1
                what(self, packet)

    return Fails


def test_an_exception_ends_the_run_with_hook_node_time_and_traceback(scenario):
    fails = failing(lambda box, packet: 1 / 0)
    with pytest.raises(SenderError) as failure:
        at_gateway(scenario, fails)
    text = str(failure.value)
    assert re.match(r"Fails failed in on_packet, node gateway, at 1\.\d+ s\n", text)
    assert "Traceback (most recent call last)" in text
    assert text.endswith("ZeroDivisionError: division by zero")
    assert isinstance(failure.value.__cause__, ZeroDivisionError)
    assert fails.calls == 1, "no hook is called after one that failed"

    class Needs(bp.Middlebox):
        def __init__(self, depth):
            self.depth = depth

    with pytest.raises(SenderError, match="Needs failed in __init__, node gateway, at 0"):
        at_gateway(scenario, Needs)

    class Late(bp.Middlebox):
        def __init__(self):
            self.set_timer(2)

        def on_timer(self):
            self.drop()

    with pytest.raises(SenderError, match="Late failed in on_timer, node gateway, at 2 s") as failure:
        at_gateway(scenario, Late)
    assert "drop is for the packet of on_packet" in str(failure.value)


@pytest.mark.parametrize(
    ("what", "message"),
    [
        (lambda box, packet: (box.drop(), box.delay(1)), "delay after drop: expected one of the two for a packet"),
        (lambda box, packet: box.delay(-1), "delay of -1: expected seconds, 0 to 1e9"),
        (lambda box, packet: box.delay(float("nan")), "delay of NaN: expected seconds"),
        (lambda box, packet: box.release(7), r"no packet is held under 7: expected the handle of a hold"),
        (lambda box, packet: box.segment_size(0), "segment_size of 0: expected bytes of payload"),
        (lambda box, packet: setattr(packet, "window", 70_000), "OverflowError"),
        (lambda box, packet: setattr(packet, "size", 1), "AttributeError"),
        (
            lambda box, packet: setattr(packet, "window", 1) if packet.is_datagram else None,
            "a datagram has no window",
        ),
    ],
)
def test_what_makes_no_sense_is_refused_where_it_is_called(scenario, what, message):
    with pytest.raises(SenderError, match=message):
        at_gateway(scenario, failing(what))


def test_one_that_acts_without_end_is_ended(scenario):
    class Endless(bp.Middlebox):
        def __init__(self):
            self.set_timer(1)

        def on_timer(self):
            self.set_timer(self.now_s)

    with pytest.raises(bp.errors.RunError, match="it acts without end at this instant"):
        at_gateway(scenario, Endless)


def test_a_sweep_runs_again_what_changed_and_only_that(scenario, tmp_path, shed):
    def swept():
        cases = {"plain": {}, "shed": {"node.gateway.middlebox": shed}}
        asked = scenario.with_sets([("duration", "2 s"), *case_sets(cases)])
        told = []
        found = bp.sweep(
            asked,
            {"case": list(cases)},
            replications=2,
            store=tmp_path / "store",
            progress=lambda progress: told.append(progress.reused),
        )
        return told[-1], found.facts["senders"]["Shed"]

    reused, described = swept()
    assert reused == 0
    assert described["class"].endswith("shed.py:Shed")
    assert swept() == (4, described)
    (tmp_path / "shed.py").write_text(SHED.replace("20", "5"))
    reused, other = swept()
    assert reused == 2
    assert other["code"] != described["code"]


def test_a_saved_result_is_read_without_the_class(scenario, shed, tmp_path):
    result = at_gateway(scenario, shed)
    result.save(tmp_path / "saved")
    again = bp.RunResult.load(tmp_path / "saved")
    assert again.flows.equals(result.flows)
    assert again.scenario.digest == result.scenario.digest
    with pytest.raises(SenderError, match="the class in its place, as middlebox="):
        bp.run(again.scenario)


def test_processes_have_the_same_classes(scenario, shed, cluster):
    for cls in (shed, Plain):
        asked = scenario.replace("node.gateway.middlebox", cls)
        here = bp.sweep(asked, {"duration": ["2 s"]}, replications=1, jobs=1)
        there = bp.sweep(asked, {"duration": ["2 s"]}, replications=1, on=cluster)
        assert there.runs.equals(here.runs)


def test_the_command_line_takes_a_class_of_a_file(tmp_path, shed):
    (tmp_path / "hops.toml").write_text(SCENARIO)
    command = [sys.executable, "-m", "bentpipe", "run", "hops.toml", "--set", "node.gateway.middlebox=./shed.py:Shed"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert re.search(r"gateway +policy +\d+", done.stdout)


GUIDE = Path(__file__).resolve().parent.parent / "docs" / "guides" / "custom-middlebox.md"


def test_the_guide_names_every_hook_and_call():
    text = GUIDE.read_text()
    for name in HOOKS:
        assert f"`{name}(" in text
    for name in (
        "drop",
        "send_back",
        "consume",
        "delay",
        "hold",
        "release",
        "discard",
        "duplicate",
        "segment_size",
        "notify",
    ):
        assert f"`self.{name}(" in text


def test_the_python_of_the_guide_runs(tmp_path, monkeypatch, capsys):
    text = GUIDE.read_text()
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    printed = ""
    named = re.findall(
        r"(?:`([\w.]+)`[^`]*)?\n\n```(python|toml|text)\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE
    )
    for file, kind, content in named:
        if kind == "text" and os.environ.get("BLESS"):
            text = text.replace(
                f"```text\n{content}```",
                "```text\n" + "".join(printed.splitlines(True)[-content.count("\n") :]) + "```",
            )
        elif kind == "text":
            assert printed.endswith(content)
        elif file:
            (tmp_path / file).write_text(content)
            monkeypatch.delitem(sys.modules, file.removesuffix(".py"), raising=False)
        else:
            exec(content, {})
            printed = capsys.readouterr().out
            if dropped := re.search(r"policy +┆ (\d+)", printed):
                assert f"drops {dropped[1]} packets" in " ".join(text.split())
    assert [file for file, *_ in named if file] == ["shed.py", "uplink.toml", "bayes.py"]
    if os.environ.get("BLESS"):
        GUIDE.write_text(text)


def test_the_rust_of_the_guide_is_that_of_a_test():
    whole, _ = re.findall(r"^ +```rust\n(.*?)^ +```$", GUIDE.read_text(), flags=re.DOTALL | re.MULTILINE)
    source = GUIDE.parents[2] / "crates" / "sim" / "tests" / "every.rs"
    assert textwrap.dedent(whole) == source.read_text()
