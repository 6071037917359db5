"""Options that the commands of the sky share, with the names of the keys of `[sky]`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from bentpipe.cli import complete, options
from bentpipe.cli.help import argument

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    Function = TypeVar("Function", bound=Callable[..., Any])


def stack_options(*chosen: Callable[[Function], Function]) -> Callable[[Function], Function]:
    """Several options as one decorator, in this order."""

    def decorate(function: Function) -> Function:
        for each in reversed(chosen):
            function = each(function)
        return function

    return decorate


def times(duration: str, step: str) -> Callable[[Function], Function]:
    return stack_options(
        click.option("--duration", default=duration, show_default=True, metavar="TIME", help="Duration of the look."),
        click.option("--step", default=step, show_default=True, metavar="TIME", help="Time between two instants."),
    )


def place(name: str, what: str) -> Callable[[Function], Function]:
    help = f"{what}: a city (see: list places), or degrees north and east: '51.5N 0.12W'."
    return argument(name, metavar=name.upper(), shell_complete=complete.places, help=help)


over = click.option(
    "--over",
    required=True,
    metavar="NAME|FILE",
    shell_complete=complete.constellations,
    help="Constellation (see: list constellations), file of element sets (TLE or OMM), GEO slot (geo:19.2E), or"
    " Walker's numbers and height in km (delta:53:1584/72/39:550, star:...).",
)
moment = stack_options(
    click.option(
        "--start",
        metavar="UTC",
        help="Instant of time 0: 2026-06-14T12:00. Default: 2000-01-01, for element sets the median of their epochs.",
    ),
    click.option("--at", default="0 s", show_default=True, metavar="TIME", help="Time after the start."),
)
elevation = click.option(
    "--elevation-min",
    metavar="DEGREES",
    help="Least elevation of a satellite in use. Default: that of the constellation, 25 for element sets, 5 for geo:.",
)
reach = stack_options(
    elevation,
    click.option(
        "--range-max-km", type=float, metavar="KM", help="Use satellites up to this distance, at any elevation."
    ),
)
orbits = stack_options(
    click.option(
        "--motion",
        metavar="j2|kepler|sgp4",
        shell_complete=complete.complete_names(("j2", "kepler", "sgp4")),
        help="Orbit model of shells. Default: that of the constellation, mostly j2.",
    ),
    click.option(
        "--mean-motion",
        type=float,
        metavar="REV/DAY",
        help="Revolutions per day, instead of the height; for a constellation of one shell.",
    ),
    click.option(
        "--odd-planes",
        type=float,
        metavar="DEGREES",
        help="Lead of every other plane, instead of the phasing; for a constellation of one shell.",
    ),
)
between = click.option(
    "--between-satellites",
    metavar="none|grid|grid-and-seam",
    shell_complete=complete.complete_names(("none", "grid", "grid-and-seam")),
    help="Links between satellites. Default: those of the constellation.",
)
bad = click.option(
    "--bad",
    default="refuse",
    show_default=True,
    metavar="refuse|skip",
    shell_complete=complete.complete_names(("refuse", "skip")),
    help="Reject a file with bad or too old records, or leave these records out.",
)
age_max = click.option(
    "--elements-age-max",
    metavar="TIME",
    help="Reject elements with an epoch farther than this from any instant: 200d. [default: 90 d]",
)
gateways = stack_options(
    click.option(
        "--gateway",
        multiple=True,
        metavar="PLACE",
        shell_complete=complete.places,
        help="Ground station that forwards packets. Repeatable.",
    ),
    click.option(
        "--relay",
        default="fibre",
        show_default=True,
        metavar="fibre|ground",
        shell_complete=complete.complete_names(("fibre", "ground")),
        help="Path from gateway to gateway: by fibre, or up again to any satellite (a zigzag).",
    ),
    click.option(
        "--stretch",
        type=float,
        default=1.5,
        show_default=True,
        metavar="FACTOR",
        help="Length of fibres between gateways, relative to the great circle.",
    ),
)
choice = stack_options(
    click.option(
        "--selection",
        default="any",
        show_default=True,
        metavar="RULE",
        shell_complete=complete.selections,
        help="Satellite of each end: any (best path), highest, nearest, longest (until it sets), periodic (checks every"
        " 10 s, as ns-2), starlink (random every 15 s).",
    ),
    click.option(
        "--metric",
        default="delay",
        show_default=True,
        metavar="delay|hops",
        shell_complete=complete.complete_names(("delay", "hops")),
        help="Quantity that the best path minimises.",
    ),
    click.option(
        "--change",
        default="better",
        show_default=True,
        metavar="better|broken",
        shell_complete=complete.complete_names(("better", "broken")),
        help="Change to another path as soon as it is better, or when the path in use is broken.",
    ),
)
failure = click.option(
    "--failure",
    multiple=True,
    metavar="NAME",
    help="Satellite or gateway that is out of use, or a link: 'A~B'. Repeatable.",
)
seed = click.option("--seed", type=click.IntRange(0), default=1, metavar="N", help="Seed of random choices.")
all_rows = click.option("--all", "every", is_flag=True, help="Print every row of the table. Default: the first rows.")
save = click.option(
    "-o", "--save", type=options.PLACE, metavar="FOLDER", help="Write tables and provenance to this folder."
)
output = stack_options(save, options.plot, options.figure, options.json, options.quiet)
