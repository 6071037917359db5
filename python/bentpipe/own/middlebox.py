"""Base class of custom middleboxes."""

from __future__ import annotations

from types import GetSetDescriptorType
from typing import Any, ClassVar

from bentpipe import _core
from bentpipe._core import Packet, PacketSender
from bentpipe.own.documented import document, extending
from bentpipe.own.hooks import Absent, Rules

__all__ = ["Middlebox", "Packet", "PacketSender"]

HOOKS: tuple[str, ...] = tuple(_core.hooks()[1])
_GIVEN = tuple(name for name, value in vars(_core.Middlebox).items() if isinstance(value, GetSetDescriptorType))
_CALLED = tuple(name for name in vars(_core.Middlebox) if not name.startswith("_") and name not in (*_GIVEN, *HOOKS))
RULES = Rules(_core.Middlebox, HOOKS, (*_GIVEN, *_CALLED), "the node", "use", "it works at one node")


document(Packet, PacketSender)


@extending(_core.Middlebox, HOOKS)
class Middlebox(_core.Middlebox):
    """Base of custom middleboxes. A middlebox is at a node and sees each packet that passes.

    A packet goes on when `on_packet` returns, unless the hook called `drop`, `send_back`, `consume`, `delay` or `hold`,
    at most one of them per packet. The core carries out these calls after the hook has returned. Released packets go
    first.

    `on_corrupted` sees packets that arrive corrupted at a node of kind `processing`, which drops them afterwards.
    `notify` reports them to their sender, from any hook.

    The packet that a hook is given is the same object each time, with new values: keep the values, not the object.
    Each node and run has its own object, made without arguments; `node` and `seed` are known in its `__init__`.
    For random choices use `random.Random(self.seed)`: then equal seeds give equal results.

    Attributes
    ----------
    now_s : float
        The present, seconds of simulated time.
    next_change_s : float or None
        The next instant, later than `now_s`, at which a link of the node goes away or comes back, or a route through it
        changes. The node knows its schedule beforehand, as satellites and terminals know their handovers.
    node : str
        Name of its node.
    seed : int
        Seed for random choices; each middlebox has its own.
    queue_packets, queue_bytes : int
        Queue of the packet's next link, without the packet in transmission; 0 if the packet is for a host at this node.
        In `on_packet` only.
    name : str
        Name in tables and scenarios; the name of the class if not given.

    Examples
    --------
    >>> import bentpipe as bp
    >>> class Shed(bp.Middlebox):
    ...     "Drops data that would wait behind more than twenty packets."
    ...
    ...     def on_packet(self, packet):
    ...         if packet.is_to_receiver and self.queue_packets > 20:
    ...             self.drop()
    >>> result = bp.run("geo", middlebox={"gateway": Shed})      # doctest: +SKIP
    """

    name: ClassVar[str]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        RULES.check(cls, Middlebox)


class AbsentMiddlebox(Absent, Middlebox):
    """Placeholder for a middlebox of a saved result, whose class is not known."""

    instead = "as middlebox=..."
