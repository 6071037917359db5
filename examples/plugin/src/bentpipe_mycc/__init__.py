"""A plug-in for bentpipe: a congestion control, a middlebox, a scheduler and a reader of measurements."""

import bentpipe as bp


class MyCc(bp.CongestionControl):
    """Reno that keeps 80 % of the window after a loss."""

    name = "mycc"

    def on_congestion(self, why, path):
        kept = path.share(why.left(0.8))
        self.reduce(path.as_ssthresh(kept), kept)


class Shed(bp.Middlebox):
    """Drops data that would wait behind more than twenty packets."""

    name = "shed"

    def on_packet(self, packet):
        if packet.is_to_receiver and self.queue_packets > 20:
            self.drop()


class Spread(bp.Scheduler):
    """The subflow with the least of its window in use."""

    name = "spread"

    def choose(self, view):
        ready = [each for each in view.subflows if each.is_ready]
        return min(ready, key=lambda each: (each.flight_size + each.queued) / each.cwnd, default=None)


def read_pinglog(content):
    """Convert lines such as `12.5 at 100.25` (milliseconds, seconds) to the CSV that bentpipe reads."""
    rows = [line.split() for line in content.decode().splitlines() if line]
    return "\n".join(["time_s,rtt_ms", *(f"{at},{rtt}" for rtt, _, at in rows)])
