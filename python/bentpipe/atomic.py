"""Files that appear whole or not at all, and how a disk that refuses them is reported."""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from bentpipe.errors import BentpipeError

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def writing(place: str | os.PathLike[str]) -> Iterator[None]:
    """Report what goes wrong when a place is written in one way.

    Raises
    ------
    BentpipeError
        The disk is full, the folder is gone or write-protected, the name is too long, or the like.
    """
    try:
        yield
    except OSError as error:
        raise BentpipeError(f"error: {place} cannot be written: {reason(error)}") from error


def reason(error: OSError) -> str:
    """What the system says, in small letters and without its number."""
    text = error.strerror or str(error)
    return text[:1].lower() + text[1:]


def replace(path: str | os.PathLike[str], data: bytes, mark: str = "") -> None:
    """Write a file under a temporary name beside its own, then rename it: an older file stays until this one is whole.

    The temporary name is `.NAME.MARK.new`; by default, the mark is the number of the process.

    Raises
    ------
    OSError
        It cannot be written. The older file is as it was, and nothing is left behind.
    """
    # A link stays a link: what it leads to is replaced.
    place = Path(os.path.realpath(path))
    # A name may be as long as the system allows.
    fresh = place.with_name(f".{place.name[:40]}.{mark or os.getpid()}.new")
    try:
        with fresh.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(place)
    finally:
        fresh.unlink(missing_ok=True)
