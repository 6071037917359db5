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

    After `on_packet` returns, the packet continues on its path, unless the hook has called `drop`, `send_back`,
    `consume`, `delay` or `hold`. At most one of these calls is allowed per packet. The core carries it out after the
    hook has returned, and forwards released packets first.

    `on_corrupted` sees packets that arrive corrupted at a node of kind `processing`, which drops them afterwards.
    `notify` reports them to their sender, from any hook.

    Hooks receive the same packet object each time, with new values: store its values, not the object. Each node has its
    own middlebox object in each run. It is made without arguments, and its `__init__` can read `node` and `seed`. Take
    random numbers from `random.Random(self.seed)`, so that equal seeds give equal results.

    Attributes
    ----------
    now_s : float
        Current simulated time, seconds.
    next_change_s : float or None
        Time of the next scheduled change, later than `now_s`; None without one. A change is the absence or return of a
        link of the node, or a new route through the node. Nodes know their schedule in advance, as satellites and
        terminals know their handovers.
    node : str
        Name of its node.
    seed : int
        Seed for random choices; each middlebox has its own.
    queue_packets, queue_bytes : int
        Waiting packets and bytes in the queue of the packet's next link, without the packet in transmission. 0 if the
        packet is for a host at this node. Only in `on_packet`.
    name : str
        Name in tables and scenarios. The default is the name of the class.

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
