"""Damaged files: each reader takes what is left, or names the file. No reader ends with a traceback.

`BENTPIPE_DAMAGES` is the number of damaged copies for each reader (default: 20).
"""

import os
import random
import shutil
from contextlib import contextmanager

import pytest

import bentpipe as bp
from bentpipe.errors import BentpipeError
from bentpipe.fitting import readers
from bentpipe.fitting.faults import Faults
from bentpipe.fitting.readers.opening import Asked
from tests import measurements

DAMAGES = int(os.environ.get("BENTPIPE_DAMAGES", "20"))
PAGE = """{"log": {"entries": [
 {"startedDateTime": "2025-01-01T00:00:00.000Z", "time": 100, "request": {"method": "GET", "url": "https://a.example/",
  "httpVersion": "h2", "headers": [], "headersSize": 100, "bodySize": 0},
  "response": {"status": 200, "content": {"size": 5000}, "headersSize": 200, "bodySize": 5000}},
 {"startedDateTime": "2025-01-01T00:00:00.200Z", "time": 50, "request": {"method": "GET", "url": "https://a.example/b",
  "httpVersion": "h2", "headers": [], "headersSize": 100, "bodySize": 0},
  "response": {"status": 200, "content": {"size": 900}, "headersSize": 200, "bodySize": 900}}]}}"""


def damage(content, number, name):
    """Return a damaged copy: cut off, with flipped bits, with a part missing or twice, or with other bytes."""
    draw = random.Random(f"{name}/{number}")
    place, size = draw.randrange(len(content)), draw.randrange(1, 64)
    match number % 5:
        case 0:
            return content[:place]
        case 1:
            flipped = bytearray(content)
            for _ in range(draw.choice([1, 1, 8])):
                flipped[draw.randrange(len(flipped))] ^= 1 << draw.randrange(8)
            return bytes(flipped)
        case 2:
            return content[:place] + content[place + size :]
        case 3:
            return content[:place] + content[place : place + size] + content[place:]
        case _:
            return content[:place] + draw.randbytes(size) + content[place + size :]


def damages(content, name):
    return [damage(content, number, name) for number in range(DAMAGES)]


@contextmanager
def refused_by_name(name):
    """Accept an error of bentpipe that names this."""
    said = name
    try:
        yield
    except BentpipeError as error:
        said = str(error)
    assert name in said


@pytest.mark.parametrize("name", measurements.EVERY)
def test_a_damaged_measurement_is_read_or_refused(tmp_path, name):
    content = measurements.EVERY[name]()
    place = tmp_path / name
    for copy in damages(content if isinstance(content, bytes) else content.encode(), name):
        place.write_bytes(copy)
        faults = Faults()
        with refused_by_name(name):
            readers.read(place, None, Asked(), faults)
            faults.refuse()


RATES = "t_s,rate_bps\n" + "".join(f"{n},{1_000_000 + n}\n" for n in range(50))
PATH = """duration = "1 s"
[link.l]
from = "a"
to = "b"
rate = "1 Mbit/s"
delay = "10 ms"
[flow.f]
from = "a"
to = "b"
app = {}
"""


@pytest.mark.parametrize("name", ["rates.csv", "page.har", "path.toml"])
def test_a_damaged_file_of_a_scenario_is_read_or_refused(tmp_path, name):
    path = tmp_path / "path.toml"
    if name == "path.toml":
        content = PATH.format('"greedy"')
    elif name == "page.har":
        content = PAGE
        path.write_text(PATH.format('{ kind = "page", recorded = { file = "page.har" } }'))
    else:
        content = RATES
        path.write_text(PATH.format('"greedy"').replace('rate = "1 Mbit/s"', 'rate = { file = "rates.csv" }'))
    (tmp_path / name).write_bytes(content.encode())
    bp.load(path)
    for copy in damages(content.encode(), name):
        (tmp_path / name).write_bytes(copy)
        with refused_by_name(name):
            bp.load(path)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Results of each kind in folders, with their readers."""
    folder = tmp_path_factory.mktemp("saved")
    path = folder / "path.toml"
    path.write_text(PATH.format('"greedy"'))
    bp.run(path).save(folder / "run")
    bp.compare(path, cc=["reno", "sack"], replications=2, store=folder / "store").save(folder / "compare")
    return folder


READERS = {
    "run": lambda place: bp.RunResult.load(place).flows,
    "compare": lambda place: bp.Comparison.load(place).runs,
    "store": lambda place: bp.Sweep.load(place).runs,
}


@pytest.mark.parametrize("kind", READERS)
def test_a_damaged_result_is_read_whole_or_refused(saved, tmp_path, kind):
    read = READERS[kind]
    whole = read(saved / kind)
    names = sorted(each.relative_to(saved / kind) for each in (saved / kind).rglob("*") if each.is_file())
    place = tmp_path / kind
    shutil.copytree(saved / kind, place)
    for number in range(DAMAGES):
        name = names[number % len(names)]
        content = (saved / kind / name).read_bytes()
        (place / name).write_bytes(damage(content, number // len(names), str(name)) if content else b"x")
        found = None
        with refused_by_name(kind):
            found = read(place)
        if found is not None:
            what = f"{name}, damage {number // len(names)}: other numbers without a word"
            # A store may have lost runs: they are missing, and the next command repeats them.
            is_part = kind == "store" and found.height < whole.height and bp.Sweep.load(place).missing > 0
            assert is_part or found.equals(whole), what
        (place / name).write_bytes(content)
