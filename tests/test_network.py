"""Open network: packets of the caller through a simulated path."""

import _thread
import math
import os
import re
import signal
import threading
from pathlib import Path

import pytest

import bentpipe as bp
from bentpipe.errors import BentpipeError, NetworkError, ScenarioError, SenderError
from bentpipe.experiment.single.tables import OF_PACKETS

GUIDE = Path(__file__).resolve().parent.parent / "docs" / "guides" / "open-network.md"
SAT = {
    "from": "gw",
    "to": "term",
    "rate": "2 Mbit/s",
    "delay": "260 ms",
    "forward": {"queue": "10 packets", "error": {"kind": "packet", "rate": "10 %"}},
    "reverse": {"error": {"kind": "packet", "rate": "10 %"}},
}
REAL = {"from": "gw", "to": "term", "app": "port"}


def geo(flows=None, **more):
    """Make a lossy geostationary hop."""
    return bp.Scenario({"duration": "10 s", "link": {"sat": SAT}, "flow": flows or {"real": REAL}, **more})


def drive(net, end_s=None, on_delivery=lambda packet: None):
    """Run event by event, so that deliveries can be answered immediately; return all delivered and lost packets."""
    end_s = net.scenario.duration_s if end_s is None else end_s
    delivered, lost = [], []
    for _ in range(100_000):
        if net.next_wakeup_s > end_s:
            break
        net.run_until(net.next_wakeup_s)
        for packet in net.drain():
            delivered.append(packet)
            on_delivery(packet)
        lost += net.drain_lost()
    else:
        pytest.fail("there is always something more")
    net.run_until(end_s)
    return delivered, lost


def test_an_echo_returns_the_bytes_and_each_lost_packet_is_reported_with_its_cause():
    net = bp.Network(geo())
    here, there = net.ports("real")
    sent = {bytes([number]) * 1200: 0.004 * number for number in range(256)}
    for content, at_s in sent.items():
        net.inject(at_s, here, content)

    def echo(packet):
        if packet.port == there:
            net.inject(packet.at_s + 0.001, there, packet.data)

    delivered, lost = drive(net, on_delivery=echo)
    returned = {packet.data: packet for packet in delivered if packet.port == here}
    assert set(returned) | {packet.data for packet in lost} == set(sent)
    assert len(returned) + len(lost) == len(sent)
    assert 100 < len(returned) < 250
    assert {packet.size for packet in [*delivered, *lost]} == {1228}
    assert not any(packet.is_marked for packet in delivered)
    # Two propagation delays of 260 ms, a millisecond at the far end, and twice the transmission time of 1228 B at 2
    # Mbit/s.
    for content, packet in returned.items():
        assert packet.at_s - sent[content] >= 0.521 + 2 * 1228 * 8 / 2e6 - 1e-9
        assert packet.entered_s > sent[content] + 0.26
    counts = {}
    for packet in lost:
        key = (packet.where, packet.cause)
        counts[key] = counts.get(key, 0) + 1
        # A corrupted packet is lost at the node that reads it.
        assert packet.port == {"sat.forward": here, "term": here, "sat.reverse": there, "gw": there}[packet.where]
        assert packet.at_s >= packet.entered_s
    drops = net.finish().drops
    assert counts == {(row["where"], row["cause"]): row["packets"] for row in drops.to_dicts()}
    assert {cause for _, cause in counts} == {"queue-overflow", "bit-error"}


def test_equal_times_and_sizes_give_what_the_datagrams_of_the_simulator_get():
    app = {"kind": "cbr", "rate": "1.5 Mbit/s", "size": "1200 B"}
    closed = bp.run(geo({"real": {**REAL, "app": app}}, seed=7))
    gap_ps = 6_400_000_000
    net = bp.Network(geo(seed=7))
    here, there = net.ports("real")
    for number in range(math.ceil(10e12 / gap_ps)):
        net.inject(number * gap_ps / 1e12, here, size=1228)
    net.run_until(10)
    delivered = net.drain()
    opened = net.finish()
    assert {packet.port for packet in delivered} == {there}
    for name in ("links", "drops", "datagrams"):
        assert getattr(opened, name).equals(getattr(closed, name)), name
    assert opened.flows.select(OF_PACKETS).equals(closed.flows.select(OF_PACKETS))
    # The network does not know the transport of these packets.
    (row,) = opened.flows.drop(OF_PACKETS).rows()
    assert set(row) == {None}
    assert opened.drops["packets"].sum() > 100
    assert opened.stop == closed.stop == "time-limit"


def test_steps_of_time_and_the_order_of_calls_change_nothing():
    def run(steps, order):
        net = bp.Network(geo(), seed=5)
        ports = net.ports("real")
        times = [0.013 * number for number in range(300)][::order]
        for at_s in times:
            net.inject(at_s, ports[round(at_s / 0.013) % 2], size=900)
        for step in range(1, steps + 1):
            net.run_until(10 * step / steps)
        return net.drain(), net.drain_lost(), net.finish()

    one, two = run(1, 1), run(777, -1)
    assert one[:2] == two[:2]
    assert all(getattr(one[2], name).equals(getattr(two[2], name)) for name in ("flows", "links", "drops", "summary"))
    assert one[2].seed == 5


def test_wakeups_and_arrivals_are_exact_after_hours_when_a_float_has_not_every_picosecond():
    calm = {"from": "gw", "to": "term", "rate": "3 Mbit/s", "delay": "260 ms"}
    net = bp.Network(geo(link={"sat": calm}, duration="50000 s"))
    here, _ = net.ports("real")

    def answer(packet):
        # Each has another transmission time, in picoseconds.
        net.inject(packet.at_s, packet.port, packet.data + b"x")

    net.inject(149_970 / 3.001, here, b"x")
    net.inject(149_971 / 3.001, here, b"y")
    delivered, _ = drive(net, on_delivery=answer)
    assert len(delivered) > 200
    assert net.now_s == 50000


def test_a_network_that_is_finished_has_the_row_of_the_flow_and_says_that_packets_came_from_outside():
    net = bp.Network(geo())
    here, there = net.ports("real")
    for number in range(20):
        net.inject(number / 10, here, b"to the terminal")
        net.inject(number / 10, there, b"back")
    net.run_until(4)
    left = net.drain()
    result = net.finish()
    (flow,) = result.flows.to_dicts()
    (datagrams,) = result.datagrams.to_dicts()
    assert (flow["flow"], flow["outcome"], flow["sent_packets"], datagrams["sent_packets"]) == (
        "real",
        "running",
        40,
        40,
    )
    assert datagrams["arrived_packets"] == len(left)
    assert result.summary["sent_packets"][0] == 40
    assert result.summary["delivered_packets"][0] == len(left)
    assert result.notes[-1] == "40 packets came from outside by ports, so the scenario alone does not repeat this run"
    assert (result.stop, result.simulated_s) == ("interrupted", 4)


def test_a_closed_run_of_a_scenario_with_a_port_runs_and_sends_nothing():
    result = bp.run(geo())
    assert result.flows["flow"].to_list() == ["real"]
    assert result.stop == "time-limit"
    assert result.links["offered_packets"].to_list() == [0, 0]
    assert result.notes == ()


def test_flows_of_the_scenario_run_beside_and_do_not_end_the_network_with_them():
    flows = {"real": REAL, "file": {"from": "gw", "to": "term", "app": {"kind": "file", "size": "50 kB"}}}
    net = bp.Network(geo(flows))
    here, _ = net.ports("real")
    net.inject(9.5, here, b"late")
    delivered, lost = drive(net)
    assert len(delivered) + len(lost) == 1
    flows = {row["flow"]: row for row in net.finish().flows.to_dicts()}
    assert flows["file"]["outcome"] == "completed"
    assert flows["file"]["completion_s"] < 9.5


def test_the_next_wakeup_is_infinite_where_nothing_happens_any_more():
    net = bp.Network(geo())
    assert net.next_wakeup_s == math.inf
    here, _ = net.ports("real")
    net.inject(2.5, here, b"x")
    assert net.next_wakeup_s == 2.5
    net.run_until(2)
    assert (net.now_s, net.next_wakeup_s) == (2, 2.5)
    net.run_until(1e300)
    assert (net.now_s, net.next_wakeup_s) == (10, math.inf)


def test_sizes_are_of_the_data_and_their_headers_unless_they_are_given():
    net = bp.Network(geo().replace("link.sat.forward.error.rate", "0 %"))
    here, _ = net.ports("real")
    net.inject(0.0, here, bytearray(b"abc"))
    net.inject(0.1, here, memoryview(b"abc"), header_len=60)
    net.inject(0.2, here, size=1500)
    net.inject(0.3, here, b"a whole IP packet", size=17, header_len=0)
    net.inject(0.4, here)
    net.run_until(1)
    assert [(packet.size, packet.data) for packet in net.drain()] == [
        (31, b"abc"),
        (63, b"abc"),
        (1500, b""),
        (17, b"a whole IP packet"),
        (28, b""),
    ]
    assert net.drain() == []


REFUSED = {
    "past": (lambda net, here: net.inject(0.5, here), "cannot enter at 0.500000000 s: the network is at 1.000000000 s"),
    "negative": (
        lambda net, here: net.inject(-1, here),
        "at_s = -1\n  expected a finite number of seconds, at least 0",
    ),
    "nan": (lambda net, here: net.inject(math.nan, here), "at_s = nan\n"),
    "infinite": (lambda net, here: net.inject(math.inf, here), "at_s = inf\n"),
    "text": (lambda net, here: net.inject("2", here), "at_s = '2'\n"),
    "none": (lambda net, here: net.inject(None, here), "at_s = None\n"),
    "after the end": (
        lambda net, here: net.inject(10.1, here),
        "enter at 10.1 s: the run ends at 10 s\n  expected an earlier time",
    ),
    "flow": (
        lambda net, here: net.ports("rael"),
        "'rael' is not a flow with app = \"port\"\n  did you mean 'real'? known: other, real",
    ),
    "no port": (
        lambda net, here: net.inject(2, "real"),
        "'real' is not a port of this network\n  expected one of",
    ),
    "other port": (lambda net, here: net.inject(2, here._replace(flow="x")), "is not a port of this network"),
    "beyond IP": (lambda net, here: net.inject(2, here, size=65_536), "65536 B cannot pass: expected 28 to 65535 B"),
    "beyond counting": (
        lambda net, here: net.inject(2, here, size=2**64),
        f"size = {2**64}\n  expected a whole number",
    ),
    "below headers": (lambda net, here: net.inject(2, here, size=27), "27 B cannot pass: expected 28 to 65535 B"),
    "beyond queues": (
        lambda net, here: net.inject(2, net.ports("other")[0], size=4001),
        "4001 B cannot pass: expected 28 to 4000 B",
    ),
    "half bytes": (
        lambda net, here: net.inject(2, here, size=99.5),
        "size = 99.5\n  expected a whole number of bytes, a",
    ),
    "headers": (
        lambda net, here: net.inject(2, here, header_len=256),
        "header_len = 256\n  expected a whole number of",
    ),
    "letters": (lambda net, here: net.inject(2, here, "hello"), "data = 'hello'\n  expected bytes, like b'hello'"),
    "number": (lambda net, here: net.inject(2, here, 1200), "data = 1200\n  expected bytes, like b'hello'; size=1200"),
    "back": (lambda net, here: net.run_until(0.5), "cannot go back to 0.5 s: the network is at 1.0 s"),
    "no time": (lambda net, here: net.run_until(math.inf), "until_s = inf\n  expected a finite number of seconds"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_cannot_be_is_refused_with_the_reason_and_changes_nothing(what):
    ask, message = REFUSED[what]
    narrow = {"from": "gw", "to": "far", "rate": "1 Mbit/s", "delay": "1 ms", "queue": {"kind": "red", "limit": "4 kB"}}
    other = {"from": "gw", "to": "far", "app": "port"}
    scenario = geo({"real": REAL, "other": other}, link={"sat": SAT, "narrow": narrow})
    net = bp.Network(scenario)
    here, _ = net.ports("real")
    net.run_until(1)
    with pytest.raises(NetworkError, match="^.*" + re.escape(message)) as refused:
        ask(net, here)
    assert isinstance(refused.value, (BentpipeError, ValueError))
    assert (net.now_s, net.next_wakeup_s) == (1, math.inf)
    assert "came from outside" not in "".join(net.finish().notes)


@pytest.mark.parametrize(
    "ask",
    [
        lambda net, here: net.inject(2, here),
        lambda net, here: net.run_until(2),
        lambda net, here: net.drain(),
        lambda net, here: net.drain_lost(),
        lambda net, here: net.now_s,
        lambda net, here: net.next_wakeup_s,
        lambda net, here: net.finish(),
    ],
)
def test_a_network_that_is_finished_can_do_nothing_more_and_says_so(ask):
    net = bp.Network(geo())
    here, _ = net.ports("real")
    net.finish()
    with pytest.raises(NetworkError, match=r"^this network is finished\n  build a new network: "):
        ask(net, here)
    assert repr(net).endswith("ports of real, finished>")


def test_a_scenario_without_ports_is_refused_with_how_to_declare_one(small):
    with pytest.raises(ScenarioError, match=r"small.toml has no ports\n.*\[flow.real\] .*app = \"port\"$"):
        bp.Network(small)


def test_the_declaration_in_that_message_is_valid(small):
    with pytest.raises(ScenarioError) as refused:
        bp.Network(small)
    declared = re.search(r"(\[flow\.real\]) (from = \S+) (to = \S+) (app = \S+)$", str(refused.value))
    link = '[link.hop]\nfrom = "a"\nto = "b"\nrate = "1 Mbit/s"\ndelay = "1 ms"\n'
    net = bp.Network(bp.loads('duration = "1 s"\n' + link + "\n".join(declared.groups())))
    assert [port.node for port in net.ports("real")] == ["a", "b"]


def test_ctrl_c_is_heard_while_time_goes_on_and_the_network_can_go_on():
    flood = {"from": "gw", "to": "term", "app": {"kind": "cbr", "rate": "1.5 Mbit/s", "size": "100 B"}}
    net = bp.Network(geo({"real": REAL, "flood": flood}, duration="3000 s"))
    here, _ = net.ports("real")
    is_over = threading.Event()

    def press():
        # The core works without the interpreter's lock. Meanwhile no other thread may use the network.
        try:
            while not is_over.is_set():
                _ = net.now_s
        except RuntimeError:
            _thread.interrupt_main()

    other = threading.Thread(target=press)

    def run():
        other.start()
        net.run_until(3000)

    with pytest.raises(KeyboardInterrupt):
        run()
    is_over.set()
    other.join()
    stopped_s = net.now_s
    assert 0 < stopped_s < 3000
    net.inject(stopped_s + 0.5, here, b"x")
    net.run_until(stopped_s + 1)
    assert len(net.drain()) + len(net.drain_lost()) == 1


class Pressed(bp.CongestionControl):
    """A congestion control that receives Ctrl-C in a hook, once."""

    presses = 1

    def on_ack(self, ack, path):
        if Pressed.presses:
            Pressed.presses -= 1
            signal.raise_signal(signal.SIGINT)
        super().on_ack(ack, path)


def test_ctrl_c_in_a_congestion_control_beside_ports_ends_the_run_there():
    bulk = {"from": "gw", "to": "term"}
    net = bp.Network(geo({"real": REAL, "bulk": bulk}).replace("flow.bulk.tcp.cc", Pressed))
    with pytest.raises(KeyboardInterrupt):
        net.run_until(10)
    stopped_s = net.now_s
    assert 0 < stopped_s < 10
    net.run_until(10)
    assert (net.now_s, net.next_wakeup_s) == (stopped_s, math.inf)
    with pytest.raises(NetworkError, match="the run has ended"):
        net.inject(9, net.ports("real")[0])
    assert net.finish().stop == "interrupted"


class Failing(bp.CongestionControl):
    def on_ack(self, ack, path):
        raise RuntimeError("no idea")


def test_a_congestion_control_that_fails_beside_ports_is_reported_with_its_place():
    bulk = {"from": "gw", "to": "term"}
    net = bp.Network(geo({"real": REAL, "bulk": bulk}).replace("flow.bulk.tcp.cc", Failing))
    with pytest.raises(SenderError, match="Failing failed in on_ack, flow bulk"):
        net.run_until(10)


def test_the_guide_says_what_is_printed(tmp_path, monkeypatch, capsys):
    text = GUIDE.read_text()
    (scenario, *blocks) = re.findall(r"^```(\w+)\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)
    assert scenario[0] == "toml"
    assert [kind for kind, _ in blocks] == ["python", "text"] * 2
    (tmp_path / "echo.toml").write_text(scenario[1])
    monkeypatch.chdir(tmp_path)
    around = {}
    for (_, code), (_, shown) in zip(blocks[::2], blocks[1::2], strict=True):
        exec(code, around)
        printed = capsys.readouterr().out
        if os.environ.get("BLESS"):
            text = text.replace(f"{code}```\n\n```text\n{shown}```", f"{code}```\n\n```text\n{printed}```")
        else:
            assert shown == printed
    if os.environ.get("BLESS"):
        GUIDE.write_text(text)
