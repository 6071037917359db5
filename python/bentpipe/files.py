"""Files and folders of results that appear whole or not at all, and reports of disk errors."""

from __future__ import annotations

import errno
import io
import json
import os
import platform
import re
import shutil
import tempfile
import zlib
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bentpipe import arguments, forks
from bentpipe.errors import BentpipeError, ScenarioError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import polars as pl

PROVENANCE = "provenance.json"
SHOWN_MAX = 200
"""Maximum number of letters of a name in an error."""


@contextmanager
def writing(place: str | os.PathLike[str]) -> Iterator[None]:
    """Turn every failure to write a file or folder into a `BentpipeError` with the same form of text.

    Raises
    ------
    BentpipeError
        The disk is full, the folder is missing or write-protected, the name is too long, or another error.
    """
    try:
        yield
    except OSError as error:
        raise BentpipeError(f"{_show_place(place)} cannot be written: {reason(error)}") from error


@contextmanager
def reading(place: str | os.PathLike[str]) -> Iterator[None]:
    """Turn the errors of a damaged file or folder into a `BentpipeError` with the same form of text.

    Raises
    ------
    BentpipeError
        A part is missing, or has a form that bentpipe never writes.
    """
    try:
        yield
    except ScenarioError as error:
        # A scenario inside a result has no file.
        if str(place) in str(error):
            raise
        raise make_damaged_error(place, error) from error
    except BentpipeError:
        raise
    except OSError as error:
        raise BentpipeError(f"{_show_place(error.filename or place)} cannot be read: {reason(error)}") from error
    except MALFORMED as error:
        raise make_damaged_error(place, error) from error


def _show_place(place: object) -> str:
    name = str(place)
    return name if len(name) <= SHOWN_MAX else f"{name[:SHOWN_MAX]}..."


MALFORMED = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""Errors that content of another form causes."""


def make_damaged_error(place: str | os.PathLike[str], error: BaseException | str) -> BentpipeError:
    """Return the error for a place whose content bentpipe never writes."""
    named = error if isinstance(error, str) else f"{type(error).__name__}: {error}"
    why = " ".join(named.split())[:200]
    return BentpipeError(f"{place} is damaged: {why}\n  put a copy back, or repeat the runs in another folder")


def not_text(place: str | os.PathLike[str], error: UnicodeDecodeError) -> str:
    """Return the message for a scenario file that is not text, with the first wrong byte."""
    byte, line = error.object[error.start], error.object.count(b"\n", 0, error.start) + 1
    return f"{place} is not text in UTF-8 (byte 0x{byte:02x} in line {line})\n  expected a scenario, saved as UTF-8"


def reason(error: OSError) -> str:
    """Return the message of the system, in small letters and without its number."""
    text = error.strerror or str(error)
    return text[:1].lower() + text[1:]


def replace(path: str | os.PathLike[str], data: bytes, mark: str = "") -> None:
    """Write a file under a temporary name, then rename it. An older file stays until the new file is whole.

    The temporary name is `.NAME.MARK.new`. By default, the mark identifies the process. If that process is killed, the
    next write of the file removes its temporary file.

    Raises
    ------
    OSError
        It cannot be written. The older file is unchanged, and no temporary file stays.
    """
    # A link stays a link: its target is replaced.
    place = Path(os.path.realpath(path))
    if mark:
        # A name may be as long as the system allows.
        fresh = place.with_name(f".{place.name[:40]}.{mark}.new")
    else:
        _clear_leftovers(place)
        fresh = _make_leftover_name(place, "new")
    try:
        with fresh.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(place)
    finally:
        fresh.unlink(missing_ok=True)


def replace_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a text file, and create its folder. The old file stays until the new file is whole."""
    with writing(path):
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        replace(path, text.encode())


def write(
    folder: str | os.PathLike[str],
    form: str,
    *,
    tables: Mapping[str, pl.DataFrame],
    scenario: str,
    provenance: Mapping[str, Any],
) -> None:
    """Write a result folder: whole, or not at all."""

    def fill(place: Path) -> None:
        for name, table in tables.items():
            (place / f"{name}.parquet").write_bytes(parquet(table))
        (place / "scenario.toml").write_text(scenario, encoding="utf-8")

    put_folder(folder, form, fill, provenance=provenance)


def _make_leftover_name(place: Path, kind: str) -> Path:
    """Return a temporary name of this process for a place: `new` for the next content, `old` for the former one."""
    return place.with_name(f"{_make_leftover_stem(place)}.{os.getpid()}.{kind}")


def _make_leftover_stem(place: Path) -> str:
    """Return the beginning of temporary names for a place, by processes whose numbers are comparable."""
    try:
        space = str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        space = ""
    # A name may be as long as the system allows: the checksum is that of the whole name.
    mark = zlib.crc32(f"{platform.node()}/{space}/{place.name}".encode("utf-8", "surrogateescape"))
    return f".{place.name[:40]}.{mark:08x}"


def _clear_leftovers(place: Path) -> None:
    """Remove what killed processes left of a write of this place. A former result without its next one comes back.

    A leftover has a temporary name of this place from a process of this system that has ended, and the same owner.
    """
    pattern = re.compile(re.escape(_make_leftover_stem(place)) + r"\.(\d+)\.(new|old)")
    try:
        names = [entry.name for entry in os.scandir(place.parent)]
    except OSError:
        return
    for match in filter(None, map(pattern.fullmatch, names)):
        left = place.with_name(match[0])
        if left.is_symlink() or left.stat().st_uid != os.geteuid() or _is_alive(int(match[1])):
            continue
        if not left.is_dir():
            left.unlink(missing_ok=True)
        elif match[2] == "old" and not _is_there(place):
            left.rename(place)
        else:
            shutil.rmtree(left, ignore_errors=True)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass
    return True


def put_folder(
    folder: str | os.PathLike[str], form: str, fill: Callable[[Path], object], *, provenance: Mapping[str, Any]
) -> None:
    """Fill a result folder under a temporary name beside it, then put it in place of an older result.

    If the process is killed, the next write of the folder removes the temporary folder. If the killed process had moved
    an older result aside, the next write first brings it back.
    """
    with writing(folder):
        # A link stays a link: its target is replaced.
        place = Path(os.path.realpath(arguments.path("folder", folder)))
        _clear_leftovers(place)
    refuse_unless_free(place)
    fresh, old = _make_leftover_name(place, "new"), _make_leftover_name(place, "old")
    try:
        fresh.mkdir(parents=True)
        fill(fresh)
        sums = {each.name: zlib.crc32(each.read_bytes()) for each in sorted(fresh.glob("*.parquet"))}
        text = (
            json.dumps(
                {"form": form, **provenance, **({"checksums": sums} if sums else {})}, indent=2, ensure_ascii=False
            )
            + "\n"
        )
        (fresh / PROVENANCE).write_text(text, encoding="utf-8")
        if place.exists():
            place.rename(old)
        fresh.rename(place)
    except OSError as error:
        if old.exists() and not place.exists():
            old.rename(place)
        raise BentpipeError(f"{place} cannot be written: {reason(error)}") from error
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
        if place.exists():
            shutil.rmtree(old, ignore_errors=True)


def parquet(table: pl.DataFrame) -> bytes:
    """Return a table as the content of a Parquet file.

    Polars does not write the file, because it reports a full disk in its own way.
    """
    content = io.BytesIO()
    # In one piece, because pieces are visible in the file.
    table.rechunk().write_parquet(content)
    return content.getvalue()


def refuse_unless_free(folder: str | os.PathLike[str]) -> None:
    """Refuse a folder unless it is missing or empty, or has an older result, which may be replaced."""
    place = arguments.path("folder", folder)
    with writing(place):
        is_free = not _is_there(place) or (place.is_dir() and not any(place.iterdir()))
        if not is_free and find_form(place) is None:
            raise BentpipeError(f"{place} exists and is not a bentpipe result\n  choose another folder to save in")
        _refuse_unless_makeable(place)


def refuse_unless_writable_folder(folder: str | os.PathLike[str]) -> None:
    """Refuse a folder unless files can be written into it; it may not exist yet."""
    place = arguments.path("folder", folder)
    with writing(place):
        if not _is_there(place):
            _refuse_unless_makeable(place)
        elif wrong := _why_not(place):
            raise BentpipeError(f"{place} cannot be written: {wrong}\n  choose another folder")


def _is_there(place: Path) -> bool:
    """Whether the place exists. An impossible name, such as a long one, is an error."""
    try:
        place.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def _refuse_unless_makeable(place: Path) -> None:
    parent = next(folder for folder in place.absolute().parents if os.path.lexists(folder))
    if wrong := _why_not(parent):
        raise BentpipeError(f"{place} cannot be written: {wrong}\n  choose another folder to save in")


def refuse_unless_writable(path: str | os.PathLike[str]) -> None:
    """Refuse a file unless it can be written: its folder exists, and the file can be made or replaced."""
    place = Path(path)
    with writing(place):
        if place.is_dir():
            wrong = f"{place} is a folder"
        elif place.exists() and not place.is_file():
            wrong = f"{place} is not a regular file"
        elif place.exists() and not os.access(place, os.W_OK):
            wrong = f"{place} is write-protected"
        else:
            wrong = _why_not(place.parent)
    if wrong:
        raise BentpipeError(f"{place} cannot be written: {wrong}\n  choose another place, or make the folder")


def is_no_result(folder: str | os.PathLike[str]) -> BentpipeError:
    """Return the error for a place that should be a store or a saved result."""
    wrong = "is not a store or a saved result" if os.path.lexists(folder) else "does not exist"
    return BentpipeError(f"{folder} {wrong}\n  expected a folder of bentpipe run, compare, mix, sweep or tune")


def _why_not(folder: Path) -> str:
    """Return the reason why no file can be made in a folder; empty if one can be made."""
    if not os.path.lexists(folder):
        return f"there is no folder {folder}"
    if not folder.is_dir():
        return f"{folder} is not a folder"
    # Permissions are not enough: some file systems reject files from all users.
    try:
        with tempfile.TemporaryFile(dir=folder):
            return ""
    except OSError as error:
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            return f"{folder} is write-protected"
        return f"no file can be made in {folder}: {reason(error)}"


def provenance(folder: str | os.PathLike[str], form: str) -> dict[str, Any]:
    """Return the provenance of a result folder of this form."""
    if find_form(Path(folder)) != form:
        raise BentpipeError(
            f"{Path(folder)} is not the result of a {form}\n  expected a folder with a saved result of {form}"
        )
    with reading(folder):
        return dict(json.loads((Path(folder) / PROVENANCE).read_text(encoding="utf-8")))


def table(folder: str | os.PathLike[str], name: str) -> pl.DataFrame:
    """Read one table of a result folder.

    Raises
    ------
    BentpipeError
        The table is damaged: it cannot be read, or its checksum differs. (Parquet itself does not notice changed
        numbers.)
    """
    forks.refuse()
    import polars as pl

    place = Path(folder) / f"{name}.parquet"
    try:
        with reading(place):
            content = place.read_bytes()
            sums = json.loads((place.parent / PROVENANCE).read_text(encoding="utf-8")).get("checksums", {})
            if zlib.crc32(content) != sums.get(place.name, zlib.crc32(content)):
                raise make_damaged_error(place, "its checksum is not that of the table that was written")
            return pl.read_parquet(io.BytesIO(content))
    except pl.exceptions.PolarsError as error:
        raise make_damaged_error(place, "it is not a whole Parquet file") from error


def find_form(place: Path) -> str | None:
    """Return the form of the result in a folder; None without a result."""
    try:
        content = json.loads((place / PROVENANCE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    form = content.get("form") if isinstance(content, dict) else None
    return form if isinstance(form, str) and form.startswith("bentpipe ") else None


def make_folder(name: str, folder: str | os.PathLike[str]) -> str:
    """Return the folder of the argument `name`, and make it if it is missing. Files in it may be replaced."""
    place = arguments.path(name, folder)
    with writing(place):
        if place.exists() and not place.is_dir():
            raise BentpipeError(f"{{{name}}} is a file\n  expected a folder", **{name: os.fspath(folder)})
        place.mkdir(parents=True, exist_ok=True)
    return str(place)


HOST = "{host}"
"""Place of the host's name in a name of captures."""
CAPTURE_ENDINGS = (".pcapng", ".pcap")
"""Endings of captures. A file of another kind is never replaced by a capture."""


def captures(pcap: str | os.PathLike[str]) -> str:
    """Return the name of captures, with `{host}` in the place of the host's name.

    >>> captures("geo.pcapng"), captures("{host}-of-geo")
    ('geo-{host}.pcapng', '{host}-of-geo.pcapng')

    Raises
    ------
    BentpipeError
        The name is the name of a folder or has the ending of another kind of file, or its folder does not exist.
    """
    place = arguments.path("pcap", pcap)
    given = os.fspath(pcap)
    if place.name in ("", "..") or given.endswith(os.sep):
        raise BentpipeError("{pcap} is not a file name\n  expected one, such as out.pcapng", pcap=given)
    if given == "-":
        raise BentpipeError(
            "{pcap} is not a file name\n  expected a file name, such as out.pcapng: each host has its own file",
            pcap=given,
        )
    if re.search(r"[{}]", place.name.replace(HOST, "")):
        raise BentpipeError(f"{{pcap}}: braces are for host only\n  expected {HOST}, or no braces", pcap=given)
    if place.suffix.lower() not in ("", *CAPTURE_ENDINGS):
        raise BentpipeError(
            f"{{pcap}} has no ending of a capture\n  expected one of {', '.join(CAPTURE_ENDINGS)}, or no ending",
            pcap=given,
        )
    if HOST in str(place.parent):
        raise BentpipeError(
            f"{{pcap}} has {HOST} in the name of a folder\n  expected {HOST} in the name of the file", pcap=given
        )
    with writing(place):
        if place.is_dir():
            raise BentpipeError(
                f"{{pcap}} is a folder\n  expected a file in it, such as {place / 'out.pcapng'}", pcap=given
            )
        if not place.parent.is_dir():
            raise BentpipeError(
                f"{{pcap}}: there is no folder {place.parent}\n  make it, or choose another folder", pcap=given
            )
    stem = place.stem if HOST in place.name else f"{place.stem}-{HOST}"
    return str(place.with_name(f"{stem}{place.suffix or '.pcapng'}"))


def find_capture(pcap: str | os.PathLike[str], host: str) -> Path:
    """Return the file of a host in a capture.

    >>> find_capture("geo.pcapng", "ground/1").as_posix()
    'geo-ground_1.pcapng'
    """
    return Path(captures(pcap).replace(HOST, host.replace("/", "_").replace("\\", "_")))
