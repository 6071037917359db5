"""Writes files for engineers who apply the recommended settings: `tuned.toml`, `apply.sh`, `undo.sh`, `NOTES.md`.

The files are never executed here. Each line names its node, key and reason.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bentpipe import files
from bentpipe.errors import BentpipeError
from bentpipe.scenario.editing import edit_text
from bentpipe.tuning import shell
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
        "apply.sh": _write_apply(tuning, script),
        "undo.sh": _write_undo(tuning),
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
    """Return the text of the scenario file with the recommended settings; its comments stay.

    It also has the overrides of the command line that the search used.
    """
    scenario = tuning.scenario
    text, form = scenario.written
    if form != "toml":
        return scenario.resolve()
    for key, literal in scenario.sets:
        if not key.startswith("tune."):
            text = edit_text(text, key, literal)
    return text


def _write_apply(tuning: Tuning, script: Script) -> str:
    """Write a script with a function for each node: `sh apply.sh NODE` runs the lines of one node."""
    head = [
        *_head(tuning, "Applies the settings that bentpipe tune recommends for"),
        "# Run it at each node, as root: DEV=eth0 sh apply.sh NODE.",
        *(f"# {name} is {meaning}." for name, meaning in DEVICES.items()),
        "# If PREFIX has several routes, DEV and GW are the device and the gateway of one of them.",
        "set -eu",
        shell.SAVED,
        shell.RESTORE,
        shell.CHANGE,
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
        body += [f"    {line}" for line in shell.BEGIN.splitlines()]
        for line in lines:
            body += [f"    # {_line(line.why)}", f"    {line.do}"]
        body.append("    ;;")
    return "\n".join([*head, *body, '*) echo "unknown node $1" >&2; exit 2 ;;', "esac", ""])


def _write_undo(tuning: Tuning) -> str:
    head = _head(tuning, "Restores what apply.sh has found at this node, for the settings of")
    return "\n".join([*head, "# Run it as root: sh undo.sh.", "set -eu", shell.SAVED, shell.RESTORE, shell.UNDO])


def _head(tuning: Tuning, does: str) -> list[str]:
    engine = tuning.content["engine"]["version"]
    return [
        "#!/bin/sh",
        f"# {does}: {_line(tuning.title)}",
        f"# Scenario {tuning.content['scenario_digest']}, bentpipe {engine}",
    ]


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
        "- `DEV` is the device towards the satellite, and `PREFIX` the prefix of the route.",
        "- `apply.sh` saves each value that it finds in `/run/bentpipe-settings`. Its first error restores them all.",
        "- `undo.sh` restores the saved values.",
        "- Nothing survives a reboot of the host: run `apply.sh` again after it.",
        "- Linux remembers the slow-start threshold and round trip of each destination. Run `ip tcp_metrics flush all`"
        " at both ends before each measurement of a comparison.",
        "- Settings of a transport apply to new connections.",
        "- nginx and HAProxy take the settings of the route and the kernel. `sndbuf` and `rcvbuf` of `listen` fix the"
        " buffers and switch auto-tuning off. Accepted sockets have the congestion control of the listener.",
        *(f"- {note}" for note in dict.fromkeys(script.notes)),
        "",
    ]
    return "\n".join(lines)
