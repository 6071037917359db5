"""`bentpipe sky`."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from bentpipe.cli import complete, options, sky_options
from bentpipe.cli.help import Command, Group, argument
from bentpipe.cli.printing import check_places, print_parts, print_result
from bentpipe.cli.progress import Bar
from bentpipe.errors import BentpipeError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path
    from typing import TypeVar

    from rich.console import RenderableType

    Function = TypeVar("Function", bound=Callable[..., Any])

MAP = "map.png"
"""Where a map goes unless told otherwise."""


@click.group("sky", cls=Group)
def command() -> None:
    """Look at a constellation over time.

    Shows paths between two places, passes, coverage, maps and link budgets. They are computed from orbits, without
    packets. See: list constellations, list places.
    """


def _show_look(
    find: Callable[[Bar], Any],
    shown: Callable[[Any], Iterable[RenderableType | str]],
    drawn: Callable[[Any], Any],
    *,
    save: Path | None,
    plot: Path | None,
    json: bool,
    quiet: bool,
) -> None:
    """Compute a look, then save, print and draw it."""
    check_places(save, plot)
    with Bar(is_quiet=quiet) as bar:
        found = find(bar)
    if save is not None:
        found.save(save)
    print_result(found.to_dict, lambda: shown(found), json=json, quiet=quiet)
    if plot is not None:
        from bentpipe.plot import save as save_figure

        save_figure(drawn(found), plot)


@command.command(
    "path",
    cls=Command,
    examples=(
        'sky path London "New York" --over starlink-shell-1 --plot path.png',
        "sky path London Tokyo --over iridium --duration 24h --step 10s -o day",
        "sky path Berlin Madrid --over oneweb --gateway Bern --selection highest",
        "sky path London Tokyo --over kuiper-630 --disjoint 3 --plot paths.png",
        "sky path Rome Oslo --over oneweb --gateway Bern --relay ground",
        "sky path London Tokyo --over starlink-shell-1 --czml path.czml",
    ),
)
@sky_options.place("from", "Start of the path")
@sky_options.place("to", "End of the path")
@sky_options.over
@sky_options.moment
@sky_options.times("10 min", "1 s")
@sky_options.reach
@sky_options.orbits
@sky_options.between
@sky_options.choice
@click.option(
    "--disjoint",
    type=int,
    metavar="K",
    help="Also show the K disjoint paths over satellites with the least total delay.",
)
@click.option(
    "--apart",
    default="satellites",
    show_default=True,
    metavar="satellites|links",
    help="Parts that disjoint paths do not share.",
)
@sky_options.failure
@sky_options.gateways
@sky_options.seed
@sky_options.bad
@sky_options.age_max
@sky_options.all_rows
@click.option(
    "--czml", type=options.PLACE, metavar="FILE", help="Write satellites, places and links in use over time for Cesium."
)
@sky_options.output
def path(
    every: bool,
    czml: Path | None,
    look: dict[str, Any],
    save: Path | None,
    plot: Path | None,
    json: bool,
    quiet: bool,
    **given: Any,
) -> None:
    """Show the path between two places.

    Shows one-way propagation delay, hops, elevations and handovers at each instant. With --disjoint, it also shows
    disjoint paths.
    """

    def find(bar: Bar) -> Any:
        from bentpipe.sky import path

        return path(given.pop("from"), given.pop("to"), **given, progress=bar)

    def render_path(found: Any) -> Any:
        from bentpipe.cli import render_sky

        return render_sky.path(found, every=every)

    def find_and_write(bar: Bar) -> Any:
        found = find(bar)
        if czml is not None:
            found.write_czml(czml)
        return found

    if czml is not None:
        from bentpipe.files import refuse_unless_writable

        refuse_unless_writable(czml)
    _show_look(
        find_and_write, render_path, lambda found: found.plot(**look), save=save, plot=plot, json=json, quiet=quiet
    )


@command.command(
    "matrix",
    cls=Command,
    examples=(
        "sky matrix London 'New York' Singapore Nairobi --over starlink-shell-1",
        "sky matrix --places cities.csv --over kuiper-630-hypatia -p m.png",
    ),
)
@argument(
    "places",
    nargs=-1,
    metavar="PLACE...",
    shell_complete=complete.places,
    help="Cities (see: list places), or degrees north and east: '51.5N 0.12W'.",
)
@click.option(
    "--places",
    "file",
    type=options.PLACE,
    metavar="FILE",
    help="More places, from a CSV file: name, latitude, longitude (degrees), and height_km or none.",
)
@sky_options.over
@sky_options.moment
@sky_options.times("10 min", "1 s")
@sky_options.reach
@sky_options.orbits
@sky_options.between
@sky_options.choice
@sky_options.failure
@sky_options.gateways
@sky_options.seed
@sky_options.bad
@sky_options.age_max
@click.option("--series", is_flag=True, help="With --save, also write the delay of each pair at every instant.")
@sky_options.all_rows
@options.chart("delay", "spread", "connected", "changes", "hops", default="delay")
@sky_options.output
def matrix(
    places: tuple[str, ...],
    file: Path | None,
    chart: str,
    every: bool,
    look: dict[str, Any],
    save: Path | None,
    plot: Path | None,
    json: bool,
    quiet: bool,
    **given: Any,
) -> None:
    """Show the paths between all pairs of places.

    Shows one-way propagation delay, hops and changes of each pair over time. With --plot, it draws a heat map of the
    median delay (delay). --chart selects the ratio of largest to least delay (spread), the share of the time with a
    path (connected), the changes, or the largest number of hops (hops).
    """
    from bentpipe.sky.matrix import check_chart

    check_chart(chart)
    if given["series"] and save is None:
        raise BentpipeError("--series needs a folder\n  expected --save FOLDER")

    def find(bar: Bar) -> Any:
        from bentpipe.sky import paths
        from bentpipe.sky.place_lists import places as listed

        return paths([*places, *(listed(file) if file is not None else [])], **given, progress=bar)

    def render_matrix(found: Any) -> Any:
        from bentpipe.cli import render_sky

        return render_sky.matrix(found, every=every)

    _show_look(
        find, render_matrix, lambda found: found.plot(chart, **look), save=save, plot=plot, json=json, quiet=quiet
    )


@command.command(
    "passes",
    cls=Command,
    examples=("sky passes Nairobi --over iridium", "sky passes '78.2N 15.6E' --over oneweb --json"),
)
@sky_options.place("place", "Place of the observer")
@sky_options.over
@sky_options.moment
@sky_options.times("1 h", "10 s")
@sky_options.reach
@sky_options.orbits
@sky_options.bad
@sky_options.age_max
@sky_options.all_rows
@sky_options.output
def passes(
    every: bool,
    look: dict[str, Any],
    save: Path | None,
    plot: Path | None,
    json: bool,
    quiet: bool,
    **given: Any,
) -> None:
    """Show which satellites pass over a place.

    Shows rise, highest point and set of each satellite, the number in view, and the longest time without a satellite.
    """

    def find(bar: Bar) -> Any:
        from bentpipe.sky import passes

        return passes(given.pop("place"), **given, progress=bar)

    def render_passes(found: Any) -> Any:
        from bentpipe.cli import render_sky

        return render_sky.passes(found, every=every)

    _show_look(find, render_passes, lambda found: found.plot(**look), save=save, plot=plot, json=json, quiet=quiet)


@command.command(
    "coverage",
    cls=Command,
    examples=(
        "sky coverage --over starlink-shell-1 --plot coverage.png",
        "sky coverage --over o3b --chart covered --plot covered.png",
        "sky coverage --over iridium --to London --chart delay --plot delay.png",
    ),
)
@sky_options.over
@sky_options.moment
@sky_options.times("10 min", "1 min")
@sky_options.reach
@sky_options.orbits
@click.option(
    "--to",
    metavar="PLACE",
    shell_complete=complete.places,
    help="Show the delay of the shortest path to this place. Default: the delay to the nearest satellite.",
)
@sky_options.between
@sky_options.gateways
@click.option("--cell", type=float, default=3.0, show_default=True, metavar="DEGREES", help="Size of the cells.")
@sky_options.bad
@sky_options.age_max
@options.chart("mean", "min", "covered", "delay", default="mean")
@sky_options.output
def coverage(
    chart: str,
    look: dict[str, Any],
    save: Path | None,
    plot: Path | None,
    json: bool,
    quiet: bool,
    **given: Any,
) -> None:
    """Show satellites in view and delays by place.

    Prints a table by latitude. With --plot, it draws a map. --chart selects the average number of satellites in view
    (mean), the least number (min), the share of the time with a satellite (covered), or the one-way delay (delay).
    """
    from bentpipe.sky.covering import check_chart

    check_chart(chart)

    def find(bar: Bar) -> Any:
        from bentpipe.sky import coverage

        return coverage(**given, progress=bar)

    def render_coverage(found: Any) -> Any:
        from bentpipe.cli import render_sky

        return render_sky.coverage(found)

    _show_look(
        find, render_coverage, lambda found: found.plot(chart, **look), save=save, plot=plot, json=json, quiet=quiet
    )


def _drawn_anyway(function: Function) -> Function:
    """Draws a map also without `--plot`, into `MAP`, unless only JSON is wanted."""

    @wraps(function)
    def command(*args: Any, plot: Path | None, **kwargs: Any) -> Any:
        if plot is None and not kwargs["json"]:
            from pathlib import Path

            plot = Path(MAP)
        return function(*args, plot=plot, **kwargs)

    return command  # type: ignore[return-value]


@command.command(
    "map",
    cls=Command,
    examples=(
        "sky map --over iridium --from Berlin --to Tokyo",
        "sky map --over oneweb --at 20min --plot oneweb.png",
    ),
)
@sky_options.over
@click.option(
    "--from",
    "origin",
    metavar="PLACE",
    shell_complete=complete.places,
    help="Draw the path from this place; needs --to.",
)
@click.option(
    "--to",
    "destination",
    metavar="PLACE",
    shell_complete=complete.places,
    help="Draw the path to this place; needs --from.",
)
@sky_options.moment
@sky_options.reach
@sky_options.orbits
@sky_options.between
@sky_options.gateways
@sky_options.bad
@sky_options.age_max
@sky_options.save
@click.option(
    "-p", "--plot", type=options.PLACE, metavar="FILE", help=f"File of the map: .png, .svg or .pdf. [default: {MAP}]"
)
@_drawn_anyway
@options.figure
@options.json
@options.quiet
def map(
    look: dict[str, Any],
    save: Path | None,
    plot: Path | None,
    json: bool,
    quiet: bool,
    **given: Any,
) -> None:
    """Draw satellites and links at a moment.

    With --from and --to, it also draws the path with the shortest delay.
    """

    def find(_: Bar) -> Any:
        from bentpipe.sky import map

        ends = given.pop("origin"), given.pop("destination")
        if (ends[0] is None) != (ends[1] is None):
            raise BentpipeError(
                f"--{'from' if ends[1] is None else 'to'} needs the other end of the path\n"
                "  expected --from and --to, or neither"
            )
        return map(ends=None if ends[0] is None else ends, **given)

    def render_map(found: Any) -> Any:
        from bentpipe.cli import render_sky

        return render_sky.moment(found)

    _show_look(find, render_map, lambda found: found.plot(**look), save=save, plot=plot, json=json, quiet=quiet)
    if plot is not None and not (json or quiet):
        print_parts([f"The map is in {plot}."])


@command.command(
    "budget",
    cls=Command,
    aliases={"down": "--down-frequency, --down-eirp and --down-gt"},
    examples=(
        "sky budget Singapore --over iridium --frequency 12 --eirp 36 --gt 9",
        "sky budget London --over geo:19.2E --frequency 20 --eirp 55 --gt 15 -p b.png",
        "sky budget Paris --over oneweb --frequency 12 --eirp 35 --gt 9 --clouds --scintillation",
        "sky budget Lagos --over geo:9E --frequency 14 --eirp 44 --gt 3 --down-frequency 12 --down-eirp 25 --down-gt 9",
    ),
)
@sky_options.place("place", "Place of the ground station")
@sky_options.over
@click.option("--frequency", type=float, required=True, metavar="GHZ", help="Carrier frequency, 1 to 350 GHz.")
@click.option("--eirp", type=float, required=True, metavar="DBW", help="Effective isotropic radiated power.")
@click.option("--gt", "g_over_t", type=float, required=True, metavar="DB/K", help="G/T of the receiver.")
@click.option(
    "--baud", "symbol_rate", type=float, default=10e6, show_default="10e6", help="Symbol rate in symbols per second."
)
@click.option("--losses", type=float, default=0.0, metavar="DB", help="Other losses: pointing, feeders. [default: 0]")
@click.option(
    "--interference",
    type=float,
    metavar="DB",
    help="Carrier-to-interference ratio in the symbols' bandwidth. [default: none]",
)
@click.option(
    "--noise",
    type=float,
    default=200.0,
    show_default=True,
    metavar="K",
    help="Noise temperature of the receiver on the ground under a clear sky; rain raises it.",
)
@click.option("--up", is_flag=True, help="Uplink: the receiver is on the satellite.")
@click.option(
    "--polarisation",
    default="circular",
    show_default=True,
    metavar="KIND",
    help="horizontal, vertical, circular, or the tilt to the horizontal in degrees.",
)
@click.option("--down-frequency", type=float, metavar="GHZ", help="Carrier frequency of the downlink of a bent pipe.")
@click.option(
    "--down-eirp", type=float, metavar="DBW", help="EIRP of the satellite; the other options then describe the uplink."
)
@click.option("--down-gt", "down_g_over_t", type=float, metavar="DB/K", help="G/T of the receiver of the downlink.")
@click.option("--down-losses", type=float, metavar="DB", help="Other losses of the downlink. [default: 0]")
@click.option("--down-interference", type=float, metavar="DB", help="Carrier-to-interference ratio of the downlink.")
@click.option(
    "--to",
    metavar="CITY",
    shell_complete=complete.places,
    help="Place where the downlink ends, in dry air. [default: PLACE]",
)
@click.option(
    "--percent",
    type=float,
    default=[0.1],
    multiple=True,
    metavar="PERCENT",
    help="Share of the year in which the rain is exceeded. Repeatable. [default: 0.1]",
)
@click.option("--clouds", is_flag=True, help="Add clouds to the rain, as rare as --recommendation defines.")
@click.option("--scintillation", is_flag=True, help="Add scintillation that is exceeded as often as the rain.")
@click.option(
    "--antenna",
    type=float,
    default=0.6,
    show_default=True,
    metavar="M",
    help="Antenna diameter, which averages scintillation.",
)
@click.option(
    "--recommendation",
    type=click.Choice(["P.618-14", "P.618-13"]),
    default="P.618-14",
    show_default=True,
    help="Edition of the recommendation; decides the gases and clouds beside rare rain.",
)
@click.option(
    "--climate",
    metavar="CITY",
    shell_complete=complete.places,
    help="City with the air and rain to use. Default: those of PLACE.",
)
@click.option("--start", metavar="UTC", help="Instant for the height of the satellites.")
@sky_options.elevation
@sky_options.bad
@sky_options.age_max
@sky_options.output
def budget(
    look: dict[str, Any],
    save: Path | None,
    plot: Path | None,
    json: bool,
    quiet: bool,
    **given: Any,
) -> None:
    """Show a link budget line by line.

    Shows power, losses and the energy-to-noise ratio at the elevations that occur, in dry air and in rain, with the
    best modulation and code of DVB-S2. Also shows durations of fades, and the share of the year in which each
    modulation and code works. The options --down-... add the downlink of a bent pipe.
    """

    def find(_: Bar) -> Any:
        from bentpipe.sky import budget

        names = [name for name in given if name.startswith("down_")]
        asked = {name.removeprefix("down_"): given.pop(name) for name in names}
        down = {name: value for name, value in asked.items() if value is not None}
        return budget(given.pop("place"), down=down or None, **given)

    def render_budget(found: Any) -> Any:
        from bentpipe.cli import render_sky

        return render_sky.budget(found)

    _show_look(find, render_budget, lambda found: found.plot(**look), save=save, plot=plot, json=json, quiet=quiet)
