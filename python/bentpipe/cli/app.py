"""The command line. Checks what was asked, calls the library, prints; nothing heavy is imported before it is needed."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer
from typer.core import TyperGroup

from bentpipe import files
from bentpipe.cli import progress
from bentpipe.errors import BentpipeError, Interrupted
from bentpipe.experiment.options import CHARTS, CORRECTIONS, MIX_CHARTS, STATISTICS
from bentpipe.metrics import METRICS
from bentpipe.scenario import overrides
from bentpipe.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from rich.console import RenderableType

ARGUMENTS = {
    "FILE": "Scenario file, the name of one that comes with bentpipe (list scenarios), or - for the standard input.",
    "STORE": "Folder with the results of a sweep.",
    "[PAPER]...": "See: list papers. All of them if not given.",
    "[TOPIC]": "Such as cc, queue, error, scenarios, series, causes. All of them, in short, if not given.",
}
"""What the positional arguments are, by their name in the help."""
UNKNOWN_WIDTH = 80
"""Letters in a line where nobody says how many there are."""
INTERRUPTED = 130
"""Exit code after Ctrl-C, as shells have it."""


class _Group(TyperGroup):
    """One place where errors become text and exit codes, for all commands."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except BentpipeError as error:
            _say(str(error))
            raise typer.Exit(2) from None
        except KeyboardInterrupt as interrupt:
            _say(str(interrupt) or "interrupted")
            _leave_if_anyone_is_left()
            raise typer.Exit(INTERRUPTED) from None
        except OSError as error:
            # Without a name it is the output that failed: see `__main__`.
            if error.filename is None:
                raise
            _say(f"error: {error.filename}: {files.reason(error)}")
            raise typer.Exit(2) from None

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        command: Any = super().get_command(ctx, cmd_name)
        if command is None:
            return None
        for parameter in command.params:
            # Not in the annotations: Click, from 8.5, drops what Typer says there.
            if parameter.param_type_name == "argument":
                parameter.help = ARGUMENTS[str(parameter.metavar)]
        # From 8.5, Click lists them, too.
        command.format_arguments = lambda *_: None
        return command


def _leave_if_anyone_is_left() -> None:
    """End the process at once where a congestion control in Python does not: its end would wait for it for ever."""
    from bentpipe.experiment.threads import is_anyone_left

    if is_anyone_left():
        _say("a congestion control in Python does not return, and ends with the process")
        sys.stdout.flush()
        os._exit(INTERRUPTED)


app = typer.Typer(
    cls=_Group,
    no_args_is_help=True,
    # Click has its own suggestions, and one is enough.
    suggest_commands=False,
    pretty_exceptions_enable=False,
    # Plain help: the decorated one takes a quarter of a second to import.
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

File = Annotated[str, typer.Argument(metavar="FILE")]
Sets = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Put a value over the file's: link.feeder.rate='5 Mbit/s'."),
]
Seed = Annotated[int | None, typer.Option(min=0, max=2**64 - 1, help="Instead of the scenario's own.")]
Against = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Compare every other one with this one; if not given, the best with each other."),
]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON and nothing else.")]
Save = Annotated[Path | None, typer.Option(metavar="DIR", help="Write tables and scenario into this folder.")]
Plot = Annotated[Path | None, typer.Option(metavar="FILE", help="Draw a figure: .png, .svg or .pdf.")]


@app.command(epilog="Example: bentpipe run geo --cc cubic --set duration='60 s' --plot cubic.png")
def run(
    file: File,
    cc: Annotated[
        str | None, typer.Option(metavar="NAME", help="Congestion control of the flows that name none; see: list cc.")
    ] = None,
    sets: Sets = None,
    seed: Seed = None,
    series: Annotated[str, typer.Option(metavar="A,B", help="Time series to record; see: list series.")] = "",
    json: Json = False,
    save: Save = None,
    plot: Plot = None,
    show_all: Annotated[bool, typer.Option("--all", help="Every flow, link and cause of loss.")] = False,
) -> None:
    """Run a scenario: tables per flow and link, where the time went, and why packets were lost."""
    _check_places(save, plot)
    from bentpipe.scenario.scenario import load, names_of

    scenario = load(file, overrides.pairs(sets, seed))
    if cc is not None:
        from bentpipe.experiment.run import with_sender

        scenario = with_sender(scenario, cc)
    wanted = names_of(series)
    if plot is not None:
        from bentpipe.plot import PANELS

        wanted += PANELS
    scenario = scenario.with_series(wanted)
    if not json:
        from bentpipe.cli import render

        _print([render.facts(scenario)])

    from bentpipe.experiment.run import run

    try:
        with progress.sharing("simulating") as tell:
            result = run(scenario, progress=tell)
    except Interrupted as interrupt:
        if save is not None:
            interrupt.result.save(save)
            raise Interrupted(f"{interrupt}; the run until then is saved in {save}") from None
        raise
    if save is not None:
        result.save(save)
    if plot is not None:
        from bentpipe.plot import run_figure
        from bentpipe.plot import save as save_figure

        save_figure(run_figure(result), plot)
    if json:
        _print_json(result.to_dict())
    else:
        _print(render.run(result, show_all))


@app.command(epilog="Example: bentpipe compare geo --cc cubic,bbr3 --metric rtt --replications 20")
def compare(
    file: File,
    cc: Annotated[
        str | None,
        typer.Option(metavar="A,B", help="Congestion controls, or all; see: list cc. One of your own: FILE.py:CLASS."),
    ] = None,
    case: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME: KEY=VALUE; ...",
            help="A case with other settings; repeat for each. Without --cc and --case: the cases in the file.",
        ),
    ] = None,
    mix: Annotated[
        str | None,
        typer.Option(metavar="A,B", help="Congestion controls or cases that share the same runs: who starves whom?"),
    ] = None,
    replications: Annotated[int, typer.Option(min=1, help="Runs of each sender, each with its own seed.")] = 10,
    metric: Annotated[
        str, typer.Option(metavar="NAME", help=f"What the statements and the figure are about: {', '.join(METRICS)}.")
    ] = "goodput",
    statistic: Annotated[
        str,
        typer.Option(
            metavar="|".join(STATISTICS), help="mean or median: of the replications and of their differences."
        ),
    ] = "mean",
    confidence: Annotated[float, typer.Option(help="Of intervals and statements.")] = 0.95,
    correction: Annotated[
        str,
        typer.Option(
            metavar="|".join(CORRECTIONS), help="For several comparisons at once: Holm, Benjamini-Hochberg, none."
        ),
    ] = "holm",
    against: Against = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="Runs at the same time; all cores if not given.")] = None,
    sets: Sets = None,
    seed: Seed = None,
    json: Json = False,
    save: Save = None,
    plot: Plot = None,
    chart: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help=f"What --plot draws: {' or '.join(CHARTS)}; with --mix: {', '.join(MIX_CHARTS)}."
        ),
    ] = None,
) -> None:
    """Run a scenario with many senders: replications, confidence intervals, what can be said with confidence."""
    _check_places(save, plot)
    from bentpipe.cc.loading import named
    from bentpipe.experiment.options import charted, checked, unmixed
    from bentpipe.scenario.scenario import load

    checked(
        metric=metric,
        replications=replications,
        confidence=confidence,
        statistic=statistic,
        correction=correction,
    )
    charted(chart, is_mix=mix is not None, is_drawn=plot is not None)
    if mix is not None:
        unmixed(
            cc=cc, metric=metric, statistic=cast("Any", statistic), correction=cast("Any", correction), against=against
        )
    if cc is not None:
        named(cc)
    cases = overrides.cases(case)
    scenario = load(file, overrides.pairs(sets, seed))
    is_titled = json

    def titled() -> None:
        # When the first run is under way, as all that is asked has been checked by then.
        nonlocal is_titled
        if not is_titled:
            is_titled = True
            from bentpipe.cli import render

            _print([render.facts(scenario), ""])

    def shown(result: Any) -> None:
        if not json:
            from bentpipe.cli import render

            titled()
            _print(render.comparison(result) if mix is None else render.mix(result))

    done: Any
    try:
        with progress.sharing("comparing", titled) as tell:
            if mix is not None:
                from bentpipe.experiment.mix import mix as share

                done = share(
                    scenario,
                    mix,
                    cases=cases,
                    replications=replications,
                    confidence=confidence,
                    jobs=jobs,
                    progress=tell,
                )
            else:
                from bentpipe.experiment.compare import compare

                done = compare(
                    scenario,
                    cc,
                    cases=cases,
                    replications=replications,
                    metric=metric,
                    confidence=confidence,
                    statistic=cast("Any", statistic),
                    correction=cast("Any", correction),
                    against=against,
                    jobs=jobs,
                    progress=tell,
                )
    except Interrupted as interrupt:
        # What is finished is valid for the replications that it names, so it is worth having.
        if interrupt.result is not None:
            if save is not None:
                interrupt.result.save(save)
            shown(interrupt.result)
            if save is not None:
                raise Interrupted(f"{interrupt}; these are saved in {save}") from None
        raise
    if save is not None:
        done.save(save)
    if json:
        _print_json(done.to_dict())
    shown(done)
    # Last: there may be nothing to draw, and what was computed is worth having all the same.
    if plot is not None:
        from bentpipe.plot import save as save_figure

        save_figure(
            done.plot(None if chart == "intervals" else chart) if mix is None else done.plot(chart or "all"), plot
        )


@app.command(epilog="Example: bentpipe sweep geo --vary tcp.cc=cubic,bbr3 --vary 'link.up.error.rate=1e-6..1e-3:4:log'")
def sweep(
    file: File,
    vary: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=VALUES",
            help="A key and its values: tcp.cc=reno,sack or link.up.error.rate=1e-5..1e-1:9:log; repeat for each."
            " A congestion control of your own is FILE.py:CLASS. 'KEY=VALUES; KEY=VALUES' go together."
            " Over what [sweep] in the file says.",
        ),
    ] = None,
    replications: Annotated[
        int | None, typer.Option(min=1, help="Runs of each point, each with its own seed; 10 if the file says nothing.")
    ] = None,
    until: Annotated[
        str | None,
        typer.Option(
            metavar="METRIC=SHARE", help="goodput=2%: go on until the 95 % interval of the mean is below ± 2 % of it."
        ),
    ] = None,
    replications_max: Annotated[int | None, typer.Option(min=1, help="With --until: runs of a point at most.")] = None,
    metric: Annotated[
        str | None, typer.Option(metavar="A,B", help="What is shown; the store has all. See: list metrics.")
    ] = None,
    tables: Annotated[
        str | None, typer.Option(metavar="A,B", help="Tables of each run to keep besides: flows, links, drops ...")
    ] = None,
    against: Against = None,
    store: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder with the results; NAME.sweep if not given.")
    ] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="Runs at the same time; all cores if not given.")] = None,
    on: Annotated[
        str | None, typer.Option(metavar="WHERE", help="local:4 or dask://HOST:PORT: do the runs there.")
    ] = None,
    sets: Sets = None,
    seed: Seed = None,
    json: Json = False,
    plot: Plot = None,
    chart: Annotated[str, typer.Option(help="What --plot draws: lines or map, which needs two axes.")] = "lines",
) -> None:
    """Run a grid of scenarios, each point many times. Interrupted or killed, it goes on where it was."""
    _check_places(None, plot)
    from bentpipe.experiment.options import sweep_charted
    from bentpipe.scenario.scenario import STDIN, load, names_of

    sweep_charted(chart)

    scenario = load(file, overrides.pairs(sets, seed))
    place = store or Path(f"{'stdin' if file == STDIN else Path(file).stem}.sweep")
    from bentpipe.experiment.grid import arguments
    from bentpipe.experiment.vary import parsed

    varied, together = parsed(vary or [])
    # Before the rest is imported, which takes longer than to find what is wrong.
    scenario = scenario.with_sets(
        arguments(
            varied,
            together,
            replications=replications,
            replications_max=replications_max,
            until=overrides.until(until),
            metrics=None if metric is None else names_of(metric),
            tables=None if tables is None else names_of(tables),
            against=against,
        )
    )
    from bentpipe.experiment.grid import sweep

    try:
        with progress.counting() as tell:
            result = sweep(scenario, store=place, jobs=jobs, on=on, progress=tell)
    except Interrupted as interrupt:
        if not json:
            from bentpipe.cli import render

            _print(render.sweep(interrupt.result, place))
        raise
    if json:
        _print_json(result.to_dict())
    else:
        from bentpipe.cli import render

        _print(render.sweep(result, place))
    # Last, as above.
    if plot is not None:
        from bentpipe.plot import save as save_figure

        save_figure(result.plot(chart=chart), plot)


@app.command(epilog="Example: bentpipe reproduce hswa --full --out hswa")
def reproduce(
    papers: Annotated[list[str] | None, typer.Argument(metavar="[PAPER]...")] = None,
    quick: Annotated[
        bool,
        typer.Option("--quick/--full", help="Few replications, minutes; or what the tolerances need, half an hour."),
    ] = True,
    claim: Annotated[
        list[str] | None,
        typer.Option(metavar="ID", help="Only this claim, at length: HSWA-13. Nothing is drawn. May be repeated."),
    ] = None,
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Where tables, figures and pages are written; runs are kept there, too.")
    ] = Path("reproduction"),
    jobs: Annotated[int | None, typer.Option(min=1, help="Runs at the same time; all cores if not given.")] = None,
    json: Json = False,
) -> None:
    """Measure every claim of published papers: printed value, ours with its interval, verdict, and figures."""
    from bentpipe.papers.reproduce import reproduce

    with progress.doing() as tell:
        result = reproduce(papers or [], only=claim or [], is_full=not quick, folder=out, jobs=jobs, progress=tell)
    if json:
        _print_json(result.to_dict())
    else:
        from bentpipe.cli import render

        _print(render.reproduction(result, None if claim else out))


@app.command(epilog="Example: bentpipe report geo.sweep --out page")
def report(
    store: Annotated[Path, typer.Argument(metavar="STORE")],
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where to write; `report` in the store if not given.")
    ] = None,
    against: Against = None,
    json: Json = False,
) -> None:
    """Write a sweep as a page that opens anywhere, with its figures (SVG, PNG) and tables (CSV, LaTeX)."""
    if not store.is_dir():
        from bentpipe.files import is_no_sweep

        raise is_no_sweep(store)
    from bentpipe.experiment.report import report

    written = report(store, out, against=against)
    if json:
        _print_json(written.to_dict())
    else:
        from bentpipe.cli import render

        _print(render.report(written))


@app.command(epilog="Example: bentpipe check geo --set tcp.like=linux-6")
def check(file: File, sets: Sets = None, json: Json = False) -> None:
    """Check a scenario and print it with every default filled in."""
    from bentpipe.scenario.scenario import load

    scenario = load(file, overrides.pairs(sets))
    if json:
        _print_json(scenario.to_dict())
    else:
        typer.echo(scenario.resolved(), nl=False)


@app.command(epilog="Example: bentpipe schema > scenario.schema.json")
def schema() -> None:
    """Print the JSON Schema of scenario files, for editors and forms."""
    from bentpipe.catalog import schema

    _print_json(schema())


@app.command("list", epilog="Example: bentpipe list cc")
def list_(
    topic: Annotated[str | None, typer.Argument(metavar="[TOPIC]")] = None,
    json: Json = False,
) -> None:
    """List what can be named: congestion controls, queues, scenarios, time series and more."""
    from bentpipe.catalog import unknown

    topics = _topics()
    if topic is None:
        shown = [(name, ", ".join(entry for entry, _ in entries())) for name, entries in topics.items()]
    elif topic in topics:
        shown = topics[topic]()
    else:
        raise BentpipeError("error: " + unknown(topic, "a topic", topics))
    if json:
        _print_json([{"name": name, "summary": summary} for name, summary in shown])
    else:
        from bentpipe.cli import render

        _print([render.choices(shown)])


def _print_version(is_asked: bool) -> None:
    if is_asked:
        typer.echo(f"bentpipe {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and leave.")
    ] = False,
) -> None:
    """A laboratory for transport protocols over satellite networks."""


def _topics() -> dict[str, Callable[[], list[tuple[str, str]]]]:
    """Topic to what makes its list of (name, summary)."""
    from bentpipe.catalog import choices, dictionary
    from bentpipe.metrics import METRICS
    from bentpipe.papers.claims import names as papers
    from bentpipe.papers.claims import paper
    from bentpipe.scenario.scenario import shipped

    def chosen(topic: str) -> Callable[[], list[tuple[str, str]]]:
        return lambda: [(entry["name"], entry["summary"]) for entry in known[topic]]

    def defined(table: str) -> Callable[[], list[tuple[str, str]]]:
        return lambda: [(entry["name"], entry["meaning"]) for entry in dictionary()[table]]

    known = choices()
    return {topic: chosen(topic) for topic in known} | {
        "metrics": lambda: [
            (metric.name, metric.meaning + (f" ({metric.unit})" if metric.unit != "1" else ""))
            for metric in METRICS.values()
        ],
        "scenarios": lambda: list(shipped().items()),
        "papers": lambda: [(name, paper(name).title) for name in papers()],
        "series": lambda: [*defined("series")(), ("events", "What happened to each flow, when.")],
        "causes": defined("causes"),
    }


def _check_places(save: Path | None, plot: Path | None) -> None:
    """Refuse what cannot be written before anything is run for it."""
    if plot is not None:
        from bentpipe.plot import check_place

        check_place(plot)
    if save is not None:
        from bentpipe.files import refuse_unless_free

        if str(save) == "-":
            raise BentpipeError("error: --save - is no folder\n  a result is several files; --json prints it instead")
        refuse_unless_free(save)


def _print(what: Iterable[RenderableType]) -> None:
    from rich.console import Console

    # A width of nothing, which some environments give, is one that is not known.
    is_unknown = set(os.environ.get("COLUMNS", "")) == {"0"}
    console = Console(highlight=False, width=UNKNOWN_WIDTH if is_unknown else None)
    for each in what:
        # Lines that are meant to be copied, such as paths, are never broken.
        if isinstance(each, str):
            console.out(each, highlight=False)
        else:
            console.print(each)


def _print_json(content: Any) -> None:
    from json import dumps

    # Where the terminal cannot show all letters, JSON has its own way to write them.
    is_ascii = sys.stdout.encoding.lower().replace("-", "") != "utf8"
    typer.echo(dumps(content, indent=2, ensure_ascii=is_ascii, allow_nan=False))


def _say(text: str) -> None:
    print(text, file=sys.stderr)
