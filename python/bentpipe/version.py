"""The version of bentpipe."""

from __future__ import annotations

from bentpipe._core import build_info

__version__: str = build_info()["version"]
