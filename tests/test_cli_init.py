"""`bentpipe init` and `bentpipe show`: scenarios to start from."""

import shlex

import pytest
from click.testing import CliRunner

import bentpipe as bp
from bentpipe.cli import init
from bentpipe.cli.app import app
from bentpipe.scenario.scenario import SHIPPED, list_bundled


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def cli(*args, **given):
    return CliRunner().invoke(app, list(args), **given)


def test_init_writes_a_scenario_that_is_valid(tmp_path):
    done = cli("init")
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout == "Wrote scenario.toml. Try: bentpipe run scenario.toml\n"
    assert bp.load(tmp_path / "scenario.toml").title == "GEO, 20/2 Mbit/s, bulk"


@pytest.mark.parametrize("orbit", init.ORBITS)
@pytest.mark.parametrize("traffic", init.TRAFFIC)
def test_a_terminal_is_asked_what_the_scenario_is_like(tmp_path, monkeypatch, orbit, traffic):
    monkeypatch.setattr(init, "is_answered", lambda: True)
    done = cli("init", "mine", input=f"{orbit}\n{traffic}\n")
    assert done.exit_code == 0
    scenario = bp.load(tmp_path / "mine.toml", {"duration": "3 s"})
    assert scenario.flow_names == [traffic]
    assert scenario.to_dict()["link"]["sat"]["forward"]["delay"] == init.ORBITS[orbit][1]
    assert bp.run(scenario).flows["goodput_bps"][0] >= 0


def test_what_is_commented_out_in_the_template_is_valid_too(tmp_path):
    cli("init")
    text = (tmp_path / "scenario.toml").read_text()
    assert "# error = {" in text
    # The host of the comment is another one than that of the file.
    assert '# like = "rfc"  # Hosts as in the RFCs. Default: "linux-6".' in text
    assert bp.loads(text).hosts != bp.loads(text.replace("# like =", "like =")).hosts
    bp.loads(text.replace("# error = {", "error = {").replace("# like =", "like ="))


@pytest.mark.parametrize("name", list_bundled())
def test_a_copy_of_a_bundled_scenario_is_equal_to_it(tmp_path, name):
    assert cli("init", "--from", name).exit_code == 0
    assert bp.load(tmp_path / f"{name}.toml") == bp.load(name)


@pytest.mark.parametrize("args", [[], ["--from", "geo"]])
def test_the_commands_in_a_new_scenario_name_its_file(tmp_path, args):
    assert cli("init", "my path", *args).exit_code == 0
    lines = (tmp_path / "my path.toml").read_text().splitlines()
    commands = [shlex.split(line)[1:] for line in lines if line.startswith("#   bentpipe ")]
    assert commands
    assert {words[2] for words in commands} == {"my path.toml"}


def test_init_overwrites_nothing(tmp_path):
    (tmp_path / "mine.toml").write_text("kept")
    for name in ("mine", "mine.toml"):
        done = cli("init", name)
        assert (done.exit_code, done.stdout) == (2, "")
        assert done.stderr == "error: mine.toml exists\n  expected the name of a new file: bentpipe init NAME\n"
    assert (tmp_path / "mine.toml").read_text() == "kept"


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["init", "nowhere/mine"], "error: nowhere/mine.toml cannot be written: there is no folder nowhere"),
        (["init", "two\nlines"], "is not a file name"),
        (["init", "--from", "goe"], "did you mean 'geo'?"),
        (["show", "goe"], "did you mean 'geo'?"),
    ],
)
def test_what_cannot_be_written_is_refused(tmp_path, args, said):
    done = cli(*args)
    assert (done.exit_code, done.stdout) == (2, "")
    assert said in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_show_prints_the_text_of_a_bundled_scenario():
    assert cli("show", "geo").stdout == (SHIPPED / "geo.toml").read_text(encoding="utf-8")
