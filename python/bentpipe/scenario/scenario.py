"""Scenarios: experiments from files, text or dicts, checked by the core, immutable."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from copy import copy
from functools import partial
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bentpipe import _core, arguments, files
from bentpipe.catalog import unknown
from bentpipe.errors import ScenarioError
from bentpipe.formatting import count, html_table, span
from bentpipe.own import loading
from bentpipe.progress import Progress, choose_watch
from bentpipe.scenario.writing import literals, readable, to_json

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import TypeAlias

    from bentpipe.errors import Problem
    from bentpipe.own.loading import Own
    from bentpipe.progress import Watch, Wish
    from bentpipe.scenario.names import ScenarioName
    from bentpipe.scenario.types import ScenarioDict
    from bentpipe.scenario.writing import Senders, Sets
    from bentpipe.sky.of_scenario import ScenarioSky

    AnyScenario: TypeAlias = "Scenario | ScenarioDict | Mapping[str, Any] | ScenarioName | str | os.PathLike[str]"
    """A scenario, its content, a path or a name.

    With the first mapping type, editors complete keys and mypy checks them. The second type is for other sources.
    """

SIZE_MAX = 16 * 1024 * 1024
"""Largest size of a scenario file in bytes. A larger file is certainly no scenario."""

SHOWN_MAX = 200
"""Maximum number of shown letters of an impossible name."""
STDIN = "-"
"""The name of the standard input."""
SHIPPED = Path(__file__).parent / "shipped"


def load(
    path: ScenarioName | str | os.PathLike[str] | ScenarioDict | Mapping[str, Any],
    sets: Sets = (),
    *,
    progress: Wish = None,
) -> Scenario:
    """Read a scenario file, or a dict.

    Parameters
    ----------
    path : path
        A TOML file, or JSON if the name ends in `.json`. If no file has the name, a bundled scenario (`bentpipe list
        scenarios`), such as `"s1"`. `-` is the standard input. Or a dict of the keys. Traces are read from the file's
        folder; for standard input and a dict, from the current folder.
    sets : mapping or pairs, optional
        Overrides by dotted key: `{"link.feeder.rate": "5 Mbit/s"}`. An override without an effect is refused.
        `node.NAME.middlebox.append`, `.prepend`, `.remove` (by kind) and `.replace` change the middleboxes of a node.
    progress : callable or bool, optional
        A callable that receives a `Progress` if reading takes long, for example for a long run over a large
        constellation. True or False shows or hides a bar, as in `run`.

    Returns
    -------
    Scenario

    Raises
    ------
    ScenarioError
        The file cannot be read or is not a valid scenario. The text lists all problems with their places.
    """
    if isinstance(path, Mapping):
        with choose_watch(progress) as watch:
            return Scenario(path, sets=sets, progress=watch)
    name = os.fspath(arguments.path("path", path, ScenarioError))
    try:
        if name == STDIN:
            text, folder = _text(sys.stdin.buffer.read(SIZE_MAX + 1), STDIN), Path.cwd()
        else:
            found = _find(path)
            text, folder = _read(found), found.absolute().parent
    except OSError as error:
        raise ScenarioError(f"{_show_name(name)} cannot be read: {files.reason(error)}") from error
    form = "json" if name.endswith(".json") or (name == STDIN and text.lstrip().startswith("{")) else "toml"
    with choose_watch(progress) as watch:
        return Scenario(text, form=form, source=name, sets=sets, folder=folder, progress=watch)


def list_notes(scenarios: Iterable[Scenario]) -> list[str]:
    """Return the notes of all scenarios, each once."""
    return list(dict.fromkeys(note for scenario in scenarios for note in scenario.notes))


def make_scenario(what: AnyScenario, sets: Sets = ()) -> Scenario:
    """Return a scenario, made from a dict, a file or the name of a bundled scenario if needed.

    `sets` are overrides by dotted key.
    """
    if isinstance(what, Scenario):
        return what.with_sets(sets) if sets else what
    if isinstance(what, (str, os.PathLike)):
        return load(what, sets)
    if not hasattr(what, "items"):
        raise ScenarioError(
            f"{what!r} is not a scenario\n  expected a Scenario, a dict, a path, or the name of one: 'geo'"
        )
    return Scenario(what, sets=sets)


def split_names(names: str | Iterable[str]) -> list[str]:
    """List names, each once. A text may have several, with commas between them."""
    names = names.split(",") if isinstance(names, str) else arguments.texts("names", names)
    return list(dict.fromkeys(filter(None, map(str.strip, names))))


def loads(text: str, sets: Sets = (), *, folder: str | os.PathLike[str] | None = None) -> Scenario:
    """Read a scenario from TOML text; otherwise like `load`. Traces are read from the folder, if one is given."""
    return Scenario(text, sets=sets, folder=folder)


def check(path: str | os.PathLike[str], sets: Sets = ()) -> str:
    """Return the text of a scenario as it would run, with every default. A comment gives the origin of each default.

    Parameters and errors are as in `load`.
    """
    return load(path, sets).resolve()


def list_bundled() -> dict[str, str]:
    """Return name and title of each bundled scenario, sorted by name."""
    # Only the title of each: reading and checking the files takes too long for a list.
    titles = {}
    for path in _shipped_files():
        with path.open(encoding="utf-8") as file:
            title = next((line for line in file if line.startswith("title = ")), 'title = ""')
        titles[path.stem] = str(tomllib.loads(title)["title"])
    return titles


def _shipped_files() -> list[Path]:
    """Return the files of bundled scenarios, in the order of their names."""
    return sorted(SHIPPED.glob("*.toml"), key=lambda path: path.stem)


def shipped_text(name: str) -> str:
    """Return the text of a bundled scenario.

    Raises
    ------
    ScenarioError
        Unknown name.
    """
    names = [path.stem for path in _shipped_files()]
    if name not in names:
        raise ScenarioError(unknown(_show_name(name), "a bundled scenario", names))
    return (SHIPPED / f"{name}.toml").read_text(encoding="utf-8")


class Scenario:
    """A valid experiment. It cannot be changed; `replace` makes another scenario.

    Parameters
    ----------
    scenario : str or dict
        Text of a scenario file, or its content as a mapping. Editors complete, and mypy checks, the keys of a
        `ScenarioDict`.
    form : "toml" or "json"
        Format of a text.
    source : str
        Name of the text in messages.
    sets : mapping or pairs
        Overrides of the text by dotted key.
    folder : path, optional
        Folder of the files that the scenario names: traces. Without it, the scenario must not name files.
    case : str, optional
        The case that replaces the scenario.
    over : mapping or pairs
        Overrides of the case.
    senders : mapping, optional
        Custom classes that the scenario may name: congestion controls and middleboxes, by name.
    progress : callable, optional
        Callable as in `load`, without a bar.

    Attributes
    ----------
    title : str
        Title for tables and figures.
    duration_s : float
        Simulated seconds after which the run ends.
    seed : int
        Seed of all random streams.
    digest : str
        Hash of all values that decide the results, including defaults. The title, the seed and the recorded series do
        not count. Equal digests and seeds give equal results in all versions of bentpipe with the same number of
        results (see `docs/concepts/results.md`).
    flow_names, link_names : list of str
        Names in the order of the result tables.

    Raises
    ------
    ScenarioError
        The text lists all problems with their places.
    """

    def __init__(
        self,
        scenario: str | ScenarioDict | Mapping[str, Any],
        *,
        form: str = "toml",
        source: str = "scenario",
        sets: Sets = (),
        folder: str | os.PathLike[str] | None = None,
        case: str | None = None,
        over: Sets = (),
        senders: Mapping[str, Own] | None = None,
        progress: Watch | None = None,
    ) -> None:
        if form not in ("toml", "json"):
            raise ScenarioError(unknown(form, "a form of a scenario's text", ("toml", "json")))
        for own in (senders or {}).values():
            loading.load_class(own)
        found: Senders = {}
        if isinstance(scenario, str):
            scenario = readable(scenario)
        else:
            scenario, form = to_json(scenario, found), "json"
        self._text, self._form, self._source = scenario, form, readable(source)
        self._sets, self._case, self._over = literals(sets, found), case, literals(over, found)
        self._senders = loading.unite_classes(senders or {}, found)
        read = _core.Scenario.from_json if form == "json" else _core.Scenario.from_toml
        self._folder = None if folder is None else os.fspath(folder)
        try:
            self._core = self._read(read, progress)
        except ScenarioError as error:
            # Packages are only searched for names that nothing else has: the search takes longer than a small run.
            more = loading.find_named_plugins(error.problems)
            if not more or more.keys() <= self._senders.keys():
                raise
            self._core = self._read(read, progress, more)
        if more := loading.find_varied_plugins(self._senders, self._core.sweep(), self._core.tune()):
            self._core = self._read(read, progress, more)
        if case is not None:
            self._core = self._core.case(case, self._over)

    def _read(self, read: Callable[..., _core.Scenario], progress: Watch | None, *more: Senders) -> _core.Scenario:
        self._senders = loading.unite_classes(self._senders, *more)
        given = loading.describe_classes(self._senders)
        return read(self._text, self._source, self._sets, self._folder, given, _make_listener(progress))

    def replace(self, key: str, value: Any) -> Scenario:
        """Return the scenario with another value at a dotted key: `replace("link.feeder.rate", "5 Mbit/s")`."""
        return self.with_sets([(key, value)])

    def with_sets(self, sets: Sets) -> Scenario:
        """Return the scenario with other values at dotted keys."""
        senders: Senders = {}
        more, is_case = literals(sets, senders), self._case is not None
        return Scenario(
            self._text,
            form=self._form,
            source=self._source,
            # Overrides of a case come after the settings of the case.
            sets=self._sets if is_case else [*self._sets, *more],
            folder=self._folder,
            case=self._case,
            over=[*self._over, *more] if is_case else [],
            # A new class replaces an earlier class of the same name.
            senders={**self._senders, **senders},
        )

    def with_content(self, content: Mapping[str, Any]) -> Scenario:
        """Make a scenario with this content, and with the source, folder and custom classes of this scenario."""
        return Scenario(content, source=self._source, folder=self._folder, senders=self._senders)

    def edit_text(self, key: str, value: Any) -> str:
        """Return the scenario's text with another value at a dotted key. Comments, order and all other text stay.

        The text is `written`, so it has no overrides. The result is not checked; `loads` checks it.

        Raises
        ------
        ScenarioError
            The key is impossible, a scenario cannot contain the value, or the text is JSON.
        """
        from bentpipe.scenario.editing import edit_text

        if self._form != "toml":
            raise ScenarioError("a scenario in JSON has no comments to keep\n  expected TOML, or replace()")
        if loading.changes_list(arguments.text("key", key)):
            raise ScenarioError(
                f"{key} is not a key of a file\n  expected the whole list, node.NAME.middlebox, or replace()"
            )
        return edit_text(self._text, key, literals([(key, value)], {})[0][1])

    def network(self) -> dict[str, Any]:
        """Return nodes, links and flows as plain data, for drawing.

        Returns
        -------
        dict
            `duration_s`, and three lists of dicts: `nodes`, `links` and `flows`. A node has `node`, `kind` and
            `middleboxes` (their kinds). `links` has an entry for each direction: `link`, `from`, `to`, `rate_bps`,
            `delay_s`, `outage` and `away_s`. `rate_bps` and `delay_s` are profiles: `values` that hold from `times_s`
            on. `linear` is true if values in between are interpolated. The profile repeats after `period_s`, unless
            this is None. `outage` is None, or has `spans_s` with `period_s`, or for random outages `mean_up_s` and
            `mean_down_s`. `away_s` has the begin and end of each absence in the timeline (end None: no return).
            A flow has `flow`, `from`, `to`, and the links of `route` and `reverse_route` at the start. Later routes are
            in `routes_later` and `reverse_routes_later`, with `time_s` and `route`; an impossible route is None.
        """
        return dict(json.loads(self._core.network()))

    def bottleneck(self) -> tuple[str, float] | None:
        """The common bottleneck of all flows: the link with the lowest rate on their paths, and this rate in bit/s.

        It is None if flows have different bottlenecks, or the rate or a route changes during the run.
        """
        network = self.network()
        rates = {link["link"]: link["rate_bps"]["values"] for link in network["links"]}
        found = set()
        for flow in network["flows"]:
            if not flow["route"] or flow["routes_later"] or any(len(rates[link]) > 1 for link in flow["route"]):
                return None
            found.add(min(((rates[link][0], link) for link in flow["route"]), key=lambda each: each[0]))
        if len(found) != 1:
            return None
        ((rate_bps, link),) = found
        return link, rate_bps

    @property
    def cases(self) -> dict[str, Scenario]:
        """Cases of the scenario (`[case.NAME]`), each complete, in the order of the file."""
        return {name: self._as_case(name) for name in self._core.cases()}

    def _as_case(self, name: str) -> Scenario:
        case = copy(self)
        case._case, case._core = name, self._core.case(name, [])
        return case

    @property
    def case(self) -> str | None:
        """Name of the case that this scenario is; None if it is not a case."""
        return self._case

    @property
    def source(self) -> str:
        """Path or name of the scenario's source, if it has one."""
        return self._source

    @property
    def written(self) -> tuple[str, str]:
        """Text of the scenario without overrides, and its form: `toml` or `json`."""
        return self._text, self._form

    @property
    def senders(self) -> dict[str, Own]:
        """Custom classes that the scenario may name, by name."""
        return dict(self._senders)

    @property
    def folder(self) -> str | None:
        """Folder of the files that the scenario names."""
        return self._folder

    @property
    def sets(self) -> list[tuple[str, str]]:
        """Overrides by dotted key, in order."""
        return [*self._sets, *self._over]

    def find_acting(self, key: str) -> list[str]:
        """Return the keys that decide in place of a dotted key without effect; empty if the key has an effect.

        A link's rate has no effect if both directions have their own rate. A key of `tcp` has no effect if each flow
        has its own value.
        """
        return self._core.acting(key)

    def with_seed(self, seed: int) -> Scenario:
        """Return the scenario with another seed."""
        return self.replace("seed", seed)

    def with_series(self, names: str | Iterable[str]) -> Scenario:
        """Return the scenario with further recorded time series (`bentpipe list series`)."""
        have = list(self.to_dict().get("record", {}).get("series", []))
        more = [name for name in split_names(names) if name not in have]
        return self.replace("record.series", have + more) if more else self

    def resolve(self) -> str:
        """Return TOML text with every default and its origin in a comment; reading it gives an equal scenario."""
        return self._core.to_toml()

    def to_dict(self) -> dict[str, Any]:
        """Return the resolved scenario as a dict. Reading it gives an equal scenario."""
        return dict(json.loads(self._core.to_json()))

    @property
    def title(self) -> str:
        return self._core.title

    @property
    def duration_s(self) -> float:
        return self._core.duration_s

    @property
    def seed(self) -> int:
        return self._core.seed

    @property
    def digest(self) -> str:
        return self._core.digest

    @property
    def hosts(self) -> list[tuple[str, list[str]]]:
        """Hosts of the flows that have a transport, as chosen by `tcp.like`, each with its congestion controls."""
        return self._core.hosts

    @property
    def flow_names(self) -> list[str]:
        return self._core.flow_names

    @property
    def subflow_names(self) -> list[str]:
        """Names of the subflows of flows over several paths, each `FLOW.SUBFLOW`."""
        return self._core.subflow_names

    @property
    def notes(self) -> list[str]:
        """Notes and hints that need no run, such as a window that no buffer limits. Results include them."""
        return self._core.notes

    @property
    def warnings(self) -> tuple[Problem, ...]:
        """Notes and hints as problems of severity `warning`, each at its key, if the key is known."""
        return tuple(self._core.warnings())

    @property
    def has_media(self) -> bool:
        """Whether links share a medium."""
        return bool(self.to_dict().get("medium"))

    @property
    def has_sky(self) -> bool:
        """Whether the scenario has `[sky]`. A resolved scenario has the links made from the sky instead."""
        return self._core.has_sky

    def sky(self, *, progress: Wish = None) -> ScenarioSky:
        """Return the constellations, places and paths of `[sky]` over the run.

        Time 0 is the start of the run. Paths are computed again, which takes as long as reading the scenario.

        Parameters
        ----------
        progress : callable or bool, optional
            Progress of the computation, as in `load`.

        Raises
        ------
        ScenarioError
            The scenario has no `[sky]`: all links are on the ground, or it is a resolved scenario.
        """
        from bentpipe.sky.of_scenario import ScenarioSky

        if not self.has_sky:
            raise ScenarioError(
                f"{self.title or 'the scenario'} has no sky\n"
                "  expected a scenario with [sky], such as ship; a saved run has resolved links instead"
            )
        with choose_watch(progress) as watch:
            return ScenarioSky.from_core(self._core.sky(_make_listener(watch)))

    @property
    def flow_kinds(self) -> list[str]:
        """Kind of the application of each flow: `greedy`, `page`, `datagrams`."""
        return self._core.flow_kinds

    @property
    def has_days(self) -> bool:
        """Whether each replication of an experiment has another day of the sky: `[sky]` has no `day`."""
        return self._core.has_days

    def on_day(self, day: int) -> Scenario:
        """Return the scenario on a day of the sky; if its day is fixed, return the scenario itself."""
        return self.replace("sky.day", day) if self.has_days else self

    @property
    def link_names(self) -> list[str]:
        return self._core.link_names

    def __copy__(self) -> Scenario:
        # Without this, a copy reads the text again.
        copied = object.__new__(Scenario)
        copied.__dict__.update(self.__dict__)
        return copied

    def __reduce__(self) -> tuple[Any, ...]:
        # The core's part cannot be pickled. The text makes it again.
        again = partial(
            Scenario,
            form=self._form,
            source=self._source,
            sets=self._sets,
            folder=self._folder,
            case=self._case,
            over=self._over,
            senders=self._senders,
        )
        return again, (self._text,)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Scenario) and (self.digest, self.seed) == (other.digest, other.seed)

    def __hash__(self) -> int:
        return hash((self.digest, self.seed))

    def __repr__(self) -> str:
        flows = count(len(self.flow_names), "flow")
        return f"<Scenario {self.title!r}: {flows}, {self.duration_s:.10g} s, seed {self.seed}>"

    def _repr_html_(self) -> str:
        network = self.network()
        links = [
            [link["link"], link["from"], link["to"], span(link["rate_bps"], "bit/s"), span(link["delay_s"], "s")]
            for link in network["links"]
        ]
        flows = [[flow["flow"], flow["from"], flow["to"], ", ".join(flow["route"])] for flow in network["flows"]]
        head = f"<p><b>{escape(self.title)}</b>, {self.duration_s:.10g} s, seed {self.seed}</p>"
        return (
            head
            + html_table(["link", "from", "to", "rate", "delay"], links, texts=3)
            + html_table(["flow", "from", "to", "route"], flows, texts=4)
        )


def _make_listener(progress: Watch | None) -> Callable[[float], object] | None:
    if progress is None:
        return None
    state = Progress(total=1, doing="finding paths over the sky")

    def report_share(share: float) -> None:
        state.under_way = share
        progress(state)

    return report_share


def _find(path: str | os.PathLike[str]) -> Path:
    found, name = Path(path), os.fspath(path)
    bundled = SHIPPED / f"{name}.toml"
    is_bundled = found.name == name and bundled.is_file()
    # Path("") would be the current folder. A saved result may have the name of its bundled scenario.
    if name and found.exists() and not (is_bundled and found.is_dir()):
        return found
    if is_bundled:
        return bundled
    names = [path.stem for path in _shipped_files()]
    raise ScenarioError(unknown(_show_name(name), "a file or a bundled scenario", names))


def _read(path: Path) -> str:
    if path.is_dir():
        raise ScenarioError(f"{path} is a directory\n  expected a scenario file")
    if path.stat().st_size > SIZE_MAX:
        raise ScenarioError(_too_large(path))
    # An open pipe, such as /dev/stdin or <(...), has a writer. Opening another pipe would wait for a writer for ever.
    if path.is_fifo() and not os.path.realpath(path).startswith("/proc/"):
        expected = "expected a scenario file, or - for the standard input: ... | bentpipe run -"
        raise ScenarioError(f"{path} is a pipe\n  {expected}")
    with path.open("rb") as file:
        # A pipe or device has no known size.
        return _text(file.read(SIZE_MAX + 1), path)


def _text(content: bytes, path: Path | str) -> str:
    if len(content) > SIZE_MAX:
        raise ScenarioError(_too_large(path))
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ScenarioError(files.not_text(path, error)) from error


def _show_name(name: str) -> str:
    return name if len(name) <= SHOWN_MAX else f"{name[:SHOWN_MAX]}..."


def _too_large(path: Path | str) -> str:
    return f"{path} is larger than {SIZE_MAX // 2**20} MiB\n  expected a scenario file"
