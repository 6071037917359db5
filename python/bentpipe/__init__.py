"""bentpipe: a laboratory for transport protocols over satellite networks.

>>> import bentpipe as bp
>>> scenario = bp.load("geo.toml")                                      # doctest: +SKIP
>>> result = bp.run(scenario)                                           # doctest: +SKIP
>>> comparison = bp.compare(scenario, cc=["reno", "newreno", "sack"])   # doctest: +SKIP
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from bentpipe.version import __version__ as __version__

if TYPE_CHECKING:
    from collections.abc import Callable


# `__init__.pyi` lists the public names and their modules. Each module is loaded when first used: the command line must
# answer immediately, and tables and statistics take long to import. The list is also read on first use, for processes
# that never need it, such as those of an emulation.
@cache
def _attach_names() -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    import lazy_loader

    attached: tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]
    attached = lazy_loader.attach_stub(__name__, __file__)
    return attached


def __getattr__(name: str) -> Any:
    get, _, names = _attach_names()
    return names if name == "__all__" else get(name)


def __dir__() -> list[str]:
    return _attach_names()[1]()
