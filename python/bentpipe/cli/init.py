"""`bentpipe init`."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from shlex import quote

import click

from bentpipe import files
from bentpipe.catalog import schema
from bentpipe.cli import complete
from bentpipe.cli.help import Command, argument
from bentpipe.errors import BentpipeError

ORBITS = {"geo": ("36,000 km", "260 ms"), "meo": ("8,000 km", "70 ms"), "leo": ("550 km", "15 ms")}
"""Altitude, and one-way delay over the satellite, by name."""
TRAFFIC = {
    "bulk": 'app = "greedy"  # Never ends. A file instead: { kind = "file", size = "20 MB" }.',
    "file": 'app = { kind = "file", size = "20 MB" }  # Its completion time is in the results.',
    "web": 'app = { kind = "page", count = 10 }  # Ten pages of today, with time to read between them.',
}
TEMPLATE = """\
# A server, a gateway and a terminal behind a satellite. Change what you like, then:
#
#   bentpipe check {file}
#   bentpipe run {file} --plot {figure}
#   bentpipe compare {file} --cc cubic,bbr3,vegas
#
# `bentpipe check` prints every key that can stand here, with its default and its source. An editor completes keys after
# `bentpipe schema > scenario.schema.json`, if the first line of this file is `#:schema ./scenario.schema.json`.

title = "{title}"
duration = "60 s"
seed = 1  # Decides everything that is random. The same file and seed give the same results.

# The transport of every flow; [flow.NAME.tcp] changes it for one flow.
[tcp]
cc = "cubic"  # See: bentpipe list cc.
# like = "rfc"  # Hosts as in the RFCs. Default: "{like}". See: bentpipe list like.

# Each link has two directions: forward is `from` to `to`, reverse the way back.
[link.internet]
from = "server"
to = "gateway"
rate = "1 Gbit/s"
delay = "10 ms"

[link.sat]
from = "gateway"
to = "terminal"
delay = "{delay}"  # One way, over a satellite at {altitude}.

[link.sat.forward]
rate = "20 Mbit/s"
queue = "1 bdp"  # Rate times round-trip time; or "100 packets", "256 kB", {{ kind = "codel" }}: bentpipe list queue.
# Losses of the channel: one packet in 100,000, each independent of the others. See: bentpipe list error.
# error = {{ kind = "packet", rate = 1e-5 }}

[link.sat.reverse]
rate = "2 Mbit/s"
queue = "1 bdp"

# What is sent. Flows with other names and starts may follow.
[flow.{traffic}]
{ends}
{app}
"""


@click.command(
    "init",
    cls=Command,
    examples=(
        "init",
        "init mine",
        "init mine --from geo",
        "init mine --from-tc 'tc qdisc add dev eth0 root netem delay 270ms'",
    ),
)
@argument("name", required=False, metavar="[NAME]", help="File to write; .toml is added. Default: scenario.toml.")
@click.option(
    "--from",
    "source",
    metavar="SCENARIO",
    shell_complete=complete.complete_bundled,
    help="Copy a bundled scenario (see: list scenarios).",
)
@click.option(
    "--from-tc",
    "lines",
    metavar="LINES",
    help="Make the scenario from lines of tc: the lines, or 'SCRIPT ARG... NAME=VALUE...'. The script is not run.",
)
def command(name: str | None, source: str | None, lines: str | None) -> None:
    """Write a commented scenario to start from.

    On a terminal it asks which orbit and which traffic. It never overwrites a file.
    """
    if source is not None and lines is not None:
        raise BentpipeError("--from and --from-tc exclude each other\n  expected one of them")
    place = Path(name or f"{source or 'scenario'}.toml")
    place = place if place.suffix == ".toml" else place.with_name(f"{place.name}.toml")
    if not str(place).isprintable():
        raise BentpipeError(f"{str(place)!a} is not a file name\n  expected printable letters")
    # Before the first question.
    if place.exists():
        raise _is_there(place)
    files.refuse_unless_writable(place)
    notes: list[str] = []
    if lines is not None:
        from bentpipe.tc.scenario import from_tc

        made = from_tc(lines)
        text, notes = made.text, made.notes
    else:
        text = _fill_template(place) if source is None else _copy_bundled(source, place)
    try:
        with place.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise _is_there(place) from None
    except OSError as error:
        raise BentpipeError(f"{place} cannot be written: {files.reason(error)}") from error
    for note in notes:
        print(f"note: {note}", file=sys.stderr)
    print(f"Wrote {place}. Try: bentpipe run {quote(str(place))}")


def _is_there(place: Path) -> BentpipeError:
    return BentpipeError(f"{place} exists\n  expected the name of a new file: bentpipe init NAME")


def _copy_bundled(source: str, place: Path) -> str:
    """Copies a bundled scenario; its commands name the copy."""
    from bentpipe.scenario.scenario import shipped_text

    commands = re.compile(rf"^(#  +bentpipe \w+ ){re.escape(source)}(?=\s|$)", re.MULTILINE)
    return commands.sub(lambda found: found[1] + quote(str(place)), shipped_text(source))


def _fill_template(place: Path) -> str:
    """Fills the template with the answers on a terminal, or with a bulk transfer over GEO."""
    orbit, traffic = "geo", "bulk"
    if is_answered():
        orbit = click.prompt("Orbit", type=click.Choice(list(ORBITS)), default=orbit)
        traffic = click.prompt("Traffic", type=click.Choice(list(TRAFFIC)), default=traffic)
    altitude, delay = ORBITS[orbit]
    return TEMPLATE.format(
        like=schema()["$defs"]["Tcp"]["properties"]["like"]["default"],
        file=quote(str(place)),
        figure=quote(f"{place.stem}.png"),
        title=f"{orbit.upper()}, 20/2 Mbit/s, {traffic}",
        altitude=altitude,
        delay=delay,
        traffic=traffic,
        # The node that asks comes first.
        ends=_ends("terminal", "server") if traffic == "web" else _ends("server", "terminal"),
        app=TRAFFIC[traffic],
    )


def _ends(source: str, destination: str) -> str:
    return f'from = "{source}"\nto = "{destination}"'


def is_answered() -> bool:
    """Whether a user can answer on a terminal."""
    return sys.stdin.isatty() and sys.stdout.isatty()
