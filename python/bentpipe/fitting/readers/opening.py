"""Opens files of strangers: compressed or not, with limits of size, ratio and depth."""

from __future__ import annotations

import json
import lzma
import math
import zlib
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from bentpipe import files
from bentpipe.fitting.faults import shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from bentpipe.fitting.faults import Faults

SIZE_MAX = 128 << 20
"""Largest size of a measurement in bytes, after decompression: hours of probes at 1 ms."""
LINE_MAX = 4096
"""Letters of a line that are read. Longer lines are of no tool, and would take long to search."""
RATIO_MAX = 200
"""Largest ratio of compression. Records of measurements stay below 50."""
RATIO_FROM = 1 << 20
"""Least size in bytes for the limit of the ratio."""
CHUNK = 1 << 16
LZMA_MEMORY = 256 << 20
DEPTH_MAX = 64
GZ, XZ = b"\x1f\x8b", b"\xfd7zXZ\x00"


@dataclass(frozen=True)
class Asked:
    """Options of a user about the files."""

    columns: Mapping[str, str] = field(default_factory=dict)
    """`UNIT`, or `MEANING:UNIT`, by the name of a column."""
    stamps: str = "arrival"
    """Meaning of times beside round trips: `arrival` or `send`."""
    interval_s: float | None = None
    """Time between pings without time stamps."""
    direction: str = "forward"
    """Direction of transfers in files without a direction."""
    is_partial: bool = False
    """Whether the readable part of a truncated file is enough."""
    seen: set[str] = field(default_factory=set)
    """Names of all columns so far."""


@dataclass(frozen=True)
class Source:
    """Name and content of a file."""

    name: str
    content: bytes

    @cached_property
    def text(self) -> str:
        return self.content.decode("utf-8", "replace").removeprefix("\ufeff")

    def lines(self) -> Iterator[tuple[int, str]]:
        """Yield the number and the text of each line that is not empty."""
        for number, line in enumerate(self.text.splitlines(), 1):
            if line.strip():
                yield number, line[:LINE_MAX]

    def head(self, count: int = 50) -> list[str]:
        """Return the first lines."""
        return [line[:LINE_MAX] for line in self.text[: CHUNK * 4].splitlines()[:count]]

    @property
    def is_json(self) -> bool:
        return self.content.lstrip()[:1] == b"{"

    @cached_property
    def parsed(self) -> tuple[Any, tuple[str, str, str] | None]:
        """The JSON content and its fault: place, message, expectation."""
        try:
            found = json.loads(self.text, parse_constant=_refused)
        except RecursionError:
            return None, (self.name, f"JSON is deeper than {DEPTH_MAX} levels", "expected the output of a tool")
        except json.JSONDecodeError as error:
            readable = f"readable up to character {error.pos:,} of {len(self.text):,}"
            return None, (f"{self.name}:{error.lineno}", f"not JSON: {error.msg}", f"expected a whole file; {readable}")
        except ValueError as error:
            return None, (self.name, f"not JSON: {shown(error)}", "expected finite numbers")
        if _depth(found) > DEPTH_MAX:
            return None, (self.name, f"JSON is deeper than {DEPTH_MAX} levels", "expected the output of a tool")
        return found, None

    def has(self, *keys: str) -> bool:
        """Whether the file is a JSON object with these keys, or looks like it where it cannot be read."""
        if not self.is_json:
            return False
        content, fault = self.parsed
        if fault is not None:
            return all(f'"{key}"'.encode() in self.content for key in keys)
        return isinstance(content, dict) and all(key in content for key in keys)

    def json(self, faults: Faults, *keys: str) -> dict[str, Any] | None:
        """Return the JSON object that has these keys, or add its fault."""
        content, fault = self.parsed
        if fault is None and not isinstance(content, dict):
            fault = (self.name, "not a JSON object", "expected the output of a tool")
        if fault is None and (missing := [key for key in keys if key not in content]):
            fault = (self.name, f"has no {' and no '.join(missing)}", f"expected an object with {', '.join(keys)}")
        if fault is not None:
            faults.wrong(*fault)
            return None
        found: dict[str, Any] = content
        return found


def _refused(name: str) -> float:
    raise ValueError(name)


def _depth(content: Any) -> int:
    """Return the number of levels, at most one more than the limit."""
    level, depth = [content], 0
    while level and depth <= DEPTH_MAX:
        below: list[Any] = []
        for each in level:
            if isinstance(each, dict):
                below += [value for value in each.values() if isinstance(value, (dict, list))]
            elif isinstance(each, list):
                below += [value for value in each if isinstance(value, (dict, list))]
        level, depth = below, depth + 1
    return depth


def opened(path: Path, asked: Asked, faults: Faults) -> Source | None:
    """Read a file whole, decompressed, or add a fault."""
    name = path.name
    try:
        size = path.stat().st_size
        if size > SIZE_MAX:
            faults.wrong(name, f"{size:,} bytes", f"expected at most {SIZE_MAX >> 20} MiB; split the file")
            return None
        with path.open("rb") as file:
            content = file.read(SIZE_MAX + 1)
    except OSError as error:
        faults.wrong(str(path), f"cannot be read: {files.reason(error)}", "expected a file of a measurement")
        return None
    if content.startswith((GZ, XZ)):
        unpacked = _unpacked(name, content, asked, faults)
        if unpacked is None:
            return None
        content = unpacked
    if not content.strip():
        faults.wrong(name, "the file is empty", "expected a record of a measurement")
        return None
    return Source(name, content)


def _unpacked(name: str, content: bytes, asked: Asked, faults: Faults) -> bytes | None:
    """Decompress step by step, so that no limit is passed by more than a step."""
    found, place, ending = bytearray(), 0, ""
    while place < len(content) and content[place:].strip(b"\0"):
        unpacker = (
            zlib.decompressobj(31)
            if content[place:].startswith(GZ)
            else lzma.LZMADecompressor(format=lzma.FORMAT_XZ, memlimit=LZMA_MEMORY)
        )
        try:
            place, is_whole = _member(unpacker, content, place, found)
        except (zlib.error, lzma.LZMAError) as error:
            ending = f"damaged: {error}"
            break
        if len(found) > SIZE_MAX or (len(found) > RATIO_FROM and len(found) > RATIO_MAX * len(content)):
            limits = f"expected at most {SIZE_MAX >> 20} MiB, and a ratio of at most {RATIO_MAX}"
            faults.wrong(name, f"{len(content):,} bytes become more than {len(found):,}", limits)
            return None
        if not is_whole:
            ending = "truncated"
            break
    if ending and not (asked.is_partial and found):
        faults.wrong(
            name,
            f"the compressed file is {ending}",
            f"expected a whole file; the first {len(found):,} bytes are readable, and `partial` takes them",
        )
        return None
    if ending:
        # The last line is cut, too.
        return bytes(found[: found.rfind(b"\n") + 1])
    return bytes(found)


def _member(unpacker: Any, content: bytes, place: int, found: bytearray) -> tuple[int, bool]:
    """Decompress one member into `found`. Return the place after it, and whether it was whole."""
    is_gz = not hasattr(unpacker, "needs_input")
    rest = b""
    while not unpacker.eof:
        fresh = content[place : place + CHUNK] if not rest and (is_gz or unpacker.needs_input) else b""
        place += len(fresh)
        data = rest + fresh
        if not data and (is_gz or unpacker.needs_input):
            return place, False
        found += unpacker.decompress(data, CHUNK * 16)
        rest = unpacker.unconsumed_tail if is_gz else b""
        if len(found) > SIZE_MAX or (len(found) > RATIO_FROM and len(found) > RATIO_MAX * len(content)):
            return place, True
    return place - len(unpacker.unused_data), True


def number(value: Any) -> float:
    """Return a finite number; NaN for anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return math.nan
    try:
        found = float(value)
    except OverflowError:
        return math.nan
    return found if math.isfinite(found) else math.nan
