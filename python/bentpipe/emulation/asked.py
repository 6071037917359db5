"""The commands that repeat work in real time."""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING, Any

from bentpipe.errors import BentpipeError
from bentpipe.experiment.common.commands import has_file, refuse_without_command, spelled_arguments
from bentpipe.experiment.common.provenance import collect_facts
from bentpipe.own import loading

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bentpipe.contract.result import Result
    from bentpipe.scenario.scenario import Scenario


def collect_asked(scenario: Scenario, options: Mapping[str, Any], command: Sequence[str] = ()) -> dict[str, Any]:
    """Collect the parts of the command that repeats the work: origin of the scenario, options, and the program."""
    given = {name: value for name, value in options.items() if value not in (None, False)}
    plain = {name: _plain(each) for name, each in given.items()}
    return {"facts": collect_facts(scenario), "options": plain, "command": list(command)}


def _plain(value: Any) -> Any:
    """A value for JSON: a path as text, a class as `FILE.py:CLASS`."""
    if isinstance(value, type):
        return loading.where(value) or value.__name__
    return os.fspath(value) if isinstance(value, os.PathLike) else value


def real_time_command(verb: str, asked: Mapping[str, Any]) -> str:
    """Write the command, for a shell.

    Raises
    ------
    BentpipeError
        The scenario or a class was given in Python.
    """
    facts = asked["facts"]
    refuse_without_command(facts, has_file=has_file(facts))
    words = [facts["source"], *spelled_arguments(facts)]
    for name, value in asked["options"].items():
        # Programs at nodes are written as `--at NODE=CMD`.
        option = "--at" if name == "programs" else f"--{name.replace('_', '-')}"
        words += [option] if value is True else [word for each in _spell_values(value) for word in (option, each)]
    program = ["--", *asked["command"]] if asked["command"] else []
    return shlex.join(["bentpipe", verb, *words, *program])


def command_or_none(result: Result) -> str:
    """The command of a result, or an empty text."""
    try:
        return result.command()
    except BentpipeError:
        return ""


def _spell_values(value: Any) -> list[str]:
    """Values of an option, spelled for a shell."""
    if isinstance(value, dict):
        return [f"{name}={share}" for name, each in value.items() for share in _spell_values(each)]
    if isinstance(value, float):
        return [f"{100 * value:.10g}%"]
    return [shlex.join(value)] if isinstance(value, (list, tuple)) else [str(value)]
