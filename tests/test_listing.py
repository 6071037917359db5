"""Lists of names: equal in Python and on the command line, in a fresh process and later."""

import json
import subprocess
import sys

import pytest
from click.testing import CliRunner

import bentpipe as bp
from bentpipe.cli.app import app
from bentpipe.cli.fit import KINDS
from bentpipe.cli.list import READERS
from bentpipe.fitting.readers import MODULES


def listed(topic):
    return json.loads(CliRunner().invoke(app, ["list", topic, "--json"]).output)


def fresh(code):
    """Return the words that a new process prints."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.split()


@pytest.mark.parametrize("topic", ["scenarios", "metrics", "series"])
def test_python_and_the_command_line_list_the_same(topic):
    rows, found = getattr(bp, topic)(), listed(topic)
    names = [f"{row['name']}:NAME" if row.get("is_of_one") else row["name"] for row in rows.to_dicts()]
    assert names == [entry["name"] for entry in found]
    assert all(entry["summary"].startswith(meaning) for entry, meaning in zip(found, rows["meaning"], strict=True))


def test_each_listed_name_is_accepted(small):
    assert all(bp.load(name).title == title for name, title in bp.scenarios().iter_rows())
    whole = bp.metrics().filter(is_of_one=False)["name"].to_list()
    assert bp.compare(small, ["reno", "sack"], metric=whole, replications=1, jobs=1).metrics[0] == whole[0]
    assert {"cwnd_bytes", "events"} <= set(bp.run(small, series=bp.series()["name"]).recorded) | {"events"}


@pytest.mark.parametrize("before", ["", "import bentpipe.metric; ", "bp.compare; bp.Comparison; "])
def test_public_names_do_not_depend_on_what_was_imported_before(before):
    code = f"import bentpipe as bp; {before}print(len(bp.metrics()) > 50, bp.statistics.power.__name__, "
    code += "bp.catalog.unit('flows', 'goodput_bps'), bp.plot.save.__name__)"
    assert fresh(code) == ["True", "bentpipe.statistics.power", "bit/s", "save"]


def test_what_dir_shows_is_there_and_has_a_text():
    assert all(getattr(bp, name) is not None for name in dir(bp))
    assert not [name for name in dir(bp) if name.startswith("_") and name != "__version__"]


def test_the_listed_readers_are_those_of_fit():
    assert [*READERS] == [*KINDS]
    assert set(READERS) == set(MODULES)
