"""Installed packages add congestion controls, middleboxes, schedulers and readers. Nothing of them loads unasked."""

import json
import os
import random
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PLUGIN = Path(__file__).parent.parent / "examples" / "plugin"

PATHS = """
duration = "5 s"
[link.leo]
from = "a"
to = "b"
rate = "10 Mbit/s"
delay = "20 ms"
[link.up]
from = "a"
to = "hub"
rate = "1 Gbit/s"
delay = "10 ms"
[link.geo]
from = "hub"
to = "b"
rate = "5 Mbit/s"
delay = "290 ms"
[flow.f]
from = "a"
to = "b"
app = { kind = "file", size = "1 MB" }
multipath = { scheduler = "spread" }
[flow.f.subflow.leo]
route = ["a", "b"]
reverse_route = ["b", "a"]
[flow.f.subflow.geo]
route = ["a", "hub", "b"]
reverse_route = ["b", "hub", "a"]
"""


VARIED = """
[sweep]
together = [{ "tcp.cc" = ["reno", "mycc"], "node.b.middlebox" = [["ack-filter"], ["ack-filter", "shed"]] }]
"""
SKY = """
duration = "1 s"
[sky]
over = "iridium"
middlebox = ["shed"]
[flow.f]
from = "Madrid"
to = "London"
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Return a folder into which the example is installed."""
    uv = Path(sys.executable).with_name("uv")
    if not uv.is_file():
        pytest.skip("uv is missing")
    source, place = (tmp_path_factory.mktemp(name) for name in ("source", "site"))
    shutil.copytree(PLUGIN, source / "plugin")
    command = [uv, "pip", "install", "--quiet", "--offline", "--no-deps", "--target", place, source / "plugin"]
    subprocess.run(command, check=True)
    return place


@pytest.fixture
def ran(site, tmp_path, lossy):
    """Run a command where the package is installed, and return its exit code and output."""
    (tmp_path / "file.toml").write_text(lossy)

    def run(*words, path=site):
        environment = {**os.environ, "PYTHONPATH": str(path)}
        program = [sys.executable, *words] if words[0] == "-c" else [sys.executable, "-m", "bentpipe", *words]
        done = subprocess.run(program, cwd=tmp_path, env=environment, capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr

    return run


@pytest.mark.parametrize(
    "words",
    [
        ("run", "file.toml", "--cc", "mycc"),
        ("run", "file.toml", "--set", "tcp.cc=mycc"),
        ("run", "named.toml"),
        ("compare", "file.toml", "--cc", "cubic,mycc", "--replications", "2"),
        ("compare", "file.toml", "--case", "one: tcp.cc=mycc", "--case", "two:", "--replications", "2"),
        ("mix", "file.toml", "--cc", "cubic,mycc", "--replications", "2"),
        ("sweep", "file.toml", "--vary", "tcp.cc=cubic,mycc", "--replications", "2"),
        ("run", "file.toml", "--set", "node.b.middlebox=shed"),
        ("run", "file.toml", "--set", 'node.b.middlebox=["ack-filter", "shed"]'),
        ("run", "file.toml", "--set", "node.b.middlebox+=shed"),
        (
            "compare",
            "listed.toml",
            "--case",
            "one: node.b.middlebox.replace=['shed']",
            "--case",
            "two:",
            "--replications",
            "2",
        ),
        ("sweep", "file.toml", "--vary", "node.b.middlebox=['shed'],['ack-filter']", "--replications", "2"),
        ("run", "placed.toml"),
        ("run", "listed.toml"),
        ("check", "sky.toml"),
        ("check", "sky.toml", "--set", "sky.middlebox=shed"),
        ("check", "several.toml"),
        ("sweep", "varied.toml", "--replications", "2"),
        ("run", "paths.toml"),
        ("run", "paths.toml", "--set", "flow.f.multipath.scheduler=spread"),
        ("sweep", "paths.toml", "--vary", "flow.f.multipath.scheduler=blest,spread", "--replications", "2"),
    ],
    ids=" ".join,
)
def test_a_name_of_a_package_is_accepted_wherever_a_name_is(ran, tmp_path, lossy, words):
    (tmp_path / "named.toml").write_text(lossy.replace('tcp.like = "rfc"', 'tcp = { like = "rfc", cc = "mycc" }'))
    (tmp_path / "placed.toml").write_text(lossy + '\n[node.b]\nmiddlebox = [{ kind = "own", name = "shed" }]\n')
    (tmp_path / "paths.toml").write_text(PATHS)
    (tmp_path / "listed.toml").write_text(lossy + '\n[node.b]\nmiddlebox = ["ack-filter", "shed"]\n')
    (tmp_path / "sky.toml").write_text(SKY)
    several = SKY.replace('"iridium"', '["iridium"]').replace("middlebox = ", "constellation.iridium.middlebox = ")
    (tmp_path / "several.toml").write_text(several)
    (tmp_path / "varied.toml").write_text(lossy + VARIED)
    code, said = ran(*words)
    assert code == 0, said
    # Without the package the name is not known.
    code, said = ran(*words, path="")
    assert code == 2
    assert any(name in said for name in ("mycc", "shed", "spread"))


def test_a_list_in_python_may_name_classes_of_packages(ran):
    line = "bp.load('file.toml').replace('node.b.middlebox', ['ewa', 'shed']).to_dict()['node']['b']['middlebox']"
    code, said = ran("-c", f"import bentpipe as bp\nprint([each.get('name', each['kind']) for each in {line}])")
    assert (code, said.strip()) == (0, "['ewa', 'shed']")


def test_a_congestion_control_of_a_package_that_quic_cannot_have_is_refused_as_one(ran):
    code, said = ran("run", "file.toml", "--set", "flow.f.quic.cc=mycc")
    assert code == 2
    assert "is a custom congestion control, which cannot control QUIC yet" in said


def test_varied_names_of_a_search_are_found(ran, tmp_path, lossy):
    (tmp_path / "search.toml").write_text(lossy + '[tune.vary]\ntcp.cc = ["reno", "mycc"]\n')
    line = "print(*bp.load('search.toml').senders)"
    assert ran("-c", f"import bentpipe as bp\n{line}") == (0, "mycc\n")


@pytest.mark.parametrize(
    ("topic", "name"), [("cc", "mycc"), ("middlebox", "shed"), ("scheduler", "spread"), ("readers", "pinglog")]
)
def test_lists_name_those_of_packages_with_their_package(ran, topic, name):
    entry = {"name": name, "summary": "bentpipe-mycc 1.0", "table": "of installed packages"}
    code, said = ran("list", topic, "--json")
    assert code == 0
    assert [each for each in json.loads(said) if "package" in each] == [{**entry, "package": "bentpipe-mycc 1.0"}]
    code, said = ran("list", topic)
    assert re.search(rf"(?s)of installed packages:.*{name} +bentpipe-mycc 1\.0", said), said
    assert name not in ran("list", topic, path="")[1]
    # Nothing was imported.
    line = f"topics()['{topic}']()\nimport sys\nprint('bentpipe_mycc' in sys.modules)"
    assert ran("-c", f"from bentpipe.cli.list import topics\n{line}") == (0, "False\n")


def test_a_name_with_an_error_is_compared_with_those_of_packages(ran):
    code, said = ran("run", "file.toml", "--cc", "mycx")
    assert (code, "did you mean 'mycc'?" in said) == (2, True), said


def test_version_and_code_are_part_of_the_result(ran):
    assert ran("compare", "file.toml", "--cc", "cubic,mycc", "--replications", "2", "--store", "kept", "-q") == (0, "")
    code, said = ran("cite", "kept")
    assert (code, "mycc: bentpipe-mycc 1.0, code" in said) == (0, True), said
    assert "--cc cubic,mycc" in said
    assert ran("pack", "kept", "-q") == (0, "")
    code, said = ran("repeat", "kept.pack.zip", "-q")
    assert (code, said) == (0, "")
    code, said = ran("repeat", "kept.pack.zip", path="")
    assert code == 2
    assert "pip install bentpipe-mycc==1.0" in said


def test_a_reader_of_a_package_converts_its_files(ran, tmp_path):
    rng = random.Random(1)
    lines = [f"{40 + 5 * rng.random():.2f} at {100 + number / 10:.2f}" for number in range(600)]
    (tmp_path / "log.txt").write_text("\n".join(lines))
    code, said = ran("fit", "log.txt", "--kind", "pinglog")
    assert code == 0, said
    assert "simulated 40.2 ms, measured 40.2 ms" in said
    (tmp_path / "log.txt").write_text("nothing")
    code, said = ran("fit", "log.txt", "--kind", "pinglog")
    assert code == 2
    assert "error: pinglog of bentpipe-mycc 1.0 cannot read log.txt: ValueError" in said
    code, said = ran("fit", "log.txt", "--kind", "pinglot")
    assert (code, "did you mean 'pinglog'?" in said) == (2, True)


@pytest.mark.parametrize(
    ("line", "is_loaded"),
    [("bp.run('file.toml', progress=False)", False), ("bp.choices()", False), ("bp.load('named.toml')", True)],
)
def test_nothing_loads_unasked(ran, tmp_path, lossy, line, is_loaded):
    (tmp_path / "named.toml").write_text(lossy.replace('tcp.like = "rfc"', 'tcp = { like = "rfc", cc = "mycc" }'))
    code, said = ran("-c", f"import sys\nimport bentpipe as bp\n{line}\nprint('bentpipe_mycc' in sys.modules)")
    assert (code, said.strip()) == (0, str(is_loaded))


def make_package(place, name, source, points, version="2.0"):
    """Make an installed package of one module."""
    place.mkdir(exist_ok=True)
    (place / f"{name}.py").write_text(source)
    facts = place / f"{name}-{version}.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (facts / "entry_points.txt").write_text(f"[bentpipe.congestion_controls]\n{points}\n")


CLASS = "import bentpipe as bp\nclass Other(bp.CongestionControl):\n    name = 'other'\n"


@pytest.mark.parametrize(
    ("source", "points", "expected"),
    [
        ("1 / 0", "other = wrong:Other", "other of wrong 2.0 cannot be imported: ZeroDivisionError"),
        (CLASS, "other = wrong:Missing", "other of wrong 2.0 cannot be imported: AttributeError"),
        ("Other = 3", "other = wrong:Other", "is not a congestion control"),
        (CLASS.replace("'other'", "'else'"), "other = wrong:Other", "expected one name"),
    ],
    ids=["import", "name", "kind", "tables"],
)
def test_a_wrong_package_is_named(ran, tmp_path, source, points, expected):
    make_package(tmp_path / "own", "wrong", source, points)
    code, said = ran("run", "file.toml", "--cc", "other", path=tmp_path / "own")
    assert code == 2
    assert expected in said
    assert "Traceback" not in said


def test_two_packages_with_one_name_are_refused(ran, tmp_path):
    for name in ("one", "two"):
        make_package(tmp_path / "own", name, CLASS, f"other = {name}:Other")
    code, said = ran("run", "file.toml", "--cc", "other", path=tmp_path / "own")
    assert code == 2
    assert "other is in several packages: one 2.0, two 2.0" in said


def test_the_checks_of_the_example_pass(site):
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "addopts=", PLUGIN / "tests"]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": str(site)}, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
