"""The command line. Checks what was asked, calls the library, prints; nothing heavy is imported before it is needed."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from bentpipe import __version__
from bentpipe.errors import BentpipeError, Interrupted, ScenarioError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from rich.console import RenderableType

    from bentpipe.sweeps.sweeping import Progress

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
            raise typer.Exit(INTERRUPTED) from None


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

File = Annotated[
    str, typer.Argument(metavar="FILE", help="Scenario file, or the name of one that comes with bentpipe.")
]
Sets = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Put a value over the file's: link.feeder.rate='5 Mbit/s'."),
]
Seed = Annotated[int | None, typer.Option(min=0, max=2**64 - 1, help="Instead of the scenario's own.")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON and nothing else.")]
Save = Annotated[Path | None, typer.Option(metavar="DIR", help="Write tables and scenario into this folder.")]
Plot = Annotated[Path | None, typer.Option(metavar="FILE", help="Draw a figure: .png, .svg or .pdf.")]


@app.command()
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
    """Run a scenario: a table per flow, per link, and why packets were lost."""
    _check_places(save, plot)
    from bentpipe.scenario import load, names_of

    scenario = load(file, _pairs(sets, seed))
    if cc is not None:
        from bentpipe.running import with_sender

        scenario = with_sender(scenario, cc)
    wanted = names_of(series)
    if plot is not None:
        from bentpipe.plot import PANELS

        wanted += PANELS
    scenario = scenario.with_series(wanted)
    if not json:
        from bentpipe import terminal

        _print([terminal.facts(scenario)])

    from bentpipe.running import run

    try:
        with _progress("simulating") as progress:
            result = run(scenario, progress=progress)
    except Interrupted as interrupt:
        if save is not None:
            interrupt.result.save(save)
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
        _print(terminal.run(result, show_all))


@app.command()
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
    metric: Annotated[str, typer.Option(help="What the statements and the figure are about.")] = "goodput",
    statistic: Annotated[
        str, typer.Option(help="mean or median: of the replications and of their differences.")
    ] = "mean",
    confidence: Annotated[float, typer.Option(help="Of intervals and statements.")] = 0.95,
    correction: Annotated[str, typer.Option(help="For several comparisons at once: holm, bh or none.")] = "holm",
    jobs: Annotated[int | None, typer.Option(min=1, help="Runs at the same time; all cores if not given.")] = None,
    sets: Sets = None,
    seed: Seed = None,
    json: Json = False,
    save: Save = None,
    plot: Plot = None,
    chart: Annotated[
        str | None,
        typer.Option(help="What --plot draws: intervals or cwnd; with --mix: all, share, goodput or cwnd."),
    ] = None,
) -> None:
    """Run a scenario with many senders: replications, confidence intervals, what can be said with confidence."""
    _check_places(save, plot)
    from bentpipe.asking import charted, checked, unmixed
    from bentpipe.own import named
    from bentpipe.scenario import load

    checked(metric=metric, replications=replications, confidence=confidence, statistic=statistic, correction=correction)
    charted(chart, is_mix=mix is not None, is_drawn=plot is not None)
    if mix is not None:
        unmixed(cc=cc, metric=metric, statistic=statistic, correction=correction)
    if cc is not None:
        named(cc)
    cases = _cases(case)
    scenario = load(file, _pairs(sets, seed))
    if not json:
        from bentpipe import terminal

        _print([terminal.facts(scenario), ""])

    def shown(result: Any) -> None:
        if not json:
            _print(terminal.comparison(result) if mix is None else terminal.mix(result))

    done: Any
    try:
        with _progress("comparing") as progress:
            if mix is not None:
                from bentpipe.mixing import mix as share

                done = share(
                    scenario,
                    mix,
                    cases=cases,
                    replications=replications,
                    confidence=confidence,
                    jobs=jobs,
                    progress=progress,
                )
            else:
                from bentpipe.comparison import compare

                done = compare(
                    scenario,
                    cc,
                    cases=cases,
                    replications=replications,
                    metric=metric,
                    confidence=confidence,
                    statistic=statistic,
                    correction=correction,
                    jobs=jobs,
                    progress=progress,
                )
    except Interrupted as interrupt:
        # What is finished is valid for the replications that it names, so it is worth having.
        if interrupt.result is not None:
            if save is not None:
                interrupt.result.save(save)
            shown(interrupt.result)
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


@app.command()
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
) -> None:
    """Run a grid of scenarios, each point many times. Interrupted or killed, it goes on where it was."""
    _check_places(None, plot)
    from bentpipe.scenario import load, names_of

    scenario = load(file, _pairs(sets, seed))
    place = store or Path(f"{Path(file).stem}.sweep")
    from bentpipe.sweeps.grid import parsed
    from bentpipe.sweeps.sweeping import sweep

    varied, together = parsed(vary or [])
    try:
        with _counting() as progress:
            result = sweep(
                scenario,
                varied,
                together=together,
                replications=replications,
                replications_max=replications_max,
                until=_until(until),
                metrics=None if metric is None else names_of(metric),
                tables=None if tables is None else names_of(tables),
                store=place,
                jobs=jobs,
                on=on,
                progress=progress,
            )
    except Interrupted as interrupt:
        if not json:
            from bentpipe import terminal

            _print(terminal.sweep(interrupt.result, place))
        raise
    if json:
        _print_json(result.to_dict())
    else:
        from bentpipe import terminal

        _print(terminal.sweep(result, place))
    # Last, as above.
    if plot is not None:
        from bentpipe.plot import save as save_figure

        save_figure(result.plot(), plot)


@app.command()
def reproduce(
    papers: Annotated[
        list[str] | None, typer.Argument(metavar="[PAPER]...", help="See: list papers. All of them if not given.")
    ] = None,
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
    from bentpipe.papers.reproducing import reproduce

    with _doing() as progress:
        result = reproduce(papers or [], only=claim or [], is_full=not quick, folder=out, jobs=jobs, progress=progress)
    if json:
        _print_json(result.to_dict())
    else:
        from bentpipe import terminal

        _print(terminal.reproduction(result, None if claim else out))


@app.command()
def report(
    store: Annotated[Path, typer.Argument(metavar="STORE", help="Folder with the results of a sweep.")],
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where to write; `report` in the store if not given.")
    ] = None,
    json: Json = False,
) -> None:
    """Write a sweep as a page that opens anywhere, with its figures (SVG, PNG) and tables (CSV, LaTeX)."""
    from bentpipe.reporting.reporting import report

    written = report(store, out)
    if json:
        _print_json(written.to_dict())
    else:
        from bentpipe import terminal

        _print(terminal.report(written))


@app.command()
def check(file: File, sets: Sets = None, json: Json = False) -> None:
    """Check a scenario and print it with every default filled in."""
    from bentpipe.scenario import load

    scenario = load(file, _pairs(sets))
    if json:
        _print_json(scenario.to_dict())
    else:
        typer.echo(scenario.resolved(), nl=False)


@app.command()
def schema() -> None:
    """Print the JSON Schema of scenario files, for editors and forms."""
    from bentpipe.reference import schema

    _print_json(schema())


@app.command("list")
def list_(
    topic: Annotated[str | None, typer.Argument(help="Such as cc, queue, error, scenarios, series, causes.")] = None,
    json: Json = False,
) -> None:
    """List what can be named: congestion controls, queues, scenarios, time series and more."""
    from bentpipe.reference import unknown

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
        from bentpipe import terminal

        _print([terminal.choices(shown)])


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
    from bentpipe.metrics import METRICS
    from bentpipe.papers.claims import names as papers
    from bentpipe.papers.claims import paper
    from bentpipe.reference import choices, dictionary
    from bentpipe.scenario import shipped

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
        from bentpipe.store import refuse_unless_free

        refuse_unless_free(save)


def _until(text: str | None) -> dict[str, str] | None:
    if text is None:
        return None
    metric, equals, share = text.partition("=")
    if not equals:
        raise ScenarioError(f"error: --until {text}\n  expected a metric and a share of its mean, such as goodput=2%")
    return {"metric": metric.strip(), "half_width": share.strip()}


def _pairs(sets: list[str] | None, seed: int | None = None) -> list[tuple[str, Any]]:
    pairs: list[tuple[str, Any]] = []
    for text in sets or []:
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            raise ScenarioError(f"error: --set {text}\n  expected KEY=VALUE, such as duration='60 s'")
        pairs.append((key.strip(), value.strip()))
    return pairs if seed is None else [*pairs, ("seed", seed)]


def _cases(texts: list[str] | None) -> dict[str, dict[str, Any]]:
    """`NAME: KEY=VALUE; KEY=VALUE` each; the settings may be missing, and the name, which then is the settings."""
    cases: dict[str, dict[str, Any]] = {}
    for text in texts or []:
        name, colon, rest = text.partition(":")
        if not colon or "=" in name:
            name = rest = text
        settings = [part for part in map(str.strip, rest.split(";")) if part]
        if name.strip() in cases or not name.strip() or not all("=" in setting for setting in settings):
            raise ScenarioError(
                f"error: --case {text}\n  expected a name and settings, each name once:"
                " 'prr: tcp.reduction=prr; tcp.dsack=true'"
            )
        cases[name.strip()] = dict(_pairs(settings))
    return cases


def _print(what: Iterable[RenderableType]) -> None:
    from rich.console import Console

    console = Console(highlight=False)
    for each in what:
        console.print(each)


def _print_json(content: Any) -> None:
    from json import dumps

    typer.echo(dumps(content, indent=2, ensure_ascii=False, allow_nan=False))


def _say(text: str) -> None:
    print(text, file=sys.stderr)


@contextmanager
def _progress(what: str) -> Iterator[Callable[[float], object] | None]:
    """A bar on the terminal's error output, if there is one, for work that takes more than a second."""
    if not sys.stderr.isatty():
        yield None
        return
    from time import monotonic

    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    task = bar.add_task(what, total=1.0)
    begin = monotonic()

    def progress(share: float) -> None:
        if not bar.live.is_started and monotonic() - begin > 1:
            bar.start()
        bar.update(task, completed=share)

    try:
        yield progress
    finally:
        bar.stop()


@contextmanager
def _counting() -> Iterator[Callable[[Progress], object] | None]:
    """How many runs are done, on the terminal's error output; without a terminal, one line at the end."""
    from time import monotonic

    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    bar = Progress(TextColumn("{task.description}"), BarColumn(), console=Console(stderr=True), transient=True)
    task = bar.add_task("preparing", total=None)
    begin, last = monotonic(), None

    def tell(progress: Any) -> None:
        nonlocal last
        last = progress
        if not sys.stderr.isatty():
            return
        if not bar.live.is_started and monotonic() - begin > 1:
            bar.start()
        if progress.total:
            bar.update(task, description=str(progress), total=progress.total, completed=progress.total - progress.left)

    try:
        yield tell
    finally:
        if bar.live.is_started:
            bar.stop()
        if last is not None and last.total:
            _say(f"{last} in {monotonic() - begin:.3g} s")


@contextmanager
def _doing() -> Iterator[Callable[[str, float], object]]:
    """What is being done and how far it is, on the terminal's error output, if there is one."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task("", total=1.0)
        yield lambda what, share: bar.update(task, description=what, completed=share)
