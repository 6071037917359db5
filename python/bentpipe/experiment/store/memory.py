"""Store in memory, for experiments that keep no files."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

from bentpipe.experiment.store.store import SCHEMA, Store


class Memory(Store):
    """A store in memory that lasts while it is open."""

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
        """Return an empty list: there was no earlier store."""
        return []

    def write(self) -> None:
        """Write nothing."""

    def keep_replay(self, id_: str, text: str) -> None:
        """Keep nothing."""
