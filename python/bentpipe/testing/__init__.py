"""Tools for your tests: a pytest plugin that runs programs over paths, and checks of custom classes.

The fixture `path` runs real programs, see `bentpipe.testing.path`. The checks of this module run custom congestion
controls and middleboxes, see `bentpipe.testing.checks`.
"""

from __future__ import annotations

import lazy_loader

# `__init__.pyi` lists the checks. pytest loads the plugin in each session, and checks only for a test that uses one.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
