"""Makes the laboratory in a web page: for the site while mkdocs builds it, and as one file to carry.

The page has the views of the studio, the scripts of the folder `web`, and the core as a module of WebAssembly.
`make web` builds the module. Without it, the site has a page with this hint.
"""

from __future__ import annotations

import base64
import functools
import gzip
import hashlib
import json
import re
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any
from urllib.parse import quote

import bentpipe as bp
from bentpipe.errors import BentpipeError
from bentpipe.files import replace_text
from bentpipe.studio import assets, lessons
from bentpipe.studio.series import GRANTS, TIMES, VIEW

ROOT = Path(__file__).resolve().parent.parent.parent
WEB = ROOT / "web"
SHIPPED = ROOT / "python" / "bentpipe" / "scenario" / "shipped"
TARGET = "wasm32-unknown-unknown"
MODULE = ROOT / "target" / TARGET / "web" / "bentpipe_web.wasm"
LOGO = ROOT / "docs" / "assets" / "logo.svg"
SITE = "https://bentpipe.github.io/bentpipe/"
FOLDER = "try"
"""Folder of the site."""
SINGLE = "bentpipe.html"
"""The page as one file."""
VIEWS = tuple(name for name in (*assets.SCRIPTS, *assets.SKY_SCRIPTS) if not name.endswith("share.js"))
"""Scripts of the studio: those of the view over a run."""
OWN = (
    "core.js",
    "link.js",
    "rows.js",
    "captured.js",
    "finished.js",
    "complete.js",
    "editor.js",
    "tables.js",
    "compare.js",
    "figure.js",
    "laboratory.js",
)
"""Scripts of the page, after those of the studio."""
ABSENT = """\
<!doctype html><html lang="en"><meta charset="utf-8"><title>bentpipe: try it</title>
<p>This build of the site has no simulator: the compiler had no target <code>wasm32-unknown-unknown</code>.
<code>rustup target add wasm32-unknown-unknown</code> adds it, and <code>make docs</code> then builds the page.
<a href="../">Home</a>
"""
_BLOCK = re.compile(r"^```toml\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def has_module() -> bool:
    """Whether the module is built."""
    return MODULE.is_file()


def make_files() -> dict[str, bytes]:
    """Make the files of the page in the folder of the site, by name."""
    if not has_module():
        return {"index.html": ABSENT.encode(), SINGLE: ABSENT.encode()}
    rules = {
        "script-src": "'self' 'wasm-unsafe-eval'",
        "style-src": "'self'",
        "worker-src": "'self'",
        "connect-src": "'self'",
    }
    page = _fill_page(
        rules,
        style='<link rel="stylesheet" href="laboratory.css">',
        script='<script src="laboratory.js"></script>',
        content={"worker": None, "module": None},
        site="../",
    )
    return {
        "index.html": page.encode(),
        "laboratory.css": _style().encode(),
        "laboratory.js": _script().encode(),
        "worker.js": _read("worker.js").encode(),
        "core.wasm.gz": _zip_module(),
        "licences.txt": list_licences().encode(),
        SINGLE: make_single().encode(),
    }


def make_single() -> str:
    """Make the page as one file, which opens from a folder. Worker and module are inside."""
    style, script = _style(), _script()
    rules = {
        "script-src": f"{_hash(script)} 'wasm-unsafe-eval'",
        "style-src": _hash(style),
        "worker-src": "blob:",
    }
    page = _fill_page(
        rules,
        style=f"<style>{style}</style>",
        script=f"<script>{script}</script>",
        content={"worker": _read("worker.js"), "module": base64.b64encode(_zip_module()).decode()},
        site=SITE,
    )
    return f"{page}<!--\n{list_licences().replace('--', '- -')}\n-->\n"


def pack_text(text: str) -> str:
    """Compress a scenario as the links of the page have it.

    >>> pack_text("a = 1")
    'S1SwVTAEAA'
    """
    packing = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    packed = packing.compress(text.encode()) + packing.flush()
    return base64.urlsafe_b64encode(packed).decode().rstrip("=")


def add_run_links(markdown: str, url: str) -> str:
    """Add a link to the page below each block that is a whole scenario."""
    up = "../" * url.count("/")

    def with_link(found: re.Match[str]) -> str:
        return f"{found[0]}\n\n{_link(up, found[1])}\n" if is_whole(found[1]) else found[0]

    return _BLOCK.sub(with_link, markdown)


def make_lessons() -> str:
    """Make the page of the lessons of the studio as links to the page: no step needs Python."""
    text = (
        "# Teach without Python\n\nThe lessons of [the studio](studio.md) as links: each step opens [the"
        " page](try.md) with its scenario, runs it, and moves the handle. Students change a value and run again."
        " [The lab](lab.md) has notebooks on the same questions.\n"
    )
    for lesson in map(lessons.lesson, lessons.names()):
        text += f"\n## {lesson.title}\n\n{lesson.about}\n"
        if lesson.own:
            text += f"\nThe page has no Python: there, the settings `{lesson.alike}` have its goodput within 1 %.\n"
        for step, scenario in zip(lesson.steps, lesson.texts_without_python, strict=True):
            moment = f"&amp;t={step.t:g}&amp;from={step.start:g}" + (f"&amp;to={step.end:g}" if step.end else "")
            link = _link("../../", scenario, more=moment)
            text += f"\n### {step.title}\n\n{link}\n\n{step.text}\n"
    return text


def is_whole(text: str) -> bool:
    """Whether a text is a scenario that runs in the page: without other files, real packets, and QUIC."""
    try:
        flows = bp.loads(text).to_dict()["flow"].values()
    except BentpipeError:
        return False
    return all(flow["app"]["kind"] != "port" and "quic" not in flow for flow in flows)


@functools.cache
def read_scenarios() -> dict[str, str]:
    """Read the texts of the bundled scenarios that the page runs, by name."""
    texts = {path.stem: path.read_text(encoding="utf-8") for path in sorted(SHIPPED.glob("*.toml"))}
    return {name: text for name, text in texts.items() if is_whole(text)}


def _link(up: str, text: str, more: str = "") -> str:
    bundled = {bundled: name for name, bundled in read_scenarios().items()}
    asked = f"scenario={quote(bundled[text])}" if text in bundled else f"text={pack_text(text)}"
    return f'<a class="run-this" href="{up}{FOLDER}/#{asked}&amp;run{more}" target="bentpipe">Run this</a>'


def _fill_page(rules: dict[str, str], *, style: str, script: str, content: dict[str, str | None], site: str) -> str:
    """The page with its policy, styles, scripts and data."""
    common = {"default-src": "'none'", "img-src": "'self' data: blob:", "base-uri": "'none'", "form-action": "'none'"}
    whole = {"scenarios": read_scenarios(), "series": [*VIEW, *GRANTS, *TIMES], **content}
    inside = {
        "rules": "; ".join(f"{name} {sources}" for name, sources in {**common, **rules}.items()),
        "styles": style,
        "scripts": script,
        # No text of a scenario ends the element around it.
        "content": json.dumps(whole, separators=(",", ":")).replace("<", "\\u003c"),
        "icon": f"data:image/svg+xml,{quote(LOGO.read_text(encoding='utf-8'))}",
        "land": assets.text(assets.LAND),
        "home": site,
        "install": f"{site}guides/install/",
        "guide": f"{site}guides/try/",
        "licences": "licences.txt" if site != SITE else f"{SITE}{FOLDER}/licences.txt",
    }
    page = _read("index.html")
    return re.sub(r"\{(\w+)\}", lambda found: inside[found[1]], page)


def _read(name: str) -> str:
    return (WEB / name).read_text(encoding="utf-8")


def _style() -> str:
    return "\n".join([*map(assets.text, assets.STYLES), _read("laboratory.css")])


def _script() -> str:
    """All scripts."""
    return "\n".join([*map(assets.text, VIEWS), *map(_read, OWN)])


def list_licences() -> str:
    """List the libraries of others in the page with their licences: scripts with the whole text, crates by name."""
    known = json.loads(assets.text("vendor/vendored.json"))
    scripts = [each for each in known if any(f"/{each['name']}/" in name for name in (*VIEWS, assets.LAND))]
    texts = [
        f"{each['what']} {each['version']}: {each['licence']}\n\n{assets.text(f'vendor/{name}')}"
        for each in scripts
        for name in each["files"]
        if "LICENSE" in name
    ]
    crates = "".join(f"{name} {version}: {licence}\n" for name, version, licence in _crates())
    return "\n\n".join(["bentpipe: MIT OR Apache-2.0", *texts, f"Crates in the module:\n\n{crates}"])


def _crates() -> list[tuple[str, str, str]]:
    """Name, version and licence of each crate in the module, as Cargo knows them."""
    command = ["cargo", "metadata", "--format-version", "1", "--filter-platform", TARGET]
    found: dict[str, Any] = json.loads(subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout)
    nodes = {node["id"]: node for node in found["resolve"]["nodes"]}
    packages = {package["id"]: package for package in found["packages"]}
    left, seen = [key for key, package in packages.items() if package["name"] == "bentpipe-web"], set[str]()
    while left:
        key = left.pop()
        if key not in seen:
            seen.add(key)
            deps = nodes[key]["deps"]
            left += [each["pkg"] for each in deps if any(kind["kind"] is None for kind in each["dep_kinds"])]
    of_others = [package for key, package in packages.items() if key in seen and package["source"]]
    return sorted((each["name"], each["version"], each["license"]) for each in of_others)


def _zip_module() -> bytes:
    """The module, packed so that it is as small on every host; without the time of its making."""
    return gzip.compress(MODULE.read_bytes(), 9, mtime=0)


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def on_files(files, config):
    """Called by mkdocs: adds the page to the files of the site."""
    from mkdocs.structure.files import File

    if not has_module():
        print("The site has no page to try: make web builds its module.", file=sys.stderr)
    for name, content in make_files().items():
        files.append(File.generated(config, f"{FOLDER}/{name}", content=content))
    files.append(File.generated(config, "guides/teach.md", content=make_lessons()))
    return files


def on_page_markdown(markdown, page, config, files):
    """Called by mkdocs for each page."""
    return add_run_links(markdown, page.url)


if __name__ == "__main__":
    replace_text(Path(sys.argv[1]), make_single())
