"""Loads and calls the code of a paper's folder: modules, functions for claims and figures, and their errors."""

from __future__ import annotations

import hashlib
import importlib
import inspect
import os
import sys
import traceback
from importlib.machinery import ModuleSpec
from importlib.util import module_from_spec
from typing import TYPE_CHECKING, Any, TypeVar

from bentpipe.catalog import unknown
from bentpipe.errors import BentpipeError, PaperError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import ModuleType

    from bentpipe.papers.claims import Claim, Paper
    from bentpipe.papers.lab import Finding, Lab, Possible

T = TypeVar("T")

MEASURES, FIGURES = "measures", "figures"


def module(paper: Paper, name: str) -> ModuleType:
    """Import a module of a paper's folder. The folder is a separate package, so modules can import each other by `.`.

    Raises
    ------
    PaperError
        The module is missing or cannot be imported. The message has the traceback.
    """
    path = paper.folder / f"{name}.py"
    if not path.is_file():
        raise PaperError(
            f"{paper.folder} has no {path.name}\n  expected the files of a paper, as reproduce writes for a new one"
        )
    # The name depends on the content, so changed files are imported again in a notebook.
    content = hashlib.sha256(os.fsencode(paper.folder.resolve()))
    for each in sorted(paper.folder.glob("*.py")):
        content.update(each.read_bytes())
    package = f"_bentpipe_paper_{content.hexdigest()[:16]}"
    if package not in sys.modules:
        spec = ModuleSpec(package, None, is_package=True)
        spec.submodule_search_locations = [str(paper.folder.resolve())]
        sys.modules[package] = module_from_spec(spec)
        importlib.invalidate_caches()
    # Python takes a kept module for current if its source has the same second and length as before.
    writes, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        return importlib.import_module(f"{package}.{name}")
    except (Exception, SystemExit) as error:
        raise PaperError(f"{path} cannot be imported\n\n{_traceback(paper, error)}") from error
    finally:
        sys.dont_write_bytecode = writes


def check(paper: Paper) -> None:
    """Reject unknown functions and arguments before the first run.

    Raises
    ------
    PaperError
    """
    for whole in paper.claims:
        for claim in whole.parts or (whole,):
            for name in filter(None, (claim.measure, claim.possible)):
                found = _function(paper, MEASURES, name, claim.id)
                given = [(reading.name, reading.arguments) for reading in claim.readings]
                if claim.without is not None and name == claim.measure:
                    given += [(f"{label}, without", {**sets, **claim.without.arguments}) for label, sets in given]
                for label, arguments in given:
                    try:
                        inspect.signature(found).bind(None, **arguments)
                    except TypeError as error:
                        raise PaperError(
                            f"{paper.folder / 'claims.toml'}: {claim.id} ({label}): {error}\n"
                            f"  expected what {name} in measures.py takes besides the lab"
                        ) from None
    for figure in paper.figures:
        _function(paper, FIGURES, figure.draw, f"the figure {figure.name}")


def measure_claim(paper: Paper, claim: Claim, reading: str, lab: Lab, arguments: Mapping[str, Any]) -> Finding:
    """Measure the value of a claim, in a reading of the paper.

    Raises
    ------
    PaperError
        The measure failed, or returned a wrong type.
    """
    # Listing claims does not import the engine, which takes long.
    from bentpipe.papers.lab import Finding

    return _call_function(paper, str(claim.measure), f"{claim.id} ({reading})", lab, arguments, Finding)


def possible(paper: Paper, claim: Claim, reading: str, lab: Lab, arguments: Mapping[str, Any]) -> Possible:
    """Return the values that arithmetic allows for a claim, in a reading of the paper.

    Errors are as in `measure_claim`.
    """
    from bentpipe.papers.lab import Possible

    return _call_function(paper, str(claim.possible), f"{claim.id} ({reading})", lab, arguments, Possible)


def draw_figure(paper: Paper, name: str, draw: str, lab: Lab) -> Any:
    """Draw a figure of the paper. Errors are as in `measure_claim`."""
    from matplotlib.figure import Figure

    return _call_function(paper, draw, f"the figure {name}", lab, {}, Figure, FIGURES)


def _call_function(
    paper: Paper, name: str, what: str, lab: Lab, arguments: Mapping[str, Any], kind: type[T], file: str = MEASURES
) -> T:
    function = _function(paper, file, name, what)
    place = f"{name} of {paper.folder / file}.py"
    try:
        result = function(lab, **arguments)
    except BentpipeError as error:
        raise PaperError(f"{what}: {place}: {error}") from error
    except (Exception, SystemExit) as error:
        raise PaperError(f"{what}: {place} failed\n\n{_traceback(paper, error)}") from error
    if not isinstance(result, kind):
        raise PaperError(f"{what}: {place} returned {result!r}\n  expected a {kind.__name__}")
    return result


def _function(paper: Paper, file: str, name: str, what: str) -> Callable[..., Any]:
    found = module(paper, file)
    function = getattr(found, name, None)
    if not callable(function):
        own = [key for key, value in vars(found).items() if inspect.isfunction(value) and not key.startswith("_")]
        raise PaperError(f"{what}: {unknown(name, f'a function of {paper.folder / file}.py', own)}")
    return function  # type: ignore[no-any-return]


def _traceback(paper: Paper, error: BaseException) -> str:
    """The traceback from the first line in the paper's folder on, without bentpipe's own lines."""
    folder, frames = str(paper.folder.resolve()), error.__traceback__
    while frames is not None and not frames.tb_frame.f_code.co_filename.startswith(folder):
        frames = frames.tb_next
    return "".join(traceback.format_exception(type(error), error, frames)).rstrip()
