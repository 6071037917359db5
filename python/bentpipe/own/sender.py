"""Base class of custom congestion controls."""

from __future__ import annotations

import copy
from types import GetSetDescriptorType
from typing import Any, ClassVar

from bentpipe import _core
from bentpipe._core import AckSample, Congestion, Delivery, Init, PathState
from bentpipe.own.documented import document, extending
from bentpipe.own.hooks import Absent, Rules, list_state

__all__ = ["AckSample", "Bbr", "Congestion", "CongestionControl", "Cubic", "Delivery", "Init", "PathState", "Reno"]

HOOKS: tuple[str, ...] = tuple(_core.hooks()[0])
_STATE = tuple(name for name, value in vars(_core.CongestionControl).items() if isinstance(value, GetSetDescriptorType))
RULES = Rules(_core.CongestionControl, HOOKS, _STATE, "the connection", "set", "it works on one connection")


document(Init, AckSample, PathState, Congestion, Delivery)


@extending(_core.CongestionControl, HOOKS)
class CongestionControl(_core.CongestionControl):
    """Base of custom congestion controls. Hooks that you do not override behave as Reno.

    The subclasses `Cubic`, `Reno` and `Bbr` have the hooks of built-in congestion controls. To extend another built-in
    one, set the attribute `extends` to its name. `super().on_ack(ack, path)` then runs the code of the core.

    Hooks receive the same data as hooks in Rust. For one ACK, the order is `on_congestion`, `on_recovery_exit`,
    `on_delivery`, `on_ack`. Set `cwnd` and `ssthresh` in a hook; the connection uses their values after the hook
    returns. The connection itself does retransmissions, timers and loss recovery.

    Hooks receive the same objects each time, with new values: store the values, not the objects. Take random numbers
    from `random.Random(init.seed)`, so that equal seeds give equal results.

    Attributes
    ----------
    cwnd : float
        The congestion window, bytes, with fractions; 0 to 2**40. A value below one segment counts as one segment.
    ssthresh : float
        The slow start threshold, bytes; `math.inf` until it is known.
    name : str
        Name in tables and figures. The default is the name of the class.
    extends : str or None
        The congestion control (`bentpipe list cc`) that the class extends: it inherits the hooks, the loss recovery
        and the settings in the scenario. None, the default, is Reno's window.
    recovery : str
        Loss recovery, if the scenario does not set it: `sack` (the default), `newreno`, `reno`, `fast-retransmit` or
        `timeout-only`. Not allowed with `extends`.
    takes_marks : bool
        Whether the class reads the number of packets that queues have marked, `ce_packets` of `ack` and `delivery`.
        Marks then do not call `on_congestion`, and `tcp.ecn` may send ECT(1). The default is False. Classes with
        `extends = "prague"` always read it.

    Examples
    --------
    >>> import bentpipe as bp
    >>> class Gentle(bp.CongestionControl):
    ...     "Reno that keeps 70 % of the window."
    ...
    ...     def on_congestion(self, why, path):
    ...         kept = path.share(why.left(0.7))
    ...         self.reduce(path.as_ssthresh(kept), kept)
    >>> comparison = bp.compare("geo", cc=["newreno", Gentle], replications=2)      # doctest: +SKIP
    >>> class Humble(bp.CongestionControl):
    ...     "Hybla with a window of 100 segments at most."
    ...
    ...     extends = "hybla"
    ...
    ...     def on_ack(self, ack, path):
    ...         super().on_ack(ack, path)
    ...         self.cwnd = min(self.cwnd, 100 * path.smss)
    """

    name: ClassVar[str]
    extends: ClassVar[str | None] = None
    takes_marks: ClassVar[bool] = False
    recovery: ClassVar[str] = "sack"

    def __init__(self, init: _core.Init) -> None:
        """Begin with a window of `init.cwnd` bytes in slow start; see `Init`.

        Called for both ends of a connection, when it is made and again when its data transfer begins.
        """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        RULES.check(cls, CongestionControl)

    def __deepcopy__(self, memo: dict[int, Any]) -> CongestionControl:
        # Made without `__init__`, which may have any arguments.
        new = type(self).__new__(type(self))
        memo[id(self)] = new
        new._become(self)
        for key, value in list_state(self):
            setattr(new, key, copy.deepcopy(value, memo))
        return new

    def undo(self, before: _core.CongestionControl) -> None:
        """Restore the state of `before`, a copy from before the reaction. Called if the loss was spurious."""
        super().undo(before)
        for key, value in list_state(before):
            setattr(self, key, value)


class Cubic(CongestionControl):
    """CUBIC (RFC 9438), to extend. Hooks that you do not override are those of `cc = "cubic"`.

    Examples
    --------
    >>> import math
    >>> import bentpipe as bp
    >>> class Calm(bp.Cubic):
    ...     "Keeps its window at losses while round-trip times are within 20 ms of the least."
    ...
    ...     least_s = math.inf
    ...
    ...     def on_ack(self, ack, path):
    ...         self.least_s = min(self.least_s, ack.rtt_s or math.inf)
    ...         super().on_ack(ack, path)
    ...
    ...     def on_congestion(self, why, path):
    ...         if (path.srtt_s or 0.0) - self.least_s > 0.020:
    ...             super().on_congestion(why, path)
    """

    extends = "cubic"


class Reno(CongestionControl):
    """Reno (RFC 5681), to extend. Loss recovery, and hooks that you do not override, are those of `cc = "reno"`."""

    extends = "reno"


class Bbr(CongestionControl):
    """BBR (draft-ietf-ccwg-bbr), to extend. Hooks that you do not override are those of `cc = "bbr3"`.

    BBR's model sets window and pacing rate at each ACK, so a window that a hook sets lasts until the next ACK. Override
    `pacing_rate` to change the rate.
    """

    extends = "bbr3"


class AbsentSender(Absent, CongestionControl):
    """Placeholder for a congestion control of a saved result, whose class is not known."""

    instead = "as cc=..."
