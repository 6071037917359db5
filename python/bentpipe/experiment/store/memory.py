"""A store that is nowhere, for experiments of which nothing is to be kept."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

from bentpipe.experiment.store.store import SCHEMA, Store


class Memory(Store):
    """A store for as long as it is open: nothing is written."""

    lasts = False

    def __init__(self) -> None:
        self.folder = Path(":memory:")
        self._is_read_only = False
        self._owner = "this"
        self._index = sqlite3.connect(":memory:", isolation_level=None)
        self._index.executescript(SCHEMA)

    def close(self) -> None:
        """Forget everything."""
        self._index.close()

    def aside(self) -> list[dict[str, Any]]:
        """There was nothing before."""
        return []

    def write(self) -> None:
        """There is nowhere to write to."""

    def keep_replay(self, id_: str, text: str) -> None:
        """There is nowhere to keep it."""
