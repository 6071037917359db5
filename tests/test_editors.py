"""Help of editors: public names of modules, names that calls accept, and types of the scripts of the pages."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import bentpipe as bp
from tools import names

ROOT = Path(__file__).resolve().parent.parent
PUBLIC = [each for name in bp.__all__ if isinstance(each := getattr(bp, name), ModuleType)]
MODULES = [*PUBLIC, *(getattr(bp.statistics, name) for name in bp.statistics.__all__)]


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_public_modules_show_their_public_names_only(module):
    assert sorted(dir(module)) == sorted(module.__all__)
    for name in module.__all__:
        found = getattr(module, name)
        assert not name.startswith("_")
        assert not isinstance(found, ModuleType) or module is bp.statistics, name
        assert getattr(found, "__module__", "bentpipe").startswith(("bentpipe", "typing")), name


def test_names_for_editors_are_those_of_the_registries():
    if os.environ.get("BLESS"):
        names.FILE.write_text(names.module(), encoding="utf-8")
    assert names.FILE.read_text(encoding="utf-8") == names.module()
    assert "cubic" in names.kinds()["CcName"][1]


def scripts() -> dict[str, str]:
    """The Python of each page that has some, by the page's name."""
    found = {}
    for folder in ("guides", "concepts"):
        for page in sorted((ROOT / "docs" / folder).glob("*.md")):
            text = page.read_text(encoding="utf-8")
            blocks = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
            # Classes that the reader saves in a file are in the same script here.
            saved = "|".join(re.findall(r"Save this as `(\w+)\.py`", text)) or "-"
            blocks = [re.sub(rf"(?m)^from (?:{saved}) import .*\n", "", block) for block in blocks]
            if blocks:
                found[f"{folder}_{page.stem.replace('-', '_')}"] = "import bentpipe as bp\n" + "\n".join(blocks)
    return found


@pytest.mark.timeout(600)
def test_scripts_of_the_pages_have_no_fault_of_types(tmp_path):
    """Checks them as an editor with pyright does, with its ordinary settings."""
    texts = scripts()
    assert len(texts) > 5
    texts["completed"] = (
        "import bentpipe as bp\nmean = bp.run('geo').estimate('goodput').mean\nassert mean is not None\n"
        "print(mean / 1e6)\n"
        "bp.compare('geo', ['cubic', 'mine.py:Mine'], metric=['goodput', 'fct:web'])\n"
    )
    for name, text in texts.items():
        (tmp_path / f"{name}.py").write_text(text)
    # Some pages name libraries that users may lack, and have several programs; the last line of a cell is shown.
    settings = {
        "extraPaths": [str(ROOT / "python")],
        "reportMissingImports": "none",
        "reportMissingModuleSource": "none",
        "reportRedeclaration": "none",
        "reportUnusedExpression": "none",
    }
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))
    command = [
        sys.executable,
        "-m",
        "pyright",
        "--outputjson",
        "--pythonpath",
        sys.executable,
        "--project",
        str(tmp_path),
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    found = json.loads(done.stdout)["generalDiagnostics"]
    faults = [f"{Path(each['file']).name}:{each['range']['start']['line'] + 1}: {each['message']}" for each in found]
    assert faults == []
