"""The faults, and a copy of the sources that has all of them behind a switch.

A fault is a text of a file and its replacement: an expression, or whole statements. In the copy, both are there, and an
environment variable, read once, decides. The sources themselves have no switch.
"""

from __future__ import annotations

import sys
import zlib
from dataclasses import dataclass
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[2]
PLACE = ROOT / "target" / "faults"
COPY = PLACE / "source"
COPIED = ("Cargo.toml", "Cargo.lock", "rust-toolchain.toml", "crates", "validation", "python/bentpipe/scenario/shipped")
"""Files of the crates and their tests."""
VARIABLE = "BENTPIPE_FAULT"
LINTS = b"[workspace.lints.rust]\n"
SWITCH_FILE = "crates/units/src/lib.rs"
SWITCH = f"""
/// Whether the fault with this number is on.
#[inline]
pub fn fault(number: u32) -> bool {{
    static ON: std::sync::LazyLock<u32> =
        std::sync::LazyLock::new(|| std::env::var("{VARIABLE}").map_or(0, |number| number.parse().unwrap_or(0)));
    *ON == number
}}
"""


@dataclass(frozen=True)
class Fault:
    """A fault, with the tests that find it, or the reason why none does."""

    what: str
    file: str
    old: str
    new: str
    found_by: tuple[str, ...] = ()
    missed: str = ""

    @property
    def number(self) -> int:
        """Its value of the variable. It depends on the change only, so another fault builds no other file again."""
        return zlib.crc32(f"{self.file}\n{self.old}\n{self.new}".encode())

    @property
    def area(self) -> str:
        """The folder of its file, as readers know it."""
        crate, _, *folders = Path(self.file).parts[1:-1]
        return "/".join([crate, *folders[:1]])

    def switch(self) -> str:
        """Return the text that takes the place of the old one."""
        units = "crate" if self.file.startswith("crates/units/") else "bentpipe_units"
        both = f"if {units}::fault({self.number}) {{ {self.new} }} else {{ {self.old} }}"
        is_statement = self.old.rstrip().endswith((";", "}"))
        return both if is_statement else f"({both})"


def read_faults() -> list[Fault]:
    """Return the faults of all lists."""
    faults = []
    for path in sorted(Path(__file__).with_name("faults").glob("*.toml")):
        for entry in tomllib.loads(path.read_text(encoding="utf-8"))["fault"]:
            faults.append(Fault(**entry | {"found_by": tuple(entry.get("found_by", ()))}))
    return faults


def insert_faults(text: str, faults: list[Fault]) -> str:
    """Put faults behind their switches into the text of their file."""
    places = sorted(((text.index(fault.old), fault) for fault in faults), key=lambda place: place[0])
    parts, end = [], 0
    for start, fault in places:
        if start < end:
            raise ValueError(f"{fault.file}: {fault.what!r} overlaps with another fault")
        parts += [text[end:start], fault.switch()]
        end = start + len(fault.old)
    return "".join([*parts, text[end:]])


def copy_sources(faults: list[Fault]) -> None:
    """Copy the sources with all faults. A file without a change keeps its time, so Cargo does not build it again."""
    of_file: dict[str, list[Fault]] = {}
    for fault in faults:
        of_file.setdefault(fault.file, []).append(fault)
    wanted = set()
    for name in COPIED:
        source = ROOT / name
        for path in source.rglob("*") if source.is_dir() else [source]:
            if not path.is_file():
                continue
            relative = path.relative_to(ROOT)
            wanted.add(COPY / relative)
            content = path.read_bytes()
            if chosen := of_file.get(relative.as_posix()):
                content = insert_faults(content.decode(), chosen).encode()
            content = content.replace(LINTS, LINTS + b'warnings = "allow"\n')
            if relative.as_posix() == SWITCH_FILE:
                content += SWITCH.encode()
            _write(COPY / relative, content)
    for path in COPY.rglob("*"):
        if path.is_file() and path not in wanted:
            path.unlink()


def _write(path: Path, content: bytes) -> None:
    if not path.is_file() or path.read_bytes() != content:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
