"""The routes for the scripts of a page: data of runs, the state of jobs, and the files of the package.

Each route parses, checks, and calls one function. An error of the user is a line of text with status 400, or 404 if the
run is unknown. The name of a run has 12 hexadecimal digits. A draft, the scenario of a page that has not been run, has
such a name, too. It has a network and a sky, and no series.
"""

from __future__ import annotations

import math
import tempfile
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from fastapi import APIRouter, FastAPI, Query, Request
from fastapi.responses import FileResponse, JSONResponse, PlainTextResponse, Response
from starlette.staticfiles import StaticFiles

from bentpipe.catalog import unknown
from bentpipe.errors import BentpipeError, Interrupted
from bentpipe.scenario.scenario import Scenario, list_bundled
from bentpipe.studio.drafts import DraftData
from bentpipe.studio.state import split_pins
from bentpipe.studio.thumbnail import draw_bundled

if TYPE_CHECKING:
    from collections.abc import Callable

    from bentpipe.experiment.single.run_result import RunResult
    from bentpipe.studio.data import RunData
    from bentpipe.studio.sky import SkyData
    from bentpipe.studio.state import Studio

HERE = Path(__file__).parent
OPEN_MAX = 4
"""Runs whose tables are kept in memory."""
COLUMNS_MAX = 10_000
FORMS = {"svg": "image/svg+xml", "pdf": "application/pdf", "png": "image/png"}
_DRAWING = Lock()
OF_REPORTS = "; ".join(("default-src 'none'", "style-src 'unsafe-inline'", "img-src data:", "sandbox"))
"""A report is a file of the folder: it runs no script, and belongs to no site."""
NAMES_MAX = 200
"""Letters of the name of a flow, link or series."""

K = TypeVar("K")
V = TypeVar("V")
Start = Annotated[float, Query(alias="from")]
End = Annotated[float, Query(alias="to")]


class UnknownRunError(BentpipeError):
    """There is no such run."""


def install(app: FastAPI, studio: Studio) -> None:
    """Add all routes to an application."""
    app.add_exception_handler(BentpipeError, _refuse_request)
    app.include_router(make_run_routes(studio), prefix="/api/run/{run}")
    app.include_router(make_folder_routes(studio), prefix="/api")
    for name in ("static", "vendor"):
        app.mount(f"/{name}", StaticFiles(directory=HERE / name))


def _refuse_request(request: Request, error: Exception) -> Response:
    return PlainTextResponse(f"{error}\n", status_code=404 if isinstance(error, UnknownRunError) else 400)


def make_run_routes(studio: Studio) -> APIRouter:
    """The routes of one run."""
    router = APIRouter()

    @once
    def open_run(place: Path) -> RunData:
        # Loaded when needed: tables take half a second, and the page is to be there before.
        from bentpipe.studio.data import RunData

        return RunData(place)

    @once
    def sky(run: str) -> SkyData:
        from bentpipe.studio.sky import SkyData

        return SkyData.from_scenario(scenario(run))

    def result(run: str) -> RunData:
        return open_run(find_run(lambda: studio.folder.run(run)))

    def data(run: str) -> RunData | DraftData:
        draft = studio.drafts.get(run)
        return result(run) if draft is None else DraftData(run, draft)

    def scenario(run: str) -> Scenario:
        draft = studio.drafts.get(run)
        return find_run(lambda: studio.scenario_of_run(run)) if draft is None else draft

    @router.get("/meta")
    def meta(run: str) -> Response:
        return JSONResponse(data(run).meta())

    @router.get("/series")
    def series(run: str, name: str, of: str, start: Start, end: End, columns: int) -> Response:
        _check_query(names=(name, of), times=(start, end))
        if not 1 <= columns <= COLUMNS_MAX:
            raise BentpipeError(f"columns = {columns}\n  expected 1 to {COLUMNS_MAX}")
        content = data(run).series(name, of, start, end, columns)
        return Response(content, media_type="application/octet-stream")

    @router.get("/at")
    def find_values(run: str, t: float) -> Response:
        _check_query(times=(t,))
        return JSONResponse(data(run).find_values(t))

    @router.get("/why")
    def why(run: str, flow: str, t: float) -> Response:
        _check_query(names=(flow,), times=(t,))
        return JSONResponse(data(run).why(flow, t))

    @router.get("/spent")
    def find_time_spent(run: str, flow: str, start: Start, end: End) -> Response:
        _check_query(names=(flow,), times=(start, end))
        return JSONResponse(data(run).find_time_spent(flow, start, end))

    @router.get("/packets")
    def packets(run: str, flow: str, start: Start, end: End) -> Response:
        _check_query(names=(flow,), times=(start, end))
        return JSONResponse(data(run).packets(flow, start, end))

    @router.get("/figure")
    def figure(run: str, form: str, start: Start, end: End) -> Response:
        _check_query(times=(start, end))
        if form not in FORMS:
            raise BentpipeError(unknown(form, "a form of a figure", FORMS))
        content = draw_file(result(run).result, form, start, end)
        return Response(content, media_type=FORMS[form], headers=_make_headers(f"{run}.{form}"))

    @router.get("/share")
    def share(run: str, pin: str = "") -> Response:
        from bentpipe.studio.share import single

        pins = [result(each) for each in split_pins(pin)]
        page = single(result(run), pins, sky(run) if scenario(run).has_sky else None)
        return Response(page, media_type="text/html; charset=utf-8", headers=_make_headers(f"{run}.html"))

    @router.get("/flows")
    def flows(run: str, name: str, start: Start, end: End, columns: int, order: str) -> Response:
        _check_query(names=(name, order), times=(start, end))
        if not 1 <= columns <= COLUMNS_MAX:
            raise BentpipeError(f"columns = {columns}\n  expected 1 to {COLUMNS_MAX}")
        return JSONResponse(result(run).flows(name, start, end, columns, order))

    @router.get("/differences")
    def find_differences(run: str, others: str) -> Response:
        found = result(run).find_differences(result(each) for each in split_pins(others))
        return JSONResponse(found)

    @router.get("/network")
    def network(run: str) -> Response:
        return JSONResponse(scenario(run).network())

    @router.get("/sky")
    def find_sky(run: str) -> Response:
        return JSONResponse(dict(sky(run).facts))

    @router.get("/keyframes")
    def keyframes(run: str) -> Response:
        return Response(sky(run).frames, media_type="application/octet-stream")

    @router.get("/coverage")
    def coverage(run: str, constellation: str, t: float) -> Response:
        _check_query(names=(constellation,), times=(t,))
        return JSONResponse(sky(run).coverage(constellation, t))

    @router.get("/delays")
    def delays(run: str, constellation: str, t: float, to: str | None = None) -> Response:
        _check_query(names=(constellation, to or ""), times=(t,))
        return JSONResponse(sky(run).delays(constellation, t, to))

    return router


def once(make: Callable[[K], V]) -> Callable[[K], V]:
    """Keep the last values of a function, because a page asks in several threads, and each would compute the value."""

    @lru_cache(OPEN_MAX)
    def find_kept(key: K) -> tuple[Callable[[], V], Lock]:
        return lru_cache(1)(lambda: make(key)), Lock()

    choosing = Lock()

    def ask(key: K) -> V:
        with choosing:
            value, making = find_kept(key)
        # Other values do not wait: to load a run may be to do it again.
        with making:
            return value()

    return ask


def make_folder_routes(studio: Studio) -> APIRouter:
    """The routes of the folder and of the jobs."""
    router = APIRouter()

    @router.get("/alive")
    def is_alive() -> Response:
        return PlainTextResponse("yes\n")

    @router.get("/library")
    def library() -> Response:
        folder = studio.folder
        runs = [{"run": run, **_short(folder.about(run))} for run in folder.runs()]
        return JSONResponse({"bundled": list_bundled(), "scenarios": folder.scenarios(), "runs": runs})

    @router.get("/thumbnail/{name}")
    def thumbnail(name: str) -> Response:
        if name not in list_bundled():
            raise UnknownRunError(
                f"{name[:NAMES_MAX]!r} is not a bundled scenario\n  expected a name of bentpipe list scenarios"
            )
        return Response(draw_bundled(name), media_type="image/svg+xml")

    @router.get("/stores")
    def stores() -> Response:
        folder = studio.folder
        found = [{"name": name, "title": title} for name, title in folder.stores()]
        return JSONResponse({"stores": found, "reports": folder.reports()})

    @router.get("/report")
    def report(name: str) -> Response:
        _check_query(names=(name,))
        page = find_run(lambda: studio.folder.report(name))
        return FileResponse(page, media_type="text/html", headers={"content-security-policy": OF_REPORTS})

    @router.get("/jobs")
    async def jobs() -> Response:
        # In the event loop, as all that changes jobs.
        return JSONResponse([job.to_dict() for job in studio.jobs.list_jobs()])

    return router


def draw_file(result: RunResult, form: str, start: float, end: float) -> bytes:
    """Draw a part of a run as a file. The description in the file has the command that repeats the run."""
    from bentpipe.plot import save

    try:
        note = result.command()
    except BentpipeError:
        note = ""
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / f"figure.{form}"
        # The library draws with one state for all threads.
        with _DRAWING:
            figure = result.plot(start=start, end=min(end, result.simulated_s))
            save(figure, file, note)
        return file.read_bytes()


def _make_headers(name: str) -> dict[str, str]:
    return {"content-disposition": f'attachment; filename="{name}"'}


def find_run(find: Callable[[], Any]) -> Any:
    """The result of a search for a run; its error has status 404."""
    try:
        return find()
    except Interrupted:
        raise
    except BentpipeError as error:
        raise UnknownRunError(str(error)) from error


def _short(about: dict[str, Any]) -> dict[str, Any]:
    return {name: about.get(name) for name in ("title", "scenario", "stop", "is_pinned", "created_s")}


def _check_query(names: tuple[str, ...] = (), times: tuple[float, ...] = ()) -> None:
    if any(len(name) > NAMES_MAX for name in names):
        raise BentpipeError(f"a name has more than {NAMES_MAX} letters\n  expected a flow, link or series of the run")
    if not all(math.isfinite(each) and each >= 0 for each in times):
        raise BentpipeError("a time is not a number\n  expected seconds from the start of the run")
