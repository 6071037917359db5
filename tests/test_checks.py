"""The checks for classes of others find the fault that they are made for, and accept each built-in class."""

import random

import pytest

import bentpipe as bp
from bentpipe import testing
from bentpipe.catalog import names
from bentpipe.errors import ScenarioError

# TCP Peach begins with a window of 45 segments by its own probes, before there are data to send.
EXCEPT = {"peach": {"rests_while_the_application_does"}, "peach-plus": {"rests_while_the_application_does"}}


@pytest.mark.parametrize("name", names("cc"))
def test_each_built_in_congestion_control_passes(name):
    cls = type("Inherited", (bp.CongestionControl,), {"extends": name})
    for check in testing.CONGESTION_CONTROL:
        if check.__name__ not in EXCEPT.get(name, ()):
            check(cls)


def test_the_base_classes_pass():
    class Mine(bp.CongestionControl):
        pass

    class Passing(bp.Middlebox):
        pass

    testing.check_congestion_control(Mine)
    testing.check_middlebox(Passing)


class Stuck(bp.CongestionControl):
    def on_ack(self, ack, path):
        self.cwnd = path.smss


class NoNumber(bp.CongestionControl):
    def on_congestion(self, why, path):
        self.cwnd = float("nan")


class NoThreshold(bp.CongestionControl):
    def on_congestion(self, why, path):
        super().on_congestion(why, path)
        self.ssthresh = 0.0


class Grows(bp.CongestionControl):
    def on_ack(self, ack, path):
        self.cwnd += path.smss


class Stays(bp.CongestionControl):
    def undo(self, before):
        pass


class Shares(bp.CongestionControl):
    def __init__(self, init):
        self.seen = []

    def __deepcopy__(self, memo):
        other = super().__deepcopy__(memo)
        other.seen = self.seen
        return other


class Lucky(bp.CongestionControl):
    def on_congestion(self, why, path):
        kept = path.share(why.left(random.random()))
        self.reduce(path.as_ssthresh(kept), kept)


class Hoards(bp.CongestionControl):
    def __init__(self, init):
        self.all = []

    def on_ack(self, ack, path):
        super().on_ack(ack, path)
        self.all.append(ack.rtt_s)


class Lingers(bp.CongestionControl):
    """Sums over all of the past now and then."""

    def __init__(self, init):
        self.acks = 0

    def on_ack(self, ack, path):
        super().on_ack(ack, path)
        self.acks += 1
        if self.acks == 1000:
            for _ in range(20_000):
                pass


class Trusts(bp.CongestionControl):
    def on_ack(self, ack, path):
        super().on_ack(ack, path)
        self.rate = 1 / ack.rtt_s


@pytest.mark.parametrize(
    ("cls", "check", "said"),
    [
        (Stuck, testing.completes_a_transfer, "2 MB over a delay of 260 ms are not complete"),
        (NoNumber, testing.keeps_a_possible_window, "cwnd"),
        (NoThreshold, testing.keeps_a_possible_window, "on_congestion makes ssthresh 0.0"),
        (Grows, testing.rests_while_the_application_does, "while two segments are sent each 100 ms"),
        (Stays, testing.takes_back_a_needless_reduction, "undo leaves cwnd"),
        (Shares, testing.copies_do_not_share, "a copy shares seen with its original"),
        (Lucky, testing.repeats_with_equal_seeds, "use random.Random"),
        (Hoards, testing.keeps_little, "elements after 60 s"),
        (Lingers, testing.keeps_hooks_short, r"on_ack runs [234]\d,\d{3} lines of Python at "),
        (Trusts, testing.survives_hostile_paths, "TypeError"),
    ],
    ids=lambda each: getattr(each, "__name__", ""),
)
def test_each_check_finds_its_fault(cls, check, said):
    with pytest.raises(AssertionError, match=said):
        check(cls)
    with pytest.raises(AssertionError, match=check.__name__):
        testing.check_congestion_control(cls)


class Swallows(bp.Middlebox):
    def on_packet(self, packet):
        self.drop()


class Dice(bp.Middlebox):
    def on_packet(self, packet):
        if packet.is_to_receiver and random.random() < 0.05:
            self.drop()


class Assumes(bp.Middlebox):
    def on_packet(self, packet):
        assert not packet.sack


@pytest.mark.parametrize(
    ("cls", "check", "said"),
    [
        (Swallows, testing.lets_a_transfer_pass, "500 kB are not complete"),
        (Dice, testing.repeats_itself, "two runs with one seed differ"),
        (Assumes, testing.survives_hostile_links, "Assumes failed in on_packet"),
    ],
    ids=lambda each: getattr(each, "__name__", ""),
)
def test_each_check_of_middleboxes_finds_its_fault(cls, check, said):
    with pytest.raises(AssertionError, match=said):
        check(cls)
    with pytest.raises(AssertionError, match=check.__name__):
        testing.check_middlebox(cls)


def test_what_is_no_class_of_the_kind_is_refused():
    with pytest.raises(ScenarioError, match="is not a congestion control"):
        testing.check_congestion_control(Swallows)
    with pytest.raises(ScenarioError, match="is not a middlebox"):
        testing.check_middlebox(Stuck)
