"""Makes the relative links of README.md absolute, for the page on the package index.

    python tools/absolute_links.py                # prints the text
    python tools/absolute_links.py --in-place     # changes README.md, in the workflow `wheels` before it builds

The index shows README.md without the repository. Links lead to the tag of the version.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LINK = re.compile(r'(?P<before>\]\(|src=")(?P<path>[^)\s"]+)')


def absolute(text: str, repository: str, version: str) -> str:
    """The text with links to the files of this version."""
    raw = repository.replace("https://github.com/", "https://raw.githubusercontent.com/")

    def to_url(link: re.Match[str]) -> str:
        path = link["path"]
        if path.startswith(("#", "http:", "https:")):
            return link[0]
        is_picture = path.endswith((".png", ".svg"))
        folder = f"{raw}/v{version}" if is_picture else f"{repository}/blob/v{version}"
        return f"{link['before']}{folder}/{path}"

    return LINK.sub(to_url, text)


def main() -> None:
    """Print or rewrite README.md."""
    parser = argparse.ArgumentParser(description="Make the relative links of README.md absolute.")
    parser.add_argument("--in-place", action="store_true", help="change README.md instead of printing the text")
    is_in_place = parser.parse_args().in_place
    cargo = (ROOT / "Cargo.toml").read_text(encoding="utf-8")
    version, repository = (re.findall(rf'(?m)^{key} = "(.*)"$', cargo)[0] for key in ("version", "repository"))
    readme = ROOT / "README.md"
    text = absolute(readme.read_text(encoding="utf-8"), repository, version)
    if is_in_place:
        readme.write_text(text, encoding="utf-8", newline="\n")
    else:
        print(text, end="")


if __name__ == "__main__":
    main()
