"""The tab Fit of the studio: files that are dropped, their content in numbers, the path, its check, and its run."""

import json

import numpy as np
import pytest

pytest.importorskip("nicegui", reason="the studio needs the extra: pip install bentpipe[studio]")

from click.testing import CliRunner

import bentpipe as bp
from bentpipe.cli.app import app
from bentpipe.cli.fit import KINDS as KINDS_OF_COMMAND
from bentpipe.fitting import readers
from bentpipe.studio import guard
from bentpipe.studio.page.fit import KINDS
from tests.studio_pages import SHORT, Page, on_pages, server, until

pytestmark = pytest.mark.timeout(300)


def ping(seconds=120, base_ms=540.0, begin_s=1_700_000_000):
    """Answers of `ping -D`, five a second, with one lost of ninety."""
    waits = np.random.default_rng(1).exponential(4.0, 5 * seconds)
    lines = ["PING 192.0.2.1 (192.0.2.1) 56(84) bytes of data."]
    for number, wait in enumerate(waits, 1):
        trip_ms = base_ms + wait
        at = begin_s + 0.2 * number + trip_ms / 1e3
        if number % 90:
            lines.append(f"[{at:.6f}] 64 bytes from 192.0.2.1: icmp_seq={number} ttl=56 time={trip_ms:.3f} ms")
    return "\n".join(lines) + "\n"


def transfer(seconds=60, mbit_per_s=8.0):
    """A test of `iperf3 -R -J`: rows of the receiver."""
    rows = []
    for second in range(seconds):
        size = int(mbit_per_s * 1e6 / 8)
        one = {"start": second, "end": second + 1, "seconds": 1.0, "bytes": size, "bits_per_second": 8.0 * size}
        rows.append({"streams": [{"socket": 5, **one, "omitted": False}], "sum": {**one, "omitted": False}})
    total = {"start": 0, "end": seconds, "seconds": float(seconds), "bytes": seconds * int(mbit_per_s * 1e6 / 8)}
    total["bits_per_second"] = 8 * total["bytes"] / seconds
    start = {
        "version": "iperf 3.16",
        "timestamp": {"timesecs": 1_700_001_000},
        "test_start": {"protocol": "TCP", "num_streams": 1, "reverse": 1, "duration": seconds},
        "tcp_mss_default": 1448,
    }
    return json.dumps({"start": start, "intervals": rows, "end": {"sum_sent": total, "sum_received": total}})


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "short.toml").write_text(SHORT)
    (tmp_path / "here.txt").write_text(ping())
    return tmp_path


def found(user, marker):
    from nicegui import ElementFilter

    with user:
        return list(ElementFilter(marker=marker))


def cells(user, marker):
    """The rows of a table of the panel."""
    (table,) = found(user, marker)
    return [
        ["".join(label.text for label in cell.default_slot.children) for cell in row.default_slot.children]
        for row in table.default_slot.children
    ]


async def drop(user, **files):
    from nicegui.elements.upload_files import SmallFileUpload

    (place,) = found(user, "drop")
    await place.handle_uploads(
        [SmallFileUpload(name.replace("_", "."), "text/plain", text.encode()) for name, text in files.items()]
    )
    await until(lambda: len(found(user, "measurement")) == len(files))


async def opened(user):
    await until(lambda: found(user, "valid"))
    user.find("Fit").click()
    await until(lambda: found(user, "drop"))


async def ended(studio):
    await until(lambda: studio.jobs.list_jobs() and studio.jobs.list_jobs()[0].is_over)
    return studio.jobs.list_jobs()[0]


def test_files_that_are_dropped_become_a_path_that_runs(folder):
    async def act(studio, user):
        await opened(user)
        await drop(user, ping_txt=ping(), iperf_json=transfer())
        user.find(marker="start-fit").click()
        job = await ended(studio)
        assert job.state == "done", job.error
        await until(lambda: found(user, "files"))
        heads, first, second = cells(user, "files")
        assert heads == ["file", "kind", "samples", "span", "remarks"]
        assert first[:4] == ["ping.txt", "ping", "600 probes", "120 s"]
        assert second[:4] == ["iperf.json", "iperf3", "60 intervals", "60 s"]
        numbers = {row[0]: row[1] for row in cells(user, "numbers")}
        assert numbers["base"].startswith("540 ms")
        assert numbers["rate forward"].startswith(("8", "at least 7.9", "at least 8"))
        assert any(row[0].startswith("rtt") for row in cells(user, "check"))
        assert (folder / "path.toml").read_text().startswith(found(user, "scenario-text")[0].text)
        # The path is in the folder, and its button runs it.
        user.find(marker="open-fit").click()
        await until(lambda: len(studio.jobs.list_jobs()) == 2 and studio.jobs.list_jobs()[0].is_over, 120)
        assert studio.jobs.list_jobs()[0].state == "done", studio.jobs.list_jobs()[0].error
        assert user.session.name == "path.toml"
        assert user.session.text == (folder / "path.toml").read_text()
        assert bp.load(folder / "path.toml").title == "Path of ping.txt, iperf.json"

    on_pages(folder, act)


def test_the_numbers_are_those_of_the_command(folder, monkeypatch):
    kept = {}

    async def act(studio, user):
        await opened(user)
        await drop(user, ping_txt=ping())
        user.find(marker="start-fit").click()
        job = await ended(studio)
        kept.update(job.result)

    on_pages(folder, act)
    monkeypatch.chdir(folder)
    words = kept["command"].split()
    assert words[:2] == ["bentpipe", "fit"]
    assert words[-2:] == ["-o", "path.toml"]
    before = (folder / "path.toml").read_bytes()
    done = CliRunner().invoke(app, [*words[1:], "--json"])
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert (folder / "path.toml").read_bytes() == before
    assert [each["name"] for each in told["numbers"]] == [each[0] for each in kept["numbers"]]
    assert f"Check: {told['verdict']}" == kept["statements"][0]
    assert [each["name"] for each in told["files"]] == ["ping.txt"]
    assert told["files"][0]["probes"] == 600


@pytest.mark.parametrize("name", ["notes.txt", "short.txt"])
def test_errors_are_those_of_the_command(folder, monkeypatch, name):
    text = {"notes.txt": "Dear diary,\nthe dish is wet.\n", "short.txt": ping(seconds=4)}[name]
    (folder / name).write_text(text)
    monkeypatch.chdir(folder)
    expected = CliRunner().invoke(app, ["fit", name])
    assert expected.exit_code == 2

    async def act(studio, user):
        await opened(user)
        await drop(user, **{name.replace(".", "_"): text})
        user.find(marker="start-fit").click()
        job = await ended(studio)
        assert job.state == "failed"
        assert f"error: {job.error}".split() == expected.stderr.split()
        assert found(user, "state-fit")[0].text == job.error
        assert not (folder / "path.toml").exists()

    on_pages(folder, act)


def test_a_scenario_that_was_edited_is_not_replaced(folder):
    async def act(studio, user):
        await opened(user)
        found(user, "save-fit")[0].value = "short.toml"
        await drop(user, ping_txt=ping())
        user.find(marker="start-fit").click()
        job = await ended(studio)
        assert "short.toml exists and was not written by fit" in job.error
        assert (folder / "short.toml").read_text() == SHORT

    on_pages(folder, act)


def test_fields_without_sense_start_nothing(folder):
    async def act(studio, user):
        await opened(user)
        state = found(user, "state-fit")[0]
        user.find(marker="start-fit").click()
        await until(lambda: "no measurement" in state.text)
        found(user, "there")[0].value = "here.txt"
        await until(lambda: found(user, "measurement"))
        found(user, "Columns of a CSV")[0].value = "lag"
        user.find(marker="start-fit").click()
        await until(lambda: "expected NAME=UNIT" in state.text)
        found(user, "Columns of a CSV")[0].value = ""
        found(user, "save-fit")[0].value = "../path.toml"
        user.find(marker="start-fit").click()
        await until(lambda: "outside the folder" in state.text)
        assert studio.jobs.list_jobs() == []

    on_pages(folder, act)


@pytest.mark.parametrize("name", ["..", ".", "a\0b"])
def test_a_name_that_is_none_is_refused(folder, name):
    from nicegui.elements.upload_files import SmallFileUpload

    async def act(studio, user):
        await opened(user)
        told = []
        user.session.notify = lambda text, kind: told.append(text)
        await found(user, "drop")[0].handle_uploads([SmallFileUpload(name, "text/plain", b"x")])
        await until(lambda: told)
        assert not found(user, "measurement")
        assert not [each for each in (folder / ".studio" / "measured").rglob("*") if each.is_file()]

    on_pages(folder, act)


def test_kinds_are_those_of_the_command():
    assert KINDS == KINDS_OF_COMMAND
    assert set(KINDS) <= {*readers.KINDS}


def test_only_uploads_may_be_large(monkeypatch):
    monkeypatch.setattr(guard, "UPLOAD_MAX", 4 << 20)
    door = guard.Door(None, "token", ["127.0.0.1:1"])

    def status(path, size):
        headers = [(b"host", b"127.0.0.1:1"), (b"content-length", str(size).encode())]
        asked = {"type": "http", "method": "POST", "path": path, "raw_path": path.encode(), "headers": headers}
        return (door._refusal(asked) or (200, ""))[0]

    upload = "/token/_nicegui/client/ab-12/upload/7"
    assert [status(upload, size) for size in (1 << 20, 4 << 20, (4 << 20) + 1)] == [200, 200, 413]
    for path in ("/token/api/library", f"{upload}/x", upload.replace("/token", "/token/token")):
        assert status(path, (1 << 20) + 1) == 413


def test_a_browser_drops_files_and_runs_their_path(visitor, tmp_path):
    (tmp_path / "short.toml").write_text(SHORT)
    (tmp_path / "away").mkdir()
    (tmp_path / "away" / "ping.txt").write_text(ping())
    # Larger than any other request.
    (tmp_path / "away" / "long.txt").write_text(ping(seconds=4000, begin_s=1_710_000_000))
    assert (tmp_path / "away" / "long.txt").stat().st_size > guard.BODY_MAX
    with server(tmp_path, "short.toml") as (_, host, token), Page(visitor, f"http://{host}/{token}/") as page:
        page.tab("Fit")
        panel = page.page.get_by_role("tabpanel", name="Fit")
        panel.locator("input[type=file]").set_input_files(
            [tmp_path / "away" / name for name in ("ping.txt", "long.txt")]
        )
        panel.locator(".page-chip").nth(1).wait_for()
        panel.get_by_role("button", name="Remove ping.txt").click()
        page.until("document.querySelectorAll('.page-chip').length === 1")
        page.button("Fit").click()
        panel.locator("table").nth(1).wait_for()
        assert "20,000 probes" in panel.locator("table").first.inner_text()
        page.button("Open path.toml and run it").click()
        page.page.wait_for_selector(".cm-content >> text=Path of long.txt")
        page.until("new URLSearchParams(location.search).get('run') && studio.ready")
