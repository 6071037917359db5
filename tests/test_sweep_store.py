"""Faults of the store of a sweep: clear errors, and no lost runs."""

import logging
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import zlib
from contextlib import closing
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner

import bentpipe as bp
from bentpipe import _core
from bentpipe.cli.app import app
from bentpipe.errors import BentpipeError
from bentpipe.experiment.design.grid import Grid, arguments
from bentpipe.experiment.execution import workers
from bentpipe.experiment.execution.execution import Execution
from bentpipe.experiment.report import report
from bentpipe.experiment.single import measure
from bentpipe.experiment.store import store as stores
from bentpipe.metric import COLUMNS

VARY = {"link.down.error.rate": [0.002, 0.01]}


def sweep(small, folder, **asked):
    return bp.sweep(small, VARY, **{"replications": 5, "tables": ["flows"], "store": folder, **asked})


def files(store):
    return {path.name: path.read_bytes() for path in sorted(store.glob("*.parquet"))}


@pytest.fixture
def store(small, tmp_path):
    """Return the folder of a finished sweep."""
    sweep(small, tmp_path / "store")
    return tmp_path / "store"


def said(call, *args, kind=BentpipeError, **named):
    with pytest.raises(kind) as error:
        call(*args, **named)
    return str(error.value)


def test_what_is_in_the_store_is_read_without_us(store):
    runs = pl.read_parquet(store / "runs.parquet")
    assert runs.columns[:4] == ["run", "link.down.error.rate", "seed", "goodput_bps"]
    assert runs.height == 10
    flows = pl.read_parquet(store / "flows.parquet")
    assert set(flows["run"]) == set(runs["run"])


@pytest.mark.parametrize(
    ("vary", "wrong"),
    [
        ("tcp.ccc=sack", ["error: tcp.ccc is not a known key", 'did you mean "cc"?', "at the point tcp.ccc=sack"]),
        (
            "link.donw.error.rate=0",
            ["error: link.donw is not in the scenario", 'did you mean "down"?', "at the point link.donw.error.rate=0"],
        ),
        ("tcp.cc=sack,renno", ['error: tcp.cc = "renno" is not', 'did you mean "reno"?', "at the point tcp.cc=renno"]),
        ("tcp.cc", ["error: --vary tcp.cc\n  expected each key once, with its values"]),
        ("tcp.cc=[]", ["error: sweep.vary.tcp.cc is empty", "expected at least one value"]),
        ("", ["error: the sweep has no key to vary"]),
        (";", ["error: --vary ;", "expected each key once"]),
        ("sweep.replications=1,2", ["error: sweep.replications cannot vary: a run does not have this key"]),
        ("case.calm.tcp.cc=sack,reno", ["error: case.calm.tcp.cc cannot vary: a run does not have this key"]),
        (
            "link.down.error.rate=0,0.1; link.down.error={},{}",
            ["error: link.down.error.rate is part of link.down.error, and both vary"],
        ),
    ],
)
def test_a_grid_that_makes_no_sense_is_said_before_there_is_a_store(small, tmp_path, vary, wrong):
    options = ["--vary", vary] if vary else []
    done = CliRunner().invoke(app, ["sweep", str(small), *options, "--store", str(tmp_path / "store")])
    assert (done.exit_code, done.stdout) == (2, "")
    for text in wrong:
        assert text in done.stderr
    assert not (tmp_path / "store").exists()


def test_a_place_that_does_not_exist_is_said_before_there_is_a_store(small, tmp_path):
    assert said(sweep, small, tmp_path / "store", on="nowhere") == (
        "on='nowhere'\n  expected local:N for N processes here, or dask://HOST:PORT of a scheduler"
    )
    assert said(sweep, small, tmp_path / "store", jobs=0) == "0 jobs\n  expected at least 1"
    assert not (tmp_path / "store").exists()


@pytest.fixture
def upgraded(store, monkeypatch):
    """Make a store of ten runs from another version of the simulator."""
    monkeypatch.setattr(_core, "RESULTS", _core.RESULTS + 1)
    return store


OTHERS = f"10 runs of results {_core.RESULTS} (bentpipe {bp.__version__})"


def test_runs_of_another_simulator_are_named_and_kept_and_not_used(small, upgraded, begun, tmp_path):
    before = files(upgraded)
    said_is = (
        f"{upgraded} has {OTHERS}, and this bentpipe gives results {_core.RESULTS}\n"
        "  repeat the sweep to run it with this bentpipe and keep the old runs beside, or use the old version"
    )
    assert said(bp.Sweep.load, upgraded) == said_is
    assert said(report, upgraded) == said_is
    result = sweep(small, upgraded)
    assert len(begun) == 10, "nothing was taken over"
    assert set(result.runs["run"].str.split("-").list.first()) == {f"r{_core.RESULTS}"}
    folder = f"results-{_core.RESULTS - 1}"
    versions = [bp.__version__]
    assert result.facts["aside"] == [{"results": _core.RESULTS - 1, "runs": 10, "versions": versions, "folder": folder}]
    # The old runs are unchanged, and the new runs are as in an empty store.
    assert files(upgraded / folder) == before
    sweep(small, tmp_path / "other")
    assert files(upgraded) == files(tmp_path / "other")


def test_what_is_not_used_is_said_by_the_command_and_the_report(small, upgraded):
    vary = ["--vary", "link.down.error.rate=0.002,0.01", "--replications", "5"]
    done = CliRunner().invoke(app, ["sweep", str(small), *vary, "--store", str(upgraded)], env={"COLUMNS": "300"})
    assert f"{OTHERS} are kept in {upgraded}/results-{_core.RESULTS - 1}, and not used" in done.stdout
    page = report(upgraded).page.read_text()
    assert f"{OTHERS} are in the store as well, and not used here." in page
    assert f"results {_core.RESULTS}" in page


def test_the_bentpipe_that_made_runs_can_go_on_with_them(small, upgraded, begun, monkeypatch):
    sweep(small, upgraded)
    begun.clear()
    monkeypatch.setattr(_core, "RESULTS", _core.RESULTS - 1)
    assert sweep(small, upgraded / f"results-{_core.RESULTS}").runs.height == 10
    assert begun == []


def test_runs_that_were_never_exported_are_kept_beside_as_well(small, tmp_path, monkeypatch, begun):
    monkeypatch.setattr(stores.Store, "write", lambda self: None)
    sweep(small, tmp_path / "store")
    monkeypatch.undo()
    assert files(tmp_path / "store") == {}
    monkeypatch.setattr(_core, "RESULTS", _core.RESULTS + 1)
    assert sweep(small, tmp_path / "store").facts["aside"][0]["runs"] == 10
    monkeypatch.setattr(_core, "RESULTS", _core.RESULTS - 1)
    assert bp.Sweep.load(tmp_path / "store" / f"results-{_core.RESULTS}").runs.height == 10


def test_what_a_crash_left_half_moved_is_moved_on(small, upgraded, monkeypatch):
    before = files(upgraded)
    moved, replace = [], Path.replace

    def crash(self, target):
        moved.append(self)
        if len(moved) == 2:
            raise OSError(5, "Input/output error")
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", crash)
    with pytest.raises(BentpipeError):
        sweep(small, upgraded)
    monkeypatch.setattr(Path, "replace", replace)
    assert sweep(small, upgraded).runs.height == 10
    folder = upgraded / f"results-{_core.RESULTS - 1}"
    assert files(folder) == before
    assert (folder / "index.sqlite").exists()
    assert len(list(upgraded.glob("results-*"))) == 1


def test_a_store_in_which_another_simulator_is_at_work_is_left_alone(small, store, monkeypatch):
    with stores.Store(store):
        monkeypatch.setattr(_core, "RESULTS", _core.RESULTS + 1)
        before = files(store)
        assert "and another process adds runs\n  wait until it ends" in said(sweep, small, store)
        assert files(store) == before


def test_a_metric_that_was_added_leaves_old_stores_readable(small, store, monkeypatch, begun):
    monkeypatch.setitem(COLUMNS, "new", "new_metric")
    outcome = measure.outcome
    monkeypatch.setattr(measure, "outcome", lambda tables: {**outcome(tables), "new": 1.0})
    # Without a new number of results, which a test refuses.
    assert bp.Sweep.load(store).runs["new_metric"].to_list() == [None] * 10
    monkeypatch.setattr(_core, "RESULTS", _core.RESULTS + 1)
    assert said(bp.Sweep.load, store).startswith(f"{store} has {OTHERS}, and ")
    result = sweep(small, store)
    assert len(begun) == 10
    assert set(result.runs["new_metric"]) == {1.0}


def test_tables_without_the_index_are_no_store(small, store):
    (store / "index.sqlite").unlink()
    before = files(store)
    for call in (lambda: sweep(small, store), lambda: bp.Sweep.load(store)):
        assert said(call) == (
            f"{store} has exported tables, but no index.sqlite, the index of the store\n"
            "  put the index back, choose another folder, or read the Parquet files"
        )
    assert files(store) == before


def test_a_folder_that_is_something_else_is_left_alone(small, tmp_path):
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "to-my-aunt.txt").write_text("Dear aunt")
    assert said(sweep, small, tmp_path / "letters") == (
        f"{tmp_path}/letters is not empty and not the store of a sweep\n  choose another folder"
    )
    assert [path.name for path in (tmp_path / "letters").iterdir()] == ["to-my-aunt.txt"]
    assert said(bp.Sweep.load, tmp_path / "letters") == (
        f"{tmp_path}/letters is not a store or a saved result\n"
        "  expected a folder of bentpipe run, compare, mix, sweep or tune"
    )
    pl.DataFrame({"runs": [1, 2]}).write_parquet(tmp_path / "letters" / "runs.parquet")
    assert said(sweep, small, tmp_path / "letters") == (
        f"{tmp_path}/letters has exported tables, but no index.sqlite, the index of the store\n"
        "  put the index back, choose another folder, or read the Parquet files"
    )
    assert said(sweep, small, tmp_path / "letters" / "to-my-aunt.txt").endswith(
        "to-my-aunt.txt is not a folder\n  choose another folder"
    )


@pytest.mark.parametrize("table", ["runs", "flows"])
def test_a_table_that_is_deleted_is_exported_again(small, store, begun, table):
    before = files(store)
    (store / f"{table}.parquet").unlink()
    assert bp.Sweep.load(store).runs.height == 10
    sweep(small, store)
    assert begun == []
    assert files(store) == before


@pytest.mark.parametrize("keep", [0, 4096])
def test_a_damaged_index_is_said(small, store, begun, keep):
    before = files(store)
    path = store / "index.sqlite"
    path.write_bytes(path.read_bytes()[:keep] + b"no index" * 3000)
    for call in (lambda: sweep(small, store), lambda: bp.Sweep.load(store)):
        text = said(call)
        assert text.startswith(f"{path} is damaged: ")
        assert text.endswith("choose another folder; the Parquet files have the last export")
    assert files(store) == before


def test_a_record_that_is_not_what_was_kept_is_said(store):
    with closing(sqlite3.connect(store / "index.sqlite")) as index:
        index.execute(
            "update runs set record = cast(replace(cast(record as text), '\"seed\":3', '\"seed\":4') as blob)"
        )
        index.commit()
    text = said(bp.Sweep.load, store)
    assert text.startswith(f"{store / 'index.sqlite'} is damaged: malformed record of the run r")


def test_an_index_of_another_layout_is_said(small, store):
    with closing(sqlite3.connect(store / "index.sqlite")) as index:
        index.execute("pragma user_version = 1")
    for call in (lambda: sweep(small, store), lambda: bp.Sweep.load(store)):
        assert "has layout 1 of another bentpipe, and this one writes layout 2" in said(call)


def test_what_fails_while_the_store_is_written_costs_nothing(small, tmp_path, monkeypatch, begun):
    def fail(number):
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(os, "fsync", fail)
    assert said(sweep, small, tmp_path / "store") == (
        f"{tmp_path}/store cannot be written: no space left on device\n"
        "  make room and start again; all kept runs are safe"
    )
    assert len(begun) == 10
    assert files(tmp_path / "store") == {}
    assert list((tmp_path / "store").glob(".*")) == []
    monkeypatch.undo()
    sweep(small, tmp_path / "store")
    sweep(small, tmp_path / "other")
    assert len(begun) == 10
    assert files(tmp_path / "store") == files(tmp_path / "other")


def test_a_sweep_is_read_while_it_is_under_way(small, tmp_path, monkeypatch):
    seen = []

    def look(progress):
        if progress.done:
            seen.append(bp.Sweep.load(tmp_path / "store").runs.height)

    sweep(small, tmp_path / "store", jobs=1, progress=look)
    assert seen == sorted(seen)
    assert seen[-1] == 10


def test_another_table_does_not_cost_those_that_are_kept(small, store, begun):
    sweep(small, store, tables=["links"])
    assert len(begun) == 10
    both = files(store)
    sweep(small, store, tables=["flows", "links"])
    assert len(begun) == 10
    assert files(store) == both
    sweep(small, store.with_name("other"), tables=["flows", "links"])
    assert files(store.with_name("other")) == both


def sweep_in(opened, small, vary=VARY, **asked):
    """Sweep in an open store. The caller writes its files."""
    grid = Grid(bp.load(small).with_sets(arguments(vary, **{"replications": 5, "tables": ["flows"], **asked})))
    with closing(workers.workers(None, 1)) as place:
        Execution(grid).run(opened, place)


def test_what_another_process_adds_while_the_files_are_written_is_written_next_time(small, tmp_path, monkeypatch):
    replace, place, seen = stores.files.replace, tmp_path / "store", []

    def meanwhile(path, data, mark=""):
        if not seen:
            seen.append(path)
            sweep_in(other, small, tables=["links"])
            sweep_in(other, small, replications=6)
            # Existing runs with another name.
            sweep_in(other, small, {"link.down.error.rate": [0.002], "tcp.cc": ["newreno"]})
        replace(path, data, mark)

    monkeypatch.setattr(stores.files, "replace", meanwhile)
    with stores.Store(place) as one, stores.Store(place) as other:
        sweep_in(one, small)
        one.write()
        one.write()
    assert seen
    runs = pl.read_parquet(place / "runs.parquet")
    assert runs.height == 12
    assert runs["tcp.cc"].drop_nulls().to_list() == ["newreno"] * 5
    assert pl.read_parquet(place / "links.parquet")["run"].n_unique() == 10
    assert pl.read_parquet(place / "flows.parquet")["run"].n_unique() == 12


def test_many_workers_are_given_their_runs_at_once(tmp_path):
    # More than the parameters that a statement of any build of SQLite can have.
    names = [f"r1-{k:016x}-1" for k in range(300_000)]
    with stores.Store(tmp_path / "store") as one, stores.Store(tmp_path / "store") as other:
        assert one.claim(names, len(names), []).mine == names
        assert other.claim(names, len(names), []).mine == []


def test_nothing_begun_in_a_store_is_said(tmp_path):
    with stores.Store(tmp_path / "store"):
        pass
    assert said(bp.Sweep.load, tmp_path / "store") == (
        f"{tmp_path}/store has no sweep\n  expected a folder that bentpipe sweep wrote"
    )


# The tests below need a separate file system. A user namespace gives it without privileges.


@pytest.fixture
def mounted():
    """Run a shell script in which `mount` works."""

    def run(script, *args):
        return subprocess.run(
            ["unshare", "--map-root-user", "--mount", "sh", "-ec", script, "sh", *map(str, args)],
            capture_output=True,
            text=True,
        )

    if sys.platform != "linux" or shutil.which("unshare") is None or run("mount -t tmpfs none /mnt").returncode:
        pytest.skip("mounting is not permitted here")
    return run


BENTPIPE = f"{sys.executable} -m bentpipe"
READ = f"""{sys.executable} -c 'import bentpipe as bp, sys; print(bp.Sweep.load(sys.argv[1]).runs.height)' """


def test_a_full_disk_is_said_and_what_was_finished_is_kept(small, tmp_path, mounted):
    (tmp_path / "disk").mkdir()
    options = "--vary link.down.error.rate=0.002,0.01 --replications 400 --tables links"
    done = mounted(
        f"""
        mount -t tmpfs -o size=800k none "$2/disk"
        {BENTPIPE} sweep "$1" {options} --store "$2/disk/store" || code=$?
        cp -r "$2/disk/store" "$2/store"
        exit $code
        """,
        small,
        tmp_path,
    )
    assert done.returncode == 2, done
    assert "of 800 runs" in done.stderr
    assert done.stderr.endswith(
        f"\nerror: {tmp_path}/disk/store cannot be written: no space left on device\n"
        "  make room and start again; all kept runs are safe\n"
    )
    # With more room the sweep continues.
    vary = {"link.down.error.rate": [0.002, 0.01]}
    told = []
    bp.sweep(
        small, vary, replications=400, tables=["links"], store=tmp_path / "store", progress=lambda p: told.append(p)
    )
    assert told[-1].reused > 50
    bp.sweep(small, vary, replications=400, tables=["links"], store=tmp_path / "other")
    assert files(tmp_path / "store") == files(tmp_path / "other")


FILL = """
import os, sqlite3, sys
from pathlib import Path
from bentpipe.errors import BentpipeError
from bentpipe.experiment.store.store import Store

place = Path(sys.argv[1])
cut = 0
for kilobytes in range(4, 200, 4):
    os.system(f"mount -t tmpfs -o size={kilobytes}k none {place}")
    try:
        with Store(place / "store") as store:
            store.begin({"verb": "sweep"})
    except BentpipeError as error:
        assert "no space left on device" in str(error), (kilobytes, error)
        cut += 1
    os.system(f"mount -o remount,size=4m {place}")
    with Store(place / "store") as store:
        store.begin({"verb": "sweep"})
        assert store.find_experiment() == {"verb": "sweep"}
        assert store.missing({"r": {}}, []) == ["r"]
    os.system(f"umount {place}")
print(cut)
"""


def test_a_store_that_a_full_disk_cut_at_any_size_is_begun_again(tmp_path, mounted):
    done = mounted(f"""{sys.executable} -c '{FILL}' "$1" """, tmp_path)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 5


def test_an_index_of_an_older_bentpipe_that_a_full_disk_cut_is_filled(small, tmp_path):
    (tmp_path / "store" / "working").mkdir(parents=True)
    with closing(sqlite3.connect(tmp_path / "store" / "index.sqlite")) as index:
        index.execute("pragma user_version = 2")
        index.execute("create table facts (name text primary key, value text not null)")
    sweep(small, tmp_path / "store")
    assert bp.Sweep.load(tmp_path / "store").runs.height == 10


def test_a_store_without_permission_to_write_is_said_and_can_be_read(small, store, mounted):
    before = files(store)
    done = mounted(
        f"""
        mount --bind "$2" "$2"
        mount -o remount,bind,ro "$2"
        {READ} "$2"
        {BENTPIPE} sweep "$1" --vary link.down.error.rate=0.5 --store "$2"
        """,
        small,
        store,
    )
    assert done.stdout == "10\n"
    assert (done.returncode, done.stderr.lstrip()) == (
        2,
        f"error: {store} cannot be written: {store} is write-protected\n  choose another folder\n",
    )
    assert files(store) == before


def test_a_store_whose_writer_was_killed_is_read_where_nothing_can_be_written(small, store, mounted):
    # Rows that are not yet in the Parquet files are in the journal of the index.
    script = (
        "import os, sys, bentpipe as bp\n"
        "from bentpipe.experiment.store import store\n"
        f"store.Store.write = lambda _: os.kill(os.getpid(), {int(signal.SIGKILL)})\n"
        "bp.sweep(sys.argv[1], {'link.down.error.rate': [0.002, 0.01]}, replications=7, store=sys.argv[2])\n"
    )
    done = subprocess.run([sys.executable, "-c", script, small, store])
    assert done.returncode == -signal.SIGKILL
    assert (store / "index.sqlite-wal").stat().st_size > 0
    read = mounted(f'mount --bind "$1" "$1"; mount -o remount,bind,ro "$1"; {READ} "$1"', store)
    assert (read.stdout, read.stderr) == ("14\n", "")
    assert bp.Sweep.load(store).runs.height == 14


def test_permissions_of_another_user_are_said(small, store):
    if os.geteuid() == 0:
        pytest.skip("permissions mean nothing to root")
    store.chmod(0o555)
    try:
        assert said(sweep, small, store) == (
            f"{store} cannot be written: {store} is write-protected\n  choose another folder"
        )
        assert bp.Sweep.load(store).runs.height == 10
    finally:
        store.chmod(0o755)


def test_an_index_of_another_kind_is_left_alone(small, tmp_path):
    (tmp_path / "store").mkdir()
    connection = sqlite3.connect(tmp_path / "store" / "index.sqlite")
    connection.execute("create table letters (text)")
    connection.commit()
    connection.close()
    before = (tmp_path / "store" / "index.sqlite").read_bytes()
    assert "and not the store of a sweep" in said(sweep, small, tmp_path / "store")
    assert (tmp_path / "store" / "index.sqlite").read_bytes() == before


def forged(name):
    """Return statements that put invalid content into an index, each with a correct checksum."""
    whole = "update runs set record = ?1, checksum = ?2 where id = (select min(id) from runs)"
    records = {
        "empty": b"",
        "half": b'{"version":"x"}',
        "no JSON": b"{",
        "number": b"3",
        "values": b'{"seed":1,"version":"x","values":[],"tables":{}}',
        "text as a value": b'{"seed":1,"version":"x","values":{"goodput":"much"},"tables":{}}',
        "seed": b'{"seed":"one","version":"x","values":{},"tables":{}}',
        "table": b'{"seed":1,"version":"x","values":{},"tables":{"flows":{"run":3}}}',
        "column": b'{"seed":1,"version":"x","values":{},"tables":{"flows":{"a":{"dtype":"<f8","bytes":"%%%"}}}}',
    }
    if name in records:
        return whole, (records[name], zlib.crc32(records[name]))
    return {
        "form": ("update facts set value = '{' where name = 'form'", ()),
        "begun": ("update facts set value = '{' where name = 'begun'", ()),
        "begun without points": ("update facts set value = '{}' where name = 'begun'", ()),
        "parameters": ("update runs set parameters = '['", ()),
        "tables": ("update runs set tables = 'flows'", ()),
    }[name]


FORGED = ["empty", "half", "no JSON", "number", "values", "text as a value", "seed", "table", "column"]
FORGED += ["form", "begun", "begun without points", "parameters", "tables"]


@pytest.mark.parametrize("name", FORGED)
def test_a_store_with_content_of_another_form_is_damaged(small, store, name):
    with closing(sqlite3.connect(store / "index.sqlite")) as index, index:
        index.execute(*forged(name))
    calls = [lambda: bp.Sweep.load(store), lambda: report(store), lambda: sweep(small, store)]
    # Some readers do not read this content, and a sweep records its start.
    skipped = {"tables": 2, "form": 0}.get(name, 0)
    for call in calls[skipped:-1] if name.startswith("begun") else calls[skipped:]:
        assert " is damaged: " in said(call)


def test_facts_of_runs_aside_that_are_damaged_are_said(small, upgraded):
    sweep(small, upgraded)
    (file,) = upgraded.glob("results-*/aside.json")
    file.write_text("{")
    assert " is damaged: " in said(sweep, small, upgraded)


@pytest.mark.parametrize(
    "damage", [lambda text: "", lambda text: "{", lambda text: '{"form": "bentpipe run"}', lambda text: "[1]"]
)
def test_a_saved_result_of_another_form_is_damaged_or_none(small, tmp_path, damage):
    bp.run(small).save(tmp_path / "run")
    file = tmp_path / "run" / "provenance.json"
    file.write_text(damage(file.read_text()))
    assert re.search("is damaged: |is not the result of", said(bp.RunResult.load, tmp_path / "run"))


def test_a_saved_table_that_is_damaged_is_said(small, tmp_path):
    bp.run(small).save(tmp_path / "run")
    (tmp_path / "run" / "flows.parquet").write_bytes(b"PAR1 nothing")
    result = bp.RunResult.load(tmp_path / "run")
    assert f"{tmp_path / 'run' / 'flows.parquet'} is damaged: " in said(lambda: result.flows)


LOCK = """
import sqlite3, sys
index = sqlite3.connect(sys.argv[1], isolation_level=None)
index.execute("begin immediate")
print("locked", flush=True)
sys.stdin.readline()
"""


@pytest.fixture
def locking(store):
    """Hold a write lock on the store in another process until it reads a line."""
    line = [sys.executable, "-c", LOCK, str(store / "index.sqlite")]
    with subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        other.stdout.readline()
        yield other
        other.kill()


def test_who_waits_for_another_process_says_so_at_once(small, store, caplog, monkeypatch, locking):
    monkeypatch.setattr(stores, "SOON_S", 0.1)
    # A command with --quiet in another test has raised the level.
    caplog.set_level(logging.WARNING, logger="bentpipe")

    def let_go(record):
        locking.communicate("\n")
        return True

    caplog.handler.addFilter(let_go)
    try:
        assert sweep(small, store).runs.height == 10
    finally:
        caplog.handler.removeFilter(let_go)
    assert caplog.messages == [f"waiting for another program to write to {store}, for at most 60 s ..."]


def test_who_waited_in_vain_says_for_whom(small, store, monkeypatch, request):
    monkeypatch.setattr(stores, "SOON_S", 0.1)
    monkeypatch.setattr(stores, "BUSY_S", 1)
    with stores.Store(store):
        other = request.getfixturevalue("locking")
        text = said(sweep, small, store)
        other.kill()
        other.wait()
    assert text.startswith(f"the store {store} cannot be used: process {os.getpid()} was writing to it for 1 s")
