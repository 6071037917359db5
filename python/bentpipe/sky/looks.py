"""Looks at the sky as results. Each has a table of quantities, a command that repeats it, and a form to save it."""

from __future__ import annotations

import inspect
import json
import os
import shlex
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, fields, is_dataclass
from datetime import date
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from bentpipe import files
from bentpipe.contract.result import Result
from bentpipe.errors import SkyError
from bentpipe.sky.scenes import Place, Scene, Span, coordinates
from bentpipe.version import __version__

if TYPE_CHECKING:
    from pathlib import Path

    import polars as pl
    from matplotlib.figure import Figure

    from bentpipe.contract.reporter import Reporter
    from bentpipe.sky.scenes import PlaceLike
    from bentpipe.statistics.estimates import Interval

L = TypeVar("L", bound="Look")

SCENE = (
    *("start", "elevation_min", "range_max_km", "motion", "mean_motion", "odd_planes", "between_satellites", "bad"),
    *("gateway", "relay", "stretch", "elements_age_max"),
)
"""Arguments of a look that its scene takes."""
SPELLED = {"g_over_t": "--gt", "symbol_rate": "--baud", "down_g_over_t": "--down-gt"}
"""Options of the command line that have other names than the arguments."""
SEVERAL = ("gateway", "failure", "percent")
"""Options that are repeated."""
TIMES = ("at", "duration", "step", "elements_age_max")


def chosen(verb: Callable[..., Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a call that differ from their defaults, fit for JSON."""
    usual = {name: each.default for name, each in inspect.signature(verb).parameters.items()}
    return {
        name: _plain(value)
        for name, value in given.items()
        if name in usual and name != "progress" and not (type(value) is type(usual[name]) and value == usual[name])
    }


class Look(Result):
    """Result of a look at the sky. It is computed from orbits, so values are exact and have no intervals."""

    verb: ClassVar[str]
    """Subcommand of `bentpipe sky`."""
    positional: ClassVar[tuple[str, ...]] = ()
    """Arguments that the command line takes without an option."""
    read: ClassVar[Mapping[str, Callable[[Any], Any]]] = {}
    """Functions that rebuild fields from plain data, by name of the field."""
    scene: Scene
    asked: Mapping[str, Any] | None
    """Arguments of the call; None for a look at the sky of a scenario."""

    @property
    def hosts(self) -> str:
        """Empty: no packets are sent."""
        return ""

    @property
    def runs(self) -> pl.DataFrame:  # type: ignore[override]
        """Empty table: nothing is run."""
        import polars as pl

        return pl.DataFrame()

    @property
    def notes(self) -> list[str]:  # type: ignore[override]
        """Notes on records and satellites that were left out, and on the age of elements."""
        return list(self.scene.notes)

    @property
    def names(self) -> tuple[str, ...]:  # type: ignore[override]
        """Pairs of places, places, or the constellation, as in the column `of`."""
        return tuple(self.table["of"].unique(maintain_order=True))

    @property
    def table(self) -> pl.DataFrame:
        """A row per quantity.

        Columns `of`, `metric`, `unit`, `replications` (1), `median` over the instants, `low` and `high` (null, because
        nothing is random), and `min`, `p95` and `max` if the quantity varies.
        """
        import polars as pl

        schema = {"of": pl.String, "metric": pl.String, "unit": pl.String, "replications": pl.Int64}
        reals = dict.fromkeys(("median", "low", "high", "min", "p95", "max"), pl.Float64)
        rows = [{**dict.fromkeys(reals), "replications": 1, **row} for row in self._quantities()]
        return pl.DataFrame(rows, schema={**schema, **reals})

    @property
    def differences(self) -> pl.DataFrame:
        """Table without rows: nothing is compared."""
        from bentpipe.contract import frames
        from bentpipe.statistics.judgement import Judgement

        return frames.differences([], Judgement(statistic="median"))

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write all tables as Parquet files, and the arguments of the look, into a folder."""
        import polars as pl

        content = {each.name: getattr(self, each.name) for each in fields(self) if each.compare}  # type: ignore[arg-type]
        tables = {name: value for name, value in content.items() if isinstance(value, pl.DataFrame)}
        plain = {name: _plain(value) for name, value in content.items() if name not in (*tables, "scene")}
        facts = {**self._provenance(), "asked": dict(self._collect_asked()), "fields": plain}

        def fill(place: Path) -> None:
            for name, table in (tables | self._further()).items():
                (place / f"{name}.parquet").write_bytes(files.parquet(table))

        files.put_folder(folder, self._form(), fill, provenance=facts)

    @classmethod
    def load(cls: type[L], folder: str | os.PathLike[str]) -> L:
        """Open what `save` wrote.

        Raises
        ------
        BentpipeError
            The folder is not the result of such a look, or is damaged.
        SkyError
            The file of elements that the look used is missing, or has other satellites now.
        """
        facts = files.provenance(folder, cls._form())
        with files.reading(folder):
            look, plain = facts["asked"], facts["fields"]
            made = {"span": lambda given: Span(**given), **cls.read}
            content = {name: made[name](each) if name in made and each else each for name, each in plain.items()}
            kept = {each.name for each in fields(cls) if each.compare} - content.keys() - {"scene"}  # type: ignore[arg-type]
            content |= {name: files.table(folder, name) for name in kept}
            content |= {"scene": _scene(look, cls._ends(look), cls._span(content)), "asked": look}
            found = cls(**content)
            if len(found.scene.satellites) != facts["satellites"]:
                raise SkyError(f"{facts['over']} has other satellites now\n  repeat the look: {found.command()}")
            return found._with_further(folder)

    def command(self) -> str:
        """Write the shell command that repeats the look.

        Raises
        ------
        BentpipeError
            No command can repeat the look: a place got its name in Python, or the look is of a scenario.
        """
        return shlex.join(["bentpipe", "sky", self.verb, *self._words(self._collect_asked())])

    def _collect_asked(self) -> Mapping[str, Any]:
        """Arguments of the call."""
        if self.asked is None:
            raise SkyError(
                f"this {type(self).__name__} shows the sky of a scenario, and no sky command repeats it\n"
                "  expected a look of bentpipe.sky, or the scenario"
            )
        return self.asked

    def _command_or_none(self) -> str:
        try:
            return self.command()
        except SkyError:
            return ""

    @classmethod
    def _words(cls, look: Mapping[str, Any]) -> Iterator[str]:
        for name in cls.positional:
            given = look[name]
            yield from map(_spell_value, given if name == "places" else [given])
        for name, value in look.items():
            option = SPELLED.get(name, f"--{name.replace('_', '-')}")
            if name in cls.positional:
                continue
            if name == "ends":
                yield from ("--from", _spell_value(value[0]), "--to", _spell_value(value[1]))
            elif name == "down":
                yield from cls._words({f"down_{key}": each for key, each in value.items()})
            elif isinstance(value, bool):
                yield from [option] if value else []
            else:
                several = name in SEVERAL and isinstance(value, list)
                for each in value if several else [value]:
                    yield from (
                        option,
                        f"{each:g} s" if name in TIMES and not isinstance(each, str) else _spell_value(each),
                    )

    def _figure(self, chart: str, metric: str | None) -> Figure:
        if metric is not None:
            raise SkyError("{metric} has no figure: a look at the sky draws charts\n  expected chart=", metric=metric)
        return self._draw(chart)

    def _estimate(self, of: str, metric: str) -> Interval:
        from bentpipe.catalog import unknown
        from bentpipe.statistics.estimates import Interval

        found = self.table.filter(of=of)
        if metric not in found["metric"]:
            raise SkyError(unknown(metric, "a metric of this look", found["metric"]))
        return Interval(1, found.filter(metric=metric)["median"].item(), None, None, None)

    def _reporter(self) -> Reporter:
        import polars as pl

        from bentpipe.contract.tabled import OfTables
        from bentpipe.reports.provenance import Provenance

        made = Provenance(
            title=self._head,
            source=self.scene.over,
            seeds="",
            replications="computed from orbits",
            version=f"bentpipe {__version__}",
            senders="",
            command=self._command_or_none(),
        )
        content = {each.name: getattr(self, each.name) for each in fields(self)}  # type: ignore[arg-type]
        tables = {name: (name.capitalize(), each) for name, each in content.items() if isinstance(each, pl.DataFrame)}
        return OfTables(self, made, tables)

    def _provenance(self) -> dict[str, Any]:
        return {"title": self._head, "version": __version__, **self._facts()}

    def _repr_html_(self) -> str:
        from bentpipe.plot import notebook

        return notebook.page(self._head, self._make_tables(), [*self.statements, *self.notes], self.plot)

    @classmethod
    def _form(cls) -> str:
        return f"bentpipe sky {cls.verb}"

    # Each look defines these.

    @classmethod
    def _ends(cls, look: Mapping[str, Any]) -> list[Any]:
        """The places of the scene, as they were given."""
        return [look[name] for name in cls.positional]

    @classmethod
    def _span(cls, content: Mapping[str, Any]) -> Span | None:
        """The span over which the scene is seen."""
        return content.get("span")

    @property
    @abstractmethod
    def _head(self) -> str:
        """A title."""

    @abstractmethod
    def _draw(self, chart: str) -> Figure:
        """Draw one of `charts`."""

    @abstractmethod
    def _facts(self) -> dict[str, Any]:
        """Constellation, places and times of the look."""

    @abstractmethod
    def _quantities(self) -> Iterator[dict[str, Any]]:
        """Rows of `table`."""

    @abstractmethod
    def _make_tables(self) -> list[tuple[Any, Any, int]]:
        """Tables of a notebook."""

    def _further(self) -> dict[str, pl.DataFrame]:
        """Tables that are saved besides those of the fields."""
        return {}

    def _with_further(self: L, folder: str | os.PathLike[str]) -> L:
        """The look with these tables."""
        return self


def quantity_row(of: str, metric: str, unit: str, value: Any) -> dict[str, Any]:
    """Make a row of a look's table from one value, or from a dict of `min`, `median`, `p95` and `max`."""
    values = value if isinstance(value, dict) else {"median": value}
    return {"of": of, "metric": metric, "unit": unit, **values}


def spread(values: pl.Series) -> dict[str, Any]:
    """Return `min`, `median`, `p95` and `max` of a column; null if the column has no value."""
    found = {"min": values.min(), "median": values.median(), "max": values.max()}
    return {**found, "p95": values.quantile(0.95, "linear")}


def _scene(look: Mapping[str, Any], ends: list[Any], span: Span | None) -> Scene:
    """The scene of a look, from its arguments."""
    given = {name: look[name] for name in SCENE if name in look}
    given = {"start": None, "elevation_min": None, "bad": "refuse", **given}
    gateways = [_read_place(each) for each in given.pop("gateway", ())]
    scene = Scene.from_places(look["over"], [_read_place(each) for each in ends], gateway=gateways, span=span, **given)
    return scene.failing(look.get("failure", ()))


def _plain(value: Any) -> Any:
    """Converts a value to the form that JSON reads back."""
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    if isinstance(value, date):
        return value.isoformat()
    return os.fspath(value) if isinstance(value, os.PathLike) else value


def _read_place(value: Any) -> PlaceLike:
    """A place from plain data."""
    if isinstance(value, dict):
        return Place(**value)
    found: PlaceLike = tuple(value) if isinstance(value, list) else value
    return found


def _spell_value(value: Any) -> str:
    """A value as one types it."""
    if isinstance(value, dict):
        north, east, height = (value[name] for name in ("latitude_deg", "longitude_deg", "height_km"))
        if value["name"] != coordinates(north, east):
            raise SkyError(
                f"no command repeats this look: the place {value['name']} was given in Python\n"
                "  expected a city, or degrees north and east"
            )
        return _spell_value([north, east, *([height] if height else [])])
    if isinstance(value, list):
        north, east, *heights = value
        side, way = "S" if north < 0 else "N", "W" if east < 0 else "E"
        return " ".join([f"{abs(north):.12g}{side} {abs(east):.12g}{way}", *(f"{each:.12g} km" for each in heights)])
    return value if isinstance(value, str) else json.dumps(value)
