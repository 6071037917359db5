"""Opens files from strangers, compressed or not, with limits for size, compression ratio and depth."""

from __future__ import annotations

import json
import lzma
import math
import os
import zlib
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, BinaryIO

from bentpipe.fitting.faults import show_value

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping

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
PIECE = 1 << 20
"""Largest decompressed piece in bytes."""
LZMA_MEMORY = 256 << 20
DEPTH_MAX = 64
MARKS = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
"""Codings by their mark at the begin."""
GZ, XZ = b"\x1f\x8b", b"\xfd7zXZ\x00"


@dataclass(frozen=True)
class Asked:
    """Options of a user about the files."""

    columns: Mapping[str, str] = field(default_factory=dict)
    """`UNIT`, or `MEANING:UNIT`, by the name of a column."""
    stamps: str = "arrival"
    """Meaning of the times of round trips in a CSV file: `arrival` or `send`."""
    interval_s: float | None = None
    """Time between pings without time stamps."""
    direction: str = "forward"
    """Direction of transfers in files without a direction."""
    is_partial: bool = False
    """Whether the readable part of a truncated file is enough."""
    is_paired: bool = False
    """Whether the user gave several files, so that captures may be of both ends."""
    seen: set[str] = field(default_factory=set)
    """Names of all columns so far."""


@dataclass(frozen=True)
class Source:
    """Name and content of a file."""

    name: str
    content: bytes

    @cached_property
    def text(self) -> str:
        # PowerShell writes UTF-16, or UTF-8 with a mark.
        coding = next((name for mark, name in MARKS.items() if self.content.startswith(mark)), "utf-8")
        return self.content.decode(coding, "replace").removeprefix("\ufeff")

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
        return self.text.lstrip()[:1] == "{"

    @cached_property
    def parsed(self) -> tuple[Any, tuple[str, str, str] | None]:
        """The JSON content and its fault: place, message, expectation."""
        try:
            found = json.loads(self.text, parse_constant=_refuse_constant)
        except RecursionError:
            return None, (self.name, f"JSON is deeper than {DEPTH_MAX} levels", "expected the output of a tool")
        except json.JSONDecodeError as error:
            readable = f"readable up to character {error.pos:,} of {len(self.text):,}"
            return None, (f"{self.name}:{error.lineno}", f"not JSON: {error.msg}", f"expected a whole file; {readable}")
        except ValueError as error:
            return None, (self.name, f"not JSON: {show_value(error)}", "expected finite numbers")
        if _depth(found) > DEPTH_MAX:
            return None, (self.name, f"JSON is deeper than {DEPTH_MAX} levels", "expected the output of a tool")
        return found, None

    def has(self, *keys: str) -> bool:
        """Whether the file is a JSON object with these keys, or looks like one if it is damaged."""
        if not self.is_json:
            return False
        content, fault = self.parsed
        if fault is not None:
            return all(f'"{key}"' in self.text for key in keys)
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


def _refuse_constant(name: str) -> float:
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


class Stream:
    """Content of a file, decompressed piece by piece, so that a limit is exceeded by at most one piece.

    Attributes
    ----------
    name : str
    ending : str
        Fault of a truncated compressed file, known after the last piece; empty for a whole file.
    """

    def __init__(self, name: str, file: BinaryIO) -> None:
        self.name = name
        self.ending = ""
        self.size_max = SIZE_MAX
        self._file = file
        # A pipe has no size.
        self._stored = os.fstat(file.fileno()).st_size
        self._read = 0
        self._size = 0
        self._pieces = self._unpack()
        self._first = next(self._pieces, b"")

    @property
    def head(self) -> bytes:
        """The first bytes."""
        return self._first

    @property
    def excess(self) -> tuple[str, str] | None:
        """The fault of a file that became too large: message, expectation."""
        if self._stored > self.size_max:
            return f"{self._stored:,} bytes", f"expected at most {self.size_max >> 20:,} MiB; split the file"
        if self._size <= self.size_max and (self._size <= RATIO_FROM or self._size <= RATIO_MAX * self._stored):
            return None
        limits = f"expected at most {self.size_max >> 20:,} MiB, and a ratio of at most {RATIO_MAX}"
        return f"{self._stored:,} bytes become more than {self._size:,}", limits

    def pieces(self) -> Iterator[bytes]:
        """Yield the content up to its end, or up to a limit."""
        yield self._first
        if self.excess is None:
            for piece in self._pieces:
                yield piece
                if self.excess is not None:
                    return

    def _fresh(self) -> bytes:
        fresh = self._file.read(CHUNK)
        self._read += len(fresh)
        self._stored = max(self._stored, self._read)
        return fresh

    def _unpack(self) -> Iterator[bytes]:
        rest = self._fresh()
        if not rest.startswith((GZ, XZ)):
            while rest:
                self._size += len(rest)
                yield rest
                rest = self._fresh()
            return
        # A member may begin at any place of a chunk, and zeros may be between members.
        while rest := (rest.lstrip(b"\0") if rest.strip(b"\0") else self._fresh()):
            if not rest.strip(b"\0"):
                continue
            if len(rest) < len(XZ):
                rest += self._fresh()
            rest = yield from self._member(rest)
            if self.ending:
                return

    def _member(self, data: bytes) -> Generator[bytes, None, bytes]:
        """Decompress one member. Return the bytes after it."""
        is_gz = data.startswith(GZ)
        unpacker: Any = (
            zlib.decompressobj(31) if is_gz else lzma.LZMADecompressor(format=lzma.FORMAT_XZ, memlimit=LZMA_MEMORY)
        )
        while not unpacker.eof:
            if not data and (is_gz or unpacker.needs_input) and not (data := self._fresh()):
                self.ending = "truncated"
                return b""
            try:
                piece = unpacker.decompress(data, PIECE)
            except (zlib.error, lzma.LZMAError) as error:
                self.ending = f"damaged: {error}"
                return b""
            data = unpacker.unconsumed_tail if is_gz else b""
            self._size += len(piece)
            if piece:
                yield piece
        rest: bytes = unpacker.unused_data
        return rest

    def whole(self, asked: Asked, faults: Faults) -> Source | None:
        """Return the whole content, or add a fault."""
        content = b"".join(self.pieces())
        if (excess := self.excess) is not None:
            faults.wrong(self.name, *excess)
            return None
        if self.ending and not (asked.is_partial and content):
            readable = f"the first {len(content):,} bytes are readable, and `partial` takes them"
            faults.wrong(self.name, f"the compressed file is {self.ending}", f"expected a whole file; {readable}")
            return None
        if self.ending:
            # The last line is cut, too.
            content = content[: content.rfind(b"\n") + 1]
        if not content.strip():
            faults.wrong(self.name, "the file is empty", "expected a record of a measurement")
            return None
        return Source(self.name, content)


def number(value: Any) -> float:
    """Return a finite number; NaN for anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return math.nan
    try:
        found = float(value)
    except OverflowError:
        return math.nan
    return found if math.isfinite(found) else math.nan
