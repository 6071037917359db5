"""Custom middleboxes that see corrupted packets, report them and know the schedule; custom senders hear the reports."""

import re
from itertools import pairwise

import pytest

import bentpipe as bp
from bentpipe.errors import ScenarioError, SenderError

SCENARIO = """
title = "An uplink that corrupts packets"
duration = "10 s"
seed = 3
[tcp]
like = "rfc"
cc = "newreno"
processing = "0 s"
error_reports = "resend"
[node.sky]
kind = "processing"
[link.up]
from = "a"
to = "sky"
rate = "4 Mbit/s"
delay = "10 ms"
queue = "200 packets"
forward.error = { kind = "packet", rate = 1e-2 }
[link.down]
from = "sky"
to = "b"
rate = "4 Mbit/s"
delay = "40 ms"
[flow.one]
from = "a"
to = "b"
[flow.voice]
from = "a"
to = "b"
app = { kind = "cbr", size = "200 B", rate = "64 kbit/s" }
"""


@pytest.fixture
def scenario():
    return bp.loads(SCENARIO)


class Reports(bp.Middlebox):
    """Reports each corrupted packet of a connection."""

    def on_corrupted(self, packet):
        if packet.payload and not packet.is_datagram:
            self.notify(packet, [packet.data_range])


def in_the_sky(scenario, middlebox, **options):
    return bp.run(scenario, middlebox={"sky": middlebox}, **options)


def flow(result, name="one"):
    return result.flows.row(by_predicate=bp_col("flow") == name, named=True)


def bp_col(name):
    polars = pytest.importorskip("polars")
    return polars.col(name)


def lost_on_the_uplink(result):
    rows = result.drops.filter(bp_col("cause") == "bit-error")
    return rows["packets"].sum()


def test_every_corrupted_packet_is_seen_once_with_its_header(scenario):
    seen, passed = [], set()

    class Sees(bp.Middlebox):
        def on_packet(self, packet):
            if packet.is_to_receiver and not packet.is_datagram:
                passed.add(packet.data_range)

        def on_corrupted(self, packet):
            assert packet.is_to_receiver
            seen.append((packet.flow, packet.size, packet.payload, packet.data_range, packet.connection))
            assert (packet.sender is None) is packet.is_datagram
            assert (packet.data_range is None) is packet.is_datagram

    result = in_the_sky(scenario, Sees)
    assert len(seen) == lost_on_the_uplink(result) > 20
    assert {flow for flow, *_ in seen} == {"one", "voice"}
    for name, size, payload, range_, _ in seen:
        assert size == payload + (28 if name == "voice" else 40)
        assert range_ is None or (range_[1] - range_[0]) % 2**32 == payload
    ranges = [range_ for _, _, _, range_, _ in seen if range_]
    assert passed.issuperset(ranges[:10]), "they are retransmitted, with the same numbers"


def test_a_bent_pipe_checks_no_packet(scenario):
    class Never(bp.Middlebox):
        def on_corrupted(self, packet):
            raise AssertionError("a bent pipe does not know")

    result = in_the_sky(scenario.with_sets({"node.sky.kind": "bent-pipe"}), Never)
    assert flow(result)["retransmitted_bytes"] > 0


def test_reports_do_what_those_of_eten_do(scenario):
    own = in_the_sky(scenario, Reports)
    eten = bp.run(scenario.with_sets({"node.sky.middlebox": [{"kind": "eten"}]}))
    for column in ("goodput_bps", "retransmitted_bytes", "sent_bytes", "timeouts"):
        assert flow(own)[column] == flow(eten)[column], column
    ignored = in_the_sky(scenario.with_sets({"tcp.error_reports": "ignore"}), Reports)
    assert flow(own)["goodput_bps"] > 1.5 * flow(ignored)["goodput_bps"]


def test_a_report_is_a_message_that_travels_and_may_be_lost(scenario):
    lossy = scenario.with_sets({"link.up.reverse.error": {"kind": "packet", "rate": 1.0}})
    heard = bp.run(scenario, middlebox={"sky": Reports}, series=["events"]).events
    assert heard.filter(bp_col("event") == "error_report").height > 20
    unheard = bp.run(lossy, middlebox={"sky": Reports}, series=["events"]).events
    assert unheard.filter(bp_col("event") == "error_report").height == 0


def test_a_sender_can_be_kept_and_notified_later(scenario):
    ends = set()

    class Later(bp.Middlebox):
        """Reports what was corrupted every 100 ms, with a rate for the packet size."""

        def __init__(self):
            self.waiting = {}
            self.set_timer(0.1)

        def on_corrupted(self, packet):
            if not packet.is_datagram:
                self.waiting.setdefault(packet.sender, []).append(packet.data_range)

        def on_timer(self):
            for sender, ranges in self.waiting.items():
                assert (sender.flow, sender.connection) == ("one", sender.connection)
                ends.add(sender)
                self.notify(sender, ranges, ber=1e-4)
            self.waiting.clear()
            self.set_timer(self.now_s + 0.1)

    sized = scenario.with_sets({"tcp.packet_size": {"kind": "optimum"}})
    result = bp.run(sized, middlebox={"sky": Later}, series=["events"])
    assert len(ends) == 1, "one end, and equal each time"
    assert re.fullmatch(r"PacketSender\(\"one\", connection=\d+\)", repr(next(iter(ends))))
    reports = result.events.filter(bp_col("event") == "error_report")["time_s"]
    # A report leaves at a tenth of a second; it takes 10 ms and a queue to the sender.
    assert len(reports) > 10
    assert all(0.009 < time % 0.1 < 0.09 for time in reports)
    # sqrt(40 / 1e-4) + 20: packets of 652 B after the first report, and of 1500 B before.
    up = result.links.row(by_predicate=bp_col("link") == "up.forward", named=True)
    assert up["carried_bytes"] / up["carried_packets"] < 900


def test_a_rate_can_be_reported_alone(scenario):
    class Rate(bp.Middlebox):
        sent = False

        def on_packet(self, packet):
            if packet.payload and not packet.is_datagram and not self.sent:
                self.sent = True
                self.notify(packet.sender, [], 1e-2)

    sized = scenario.with_sets({"tcp.packet_size": {"kind": "optimum"}, "link.up.forward.error": "none"})
    up = in_the_sky(sized, Rate).links.row(by_predicate=bp_col("link") == "up.forward", named=True)
    assert up["carried_bytes"] / up["carried_packets"] < 120


def test_custom_senders_hear_reports(scenario):
    heard = []

    class Hears(bp.CongestionControl):
        def on_error_report(self, start, end, error_rate, path):
            heard.append((start, end, error_rate))
            assert start is None or path.snd_una <= start < end <= path.snd_nxt

    class Rates(bp.Middlebox):
        def on_corrupted(self, packet):
            if not packet.is_datagram and packet.payload:
                self.notify(packet.sender, [packet.data_range], 0.25)
                self.notify(packet.sender, [], 0.5)

    # A sender hears also with error_reports = "ignore", which leaves the retransmission to it.
    for reports in ("resend", "ignore"):
        heard.clear()
        asked = scenario.with_sets({"tcp.error_reports": reports, "flow.voice.app.rate": "8 kbit/s"})
        result = bp.run(asked, cc=Hears, middlebox={"sky": Rates})
        ranges = [(start, end) for start, end, rate in heard if rate == 0.25]
        assert len(ranges) > 10
        assert {end - start for start, end in ranges} == {1460}
        assert heard.count((None, None, 0.5)) == len(ranges)
        assert flow(result)["goodput_bps"] > 0
    # Nothing changes for a class without the hook.
    plain = type("Plain", (bp.CongestionControl,), {})
    told = [flow(bp.run(scenario, cc=cc, middlebox={"sky": Rates}))["goodput_bps"] for cc in (plain, Hears)]
    assert told[0] == told[1]


def test_been_and_eln_are_heard_too(scenario):
    heard = []

    class Hears(bp.CongestionControl):
        def on_error_report(self, start, end, error_rate, path):
            heard.append((start, error_rate))

    been = {"node.sky.middlebox": [{"kind": "been", "role": "satellite"}], "tcp.cc": Hears}
    been["node.a.middlebox"] = [{"kind": "been", "role": "gateway"}]
    bp.run(scenario.with_sets(been))
    assert any(start is not None for start, _ in heard)
    assert any(start is None and 0 < rate < 1 for start, rate in heard)
    heard.clear()
    bp.run(scenario.with_sets({"node.sky.middlebox": [{"kind": "eln"}], "tcp.cc": Hears}))
    assert heard
    assert all(start is not None and rate is None for start, rate in heard)


HANDOVERS = """
duration = "10 s"
[tcp]
like = "rfc"
processing = "0 s"
[link.up]
from = "a"
to = "sky"
rate = "4 Mbit/s"
delay = "10 ms"
[link.left]
from = "sky"
to = "b"
rate = "4 Mbit/s"
delay = "40 ms"
[link.other]
from = "a"
to = "moon"
rate = "4 Mbit/s"
delay = "10 ms"
[link.right]
from = "moon"
to = "b"
rate = "4 Mbit/s"
delay = "30 ms"
[flow.one]
from = "a"
to = "b"
route = ["a", "sky", "b"]
[[at]]
time = "3 s"
install = [{ flow = "one", route = ["a", "moon", "b"] }]
[[at]]
time = "6 s"
install = [{ flow = "one", route = ["a", "sky", "b"] }]
"""


AWAY = """
[[at]]
time = "1.5 s"
down = ["left"]
waiting = "kept"
[[at]]
time = "2.5 s"
up = ["left"]
"""


def test_a_node_knows_the_next_change_beforehand():
    told = {}

    class Asks(bp.Middlebox):
        def __init__(self):
            told[self.node] = [(0.0, self.next_change_s)]
            self.set_timer(1)

        def on_timer(self):
            told[self.node].append((self.now_s, self.next_change_s))
            self.set_timer(self.now_s + 1)

    scenario = bp.loads(HANDOVERS)
    bp.run(scenario, middlebox={"sky": Asks, "moon": Asks})
    expected = [3.0 if now < 3 else 6.0 if now < 6 else None for now in range(10)]
    for node in ("sky", "moon"):
        assert [(round(now), change) for now, change in told[node]][:10] == list(enumerate(expected))
    # A link of one node goes and comes back; a node apart from it does not care.
    bp.run(bp.loads(HANDOVERS + AWAY), middlebox={"sky": Asks, "moon": Asks})
    assert [change for _, change in told["moon"]][:10] == expected
    away = [next((at for at in (1.5, 2.5, 3.0, 6.0) if at > now), None) for now in range(10)]
    assert [change for _, change in told["sky"]][:10] == away
    bp.run(bp.loads(HANDOVERS.split("[[at]]")[0]), middlebox={"sky": Asks})
    assert {change for _, change in told["sky"]} == {None}


def test_a_sky_is_a_schedule():
    told = []

    class Asks(bp.Middlebox):
        def on_packet(self, packet):
            told.append((self.now_s, self.next_change_s))

    scenario = bp.load("london-singapore").with_sets(
        {"duration": "40 s", "flow.transfer.app": {"kind": "cbr", "rate": "100 kbit/s", "size": "500 B"}}
    )
    bp.run(scenario, middlebox={"London": Asks})
    changes = [change for _, change in told]
    assert len(set(changes)) > 2, "handovers of London's satellite and beyond"
    assert all(change is None or change > now for now, change in told)
    # It stays until the instant comes.
    assert all((then == change) is (change is None or now < change) for (_, change), (now, then) in pairwise(told))


def failing(call):
    class Wrong(bp.Middlebox):
        def on_corrupted(self, packet):
            call(self, packet)

    return Wrong


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda box, packet: box.drop(),
            "drop is for a packet that continues, and a corrupted packet is dropped",
        ),
        (lambda box, packet: box.hold(), "hold is about a packet that goes on"),
        (lambda box, packet: box.delay(1), "delay is about a packet that goes on"),
        (lambda box, packet: box.duplicate(), "duplicate is about a packet that goes on"),
        (lambda box, packet: box.queue_packets, "queue_packets is about a packet that goes on"),
        (lambda box, packet: packet.mark_ce(), "the mark of a corrupted packet cannot be changed: the node drops it"),
        (lambda box, packet: setattr(packet, "window", 1), "window of a corrupted packet cannot be changed"),
        (lambda box, packet: box.notify("one", [(0, 1)]), "notify of str: expected packet.sender or a packet"),
        (lambda box, packet: box.notify(None, [(0, 1)]), "notify of NoneType|notify of None.*datagram"),
        (
            lambda box, packet: box.notify(packet, []),
            "notify without a report: expected ranges",
        ),
        (lambda box, packet: box.notify(packet, [], 2), "an error rate of 2: expected 0 to 1"),
        (lambda box, packet: box.notify(packet, [], float("nan")), "an error rate of NaN: expected 0 to 1"),
        (lambda box, packet: box.notify(packet, 7), "notify of the ranges 7: expected pairs of sequence numbers"),
        (lambda box, packet: box.notify(packet, [7]), "notify of the range 7: expected pairs of sequence numbers"),
        (lambda box, packet: box.notify(packet, [(-1, 7)]), r"notify of the range \(-1, 7\): expected pairs"),
        (lambda box, packet: box.notify(packet, [(7, 0)]), r"the range \(7, 0\): expected at most 65535 bytes"),
    ],
)
def test_misuse_is_refused_where_it_is_called(scenario, call, message):
    alone = scenario.with_sets({"flow.voice.app.rate": "8 kbit/s", "flow.voice.start": "9.9 s"})
    with pytest.raises(SenderError, match=message) as failure:
        in_the_sky(alone, failing(call))
    assert "on_corrupted, node sky" in str(failure.value)


def test_a_datagram_has_nobody_to_notify(scenario):
    class Wrong(bp.Middlebox):
        def on_packet(self, packet):
            if packet.is_datagram:
                self.notify(packet, [], 0.5)

    with pytest.raises(SenderError, match="notify of a datagram, whose sender reads no reports"):
        in_the_sky(scenario, Wrong)


@pytest.mark.parametrize("name", ["on_corupted", "onCorrupted", "on_corrupt"])
def test_misspelt_hooks_are_refused(name):
    with pytest.raises(ScenarioError, match="on_corrupted"):
        type("Wrong", (bp.Middlebox,), {name: lambda self, packet: None})
    with pytest.raises(ScenarioError, match="its own notify"):
        type("Wrong", (bp.Middlebox,), {"notify": lambda self: None})
    with pytest.raises(ScenarioError, match="on_error_report"):
        type("Wrong", (bp.CongestionControl,), {"on_error_reports": lambda self, *report: None})
