"""Makes the relative links of README.md absolute, for the page on the package index.

    python tools/absolute_links.py      # in the workflow `wheels`, before it builds; changes README.md in place

The index shows README.md without the repository. Links lead to the tag of the version.
"""

from __future__ import annotations

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
    """Rewrite README.md."""
    cargo = (ROOT / "Cargo.toml").read_text(encoding="utf-8")
    version, repository = (re.findall(rf'(?m)^{key} = "(.*)"$', cargo)[0] for key in ("version", "repository"))
    readme = ROOT / "README.md"
    readme.write_text(absolute(readme.read_text(encoding="utf-8"), repository, version), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
