"""bentpipe: a laboratory for transport protocols over satellite networks.

>>> import bentpipe as bp
>>> scenario = bp.load("geo.toml")                                      # doctest: +SKIP
>>> result = bp.run(scenario)                                           # doctest: +SKIP
>>> comparison = bp.compare(scenario, cc=["reno", "newreno", "sack"])   # doctest: +SKIP
"""

import lazy_loader

from bentpipe.version import __version__ as __version__

# What there is, and where, says `__init__.pyi`. It is loaded when first used: the command line must answer at once, and
# tables and statistics take long to import.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
