"""Collects the content of a packed result: tables, files that a scenario names, and sources of custom classes."""

from __future__ import annotations

import ast
import json
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bentpipe import files
from bentpipe.errors import BentpipeError, ScenarioError
from bentpipe.experiment.common.commands import read_value
from bentpipe.experiment.results.comparison import Comparison
from bentpipe.experiment.results.mix import Mix
from bentpipe.experiment.results.mixes import Mixes
from bentpipe.experiment.results.sweep import Sweep
from bentpipe.experiment.single.run_result import FORM as RUN
from bentpipe.experiment.single.run_result import RunResult
from bentpipe.own import loading
from bentpipe.own.fingerprint import compute_code
from bentpipe.packing.archive import RESULT
from bentpipe.scenario.scenario import SHIPPED, Scenario

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from bentpipe.contract.result import Result
    from bentpipe.own.loading import Function, Own, Sender


def find_sweep(result: Result) -> Sweep:
    """Return the runs of a sweep, comparison or mix."""
    found = result.sweep if isinstance(result, (Comparison, Mix, Mixes)) else result
    assert isinstance(found, Sweep), "other results are refused where they are opened"
    return found


def tables(result: Result) -> Iterator[tuple[str, bytes]]:
    """Return the files that saving the result writes, by name."""
    with tempfile.TemporaryDirectory() as place:
        result.save(Path(place) / RESULT)
        for path in sorted((Path(place) / RESULT).iterdir()):
            yield path.name, path.read_bytes()


def find_classes(folder: Path, result: Result, given: Iterable[Sender | Function]) -> dict[str, Own]:
    """Find the custom classes of a result, by name: given classes first, then classes at their recorded places.

    Raises
    ------
    ScenarioError
        A class has no known place, is not in a file, or its code has changed.
    """
    if isinstance(result, RunResult):
        codes = {name: compute_code(cls) for name, cls in result.scenario.senders.items()}
        places = dict(files.provenance(folder, RUN).get("classes", {}))
    else:
        senders = find_sweep(result).facts["senders"]
        codes = {name: each["code"] for name, each in senders.items()}
        places = {name: each["class"] for name, each in senders.items()}
    known = {loading.find_name(cls): cls for cls in map(loading.load_class, given)}
    return {name: _find_class(name, code, known.get(name) or places.get(name)) for name, code in codes.items()}


def _find_class(name: str, code: str, place: Any) -> Own:
    if place is None:
        raise ScenarioError(
            f"{name} is a class of a notebook or of a program, which has no file\n"
            f"  expected it in a file, and a run with FILE.py:{name}"
        )
    cls: Own | str = loading.load_class(place)
    if isinstance(cls, str):
        cls = loading.find_any_plugin(cls) or cls
    if isinstance(cls, str):
        raise ScenarioError(
            f"{name} is of a package that is not installed any more\n  expected it installed, to be packed"
        )
    if compute_code(cls) != code:
        raise ScenarioError(
            f"{name} is not the class of the result: its code has changed\n"
            "  expected the former class, or a new run with this class"
        )
    if loading.where(cls) is None:
        return _find_class(name, code, None)
    return cls


def find_own_file(cls: type) -> str:
    """Return the place of a class below its folder, as `FILE.py:CLASS`."""
    return f"{Path(str(sys.modules[cls.__module__].__file__)).name}:{cls.__qualname__}"


def sources(cls: type) -> Iterator[tuple[str, bytes]]:
    """Return the file of a class, and each file beside or below it that it imports, by names below its folder.

    An imported package beside the file is included as a whole. Installed packages are left out; the user installs them.
    """
    module = sys.modules[cls.__module__]
    first = Path(str(module.__file__))
    yield first.name, vars(module)["__source__"]
    seen, open_ = {first}, [vars(module)["__source__"]]
    while open_:
        for path in _find_imported(open_.pop(), first.parent):
            if path not in seen:
                seen.add(path)
                open_.append(path.read_bytes())
                yield path.relative_to(first.parent).as_posix(), open_[-1]


def _find_imported(source: bytes, folder: Path) -> Iterator[Path]:
    """Return the files in a folder that a source imports."""
    for node in ast.walk(ast.parse(source)):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module] if isinstance(node, ast.ImportFrom) and node.module else []
        for name in {name.partition(".")[0] for name in names}:
            if (folder / f"{name}.py").is_file():
                yield folder / f"{name}.py"
            elif (folder / name / "__init__.py").is_file():
                yield from sorted((folder / name).rglob("*.py"))


def find_named_files(sweep: Sweep) -> dict[str, bytes]:
    """Read each file that the scenario of a sweep or an override names; return the contents by path in its folder.

    A text names a file if the scenario's folder has a file of this name.
    """
    folder = find_folder(sweep.facts["source"])
    text, form = sweep.facts["written"]
    content = [json.loads(text) if form == "json" else tomllib.loads(text)]
    content += [read_value(value) for _, value in sweep.facts["sets"]]
    found = {}
    for name in sorted({name for part in content for name in _texts(part)}):
        place = folder / name
        # As the scenario reads files: below its folder only.
        if len(name) < 1024 and "\0" not in name and place.is_file() and place.resolve().is_relative_to(folder):
            found[place.relative_to(folder).as_posix()] = place.read_bytes()
    return found


def find_folder(source: str) -> Path:
    """Return the folder of the files that a scenario names."""
    place = Path(source)
    return (place.parent if place.is_file() else SHIPPED).resolve()


def hide_folders(sweep: Sweep) -> None:
    """Leave only the names of files in the facts of a sweep: of its scenario and of custom classes."""
    senders = {
        name: {**each, "class": each["class"] and Path(each["class"]).name}
        for name, each in sweep.facts["senders"].items()
    }
    sweep.facts.update(source=Path(sweep.facts["source"]).name, senders=senders)


def _texts(content: Any) -> Iterator[str]:
    """Return every text in plain data."""
    if isinstance(content, str):
        yield content
    elif isinstance(content, dict):
        for value in content.values():
            yield from _texts(value)
    elif isinstance(content, list):
        for value in content:
            yield from _texts(value)


def check_scenario(sweep: Sweep, own: Mapping[str, Own], beside: Mapping[str, bytes]) -> None:
    """Check that the scenario and the files to pack give the scenario that ran.

    Raises
    ------
    BentpipeError
        A file that the scenario names is missing or has changed.
    """
    facts = sweep.facts
    text, form = facts["written"]
    with tempfile.TemporaryDirectory() as place:
        for name, data in beside.items():
            (Path(place) / name).parent.mkdir(parents=True, exist_ok=True)
            (Path(place) / name).write_bytes(data)
        try:
            here = Scenario(text, form=form, source=facts["source"], sets=facts["sets"], folder=place, senders=own)
        except ScenarioError as error:
            raise BentpipeError(f"the scenario of this result cannot be read any more\n{error}") from error
    if here.digest != Scenario(facts["scenario"], senders=own).digest:
        raise BentpipeError(
            f"the files that {facts['source']} names have changed since the runs, or are missing: "
            f"{', '.join(beside) or 'none is there'}\n  expected the former files, or new runs"
        )
