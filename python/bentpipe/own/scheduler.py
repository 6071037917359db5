"""Base class of custom schedulers of flows over several paths."""

from __future__ import annotations

import copy
from types import GetSetDescriptorType
from typing import Any, ClassVar

from bentpipe import _core
from bentpipe._core import Repeat, SchedulerView, Subflow
from bentpipe.errors import ScenarioError
from bentpipe.own.documented import document, extending
from bentpipe.own.hooks import Absent, Rules, list_state

__all__ = ["Repeat", "Scheduler", "SchedulerView", "Subflow"]

HOOKS: tuple[str, ...] = tuple(_core.hooks()[2])
_STATE = tuple(name for name, value in vars(_core.Scheduler).items() if isinstance(value, GetSetDescriptorType))
RULES = Rules(_core.Scheduler, HOOKS, _STATE, "the flow", "use", "it works on one connection")


document(Repeat, SchedulerView, Subflow)


@extending(_core.Scheduler, HOOKS)
class Scheduler(_core.Scheduler):
    """Base of custom schedulers. They choose the subflow for the next segment of a flow over several paths (RFC 8684).

    `choose` is called for each segment of new data that the receive window allows. It returns one of `view.subflows`,
    or None to wait. It is called again after each segment, arrival and timer. If the returned subflow is not
    `is_ready`, the connection waits for it, even if the subflow has failed or has not joined yet.

    With `repeats = True` in the class, `choose` is also called while data wait for their acknowledgement. It may then
    return `subflow.repeat()`: this subflow repeats the first data that only other subflows carry. `can_repeat` is true
    if there are such data.

    A scheduler need not reinject: if a subflow fails, its data go to the fastest other subflow (`multipath.reinject`).
    But with `repeats = True`, only the scheduler can repeat data that block the receive window.

    Each end of a connection has its own scheduler object. It is made without arguments, and its `__init__` can read
    `flow` and `seed`. Take random numbers from `random.Random(self.seed)`, so that equal seeds give equal results.
    Views never change, so a class may store them.

    Attributes
    ----------
    flow : str
        Name of its flow.
    seed : int
        Seed for random choices. Each flow has its own.
    name : str
        Name in tables and scenarios. The default is the name of the class.
    repeats : bool
        Whether `choose` may return `subflow.repeat()`. Finding such data costs time.

    Examples
    --------
    >>> import bentpipe as bp
    >>> class LeoFirst(bp.Scheduler):
    ...     "Waits for LEO if LEO can send all remaining data within 100 ms."
    ...
    ...     def choose(self, view):
    ...         leo = next(each for each in view.subflows if each.name == "leo")
    ...         if leo.is_usable and view.unsent * leo.srtt_s < 0.1 * leo.cwnd:
    ...             return leo
    ...         return super().choose(view)
    >>> scheduler = {"flow.download.multipath.scheduler": LeoFirst}
    >>> result = bp.run("ship-two-antennas", sets=scheduler)      # doctest: +SKIP
    """

    name: ClassVar[str]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        RULES.check(cls, Scheduler)
        if not isinstance(cls.repeats, bool):
            raise ScenarioError(f"repeats of {cls.__name__} is {cls.repeats!r}\n  expected True or False")

    def __deepcopy__(self, memo: dict[int, Any]) -> Scheduler:
        # Made without `__init__`, which may have effects.
        new = type(self).__new__(type(self))
        memo[id(self)] = new
        new._become(self)
        for key, value in list_state(self):
            setattr(new, key, copy.deepcopy(value, memo))
        return new


class AbsentScheduler(Absent, Scheduler):
    """Placeholder for a scheduler of a saved result, whose class is not known."""

    instead = "as multipath.scheduler of the flow"
