"""Files with which an engineer applies recommended settings: `tuned.toml`, `apply.sh`, `undo.sh`, `NOTES.md`.

The files are never executed here. Each line names its node, key and reason.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bentpipe import files
from bentpipe.errors import BentpipeError
from bentpipe.scenario.editing import edit_text
from bentpipe.tuning.script import DEVICES, write_script
from bentpipe.tuning.sentences import settings, statements

if TYPE_CHECKING:
    from pathlib import Path

    from bentpipe.tuning.result import Tuning
    from bentpipe.tuning.script import Script

FORM = "bentpipe settings"


@dataclass(frozen=True)
class Applied:
    """Written files."""

    folder: Path
    files: list[Path]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {"folder": str(self.folder), "files": [str(path) for path in self.files]}


def apply(tuning: Tuning, folder: Path) -> Applied:
    """Write all files into a folder, in place of older ones.

    Raises
    ------
    BentpipeError
        There is no recommended setting, or the folder cannot be written.
    """
    if not tuning.recommended:
        raise BentpipeError(
            f"the verdict is {tuning.verdict}: no setting is recommended\n  leave the settings as they are"
        )
    files.refuse_unless_free(folder)
    script = write_script(tuning.default, tuning.recommended)
    written = {
        "tuned.toml": write_tuned(tuning),
        "apply.sh": _shell(tuning, script, "do"),
        "undo.sh": _shell(tuning, script, "undo"),
        "NOTES.md": _notes(tuning, script),
    }

    def fill(place: Path) -> None:
        for name, text in written.items():
            (place / name).write_text(text, encoding="utf-8")
            if name.endswith(".sh"):
                (place / name).chmod(0o755)

    files.put_folder(folder, FORM, fill, provenance={"scenario_digest": tuning.scenario.digest})
    return Applied(folder, [folder / name for name in written])


def write_tuned(tuning: Tuning) -> str:
    """Return the scenario with the settings, with the comments of the file.

    Overrides of the command line that are part of the result are in it, too.
    """
    scenario = tuning.scenario
    text, form = scenario.written
    if form != "toml":
        return scenario.resolve()
    for key, literal in scenario.sets:
        if not key.startswith("tune."):
            text = edit_text(text, key, literal)
    return text


def _shell(tuning: Tuning, script: Script, which: str) -> str:
    """Write a script with a function for each node: `sh apply.sh NODE` runs the lines of one node."""
    does = "Applies" if which == "do" else "Takes back"
    head = [
        "#!/bin/sh",
        f"# {does} the settings that bentpipe tune recommends for: {_line(tuning.title)}",
        f"# Run it at each node, as root: DEV=eth0 sh {'apply' if which == 'do' else 'undo'}.sh NODE.",
        *(f"# {name} is {meaning}." for name, meaning in DEVICES.items()),
        f"# Scenario {tuning.content['scenario_digest']}, bentpipe {tuning.content['engine']['version']}",
        "set -eu",
        'case "${1:?expected the name of a node}" in',
    ]
    body = []
    for node in dict.fromkeys(line.node for line in script.lines):
        body.append(f"{_quote_text(node)})")
        lines = [line for line in script.lines if line.node == node]
        # A missing variable ends the script before its first command.
        links = {script.device(node, link): link for link in script.links.get(node, [])}
        body += [f"    # {name} is the device of {_line(link)}." for name, link in links.items()]
        for name in (*DEVICES, *list(links)[1:]):
            if any(f'"${name}"' in line.do for line in lines):
                # No name of a scenario is here: the shell would expand it.
                body.append(f'    : "${{{name}:?expected {DEVICES.get(name, "the device of another link")}}}"')
        for line in lines if which == "do" else reversed(lines):
            command = line.do if which == "do" else line.undo
            if command != "true":
                body += [f"    # {_line(line.why)}", f"    {command}"]
        body.append("    ;;")
    return "\n".join([*head, *body, '*) echo "unknown node $1" >&2; exit 2 ;;', "esac", ""])


def _line(text: str) -> str:
    """Keep a text in its line of a script."""
    return " ".join(text.split())


def _quote_text(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _notes(tuning: Tuning, script: Script) -> str:
    content = tuning.content
    lines = [
        f"# Settings for {tuning.title}",
        "",
        *(f"- {each}" for each in settings(content)),
        "",
        *statements(content),
        "",
        "## Before you apply them",
        "",
        "- The scripts are proposals: read them first. Each line names its key.",
        "- `DEV` is the device towards the satellite. `PREFIX` and `GW` are the route's prefix and gateway.",
        "- `undo.sh` sets the values of the scenario, or the defaults of the kernel. Write down your own values first.",
        "- Settings of a transport apply to new connections.",
        "- nginx and HAProxy take the settings of the route and the kernel. `sndbuf` and `rcvbuf` of `listen` fix the"
        " buffers and switch auto-tuning off. Accepted sockets have the congestion control of the listener.",
        *(f"- {note}" for note in dict.fromkeys(script.notes)),
        "",
    ]
    return "\n".join(lines)
