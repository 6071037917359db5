"""Runs packetdrill's public scripts on bentpipe's TCP and on the running kernel.

    git clone https://github.com/google/packetdrill
    python -m validation.packetdrill packetdrill/gtests/net/tcp   # a minute, on Linux, where namespaces are allowed
    python -m tools.docs packetdrill                              # after that: the page

The scripts stay in their folder: they have another licence. The verdicts go into `validation/data/packetdrill.json`.
"""

from __future__ import annotations

import platform
import sys
from pathlib import Path

from bentpipe.emulation.drill import PACKETDRILL, Drilled, on_kernel, run_script
from bentpipe.errors import BentpipeError
from validation import kept


def main(folder: Path) -> None:
    """Measure and keep the verdicts of all scripts in a folder."""
    refused: dict[str, str] = {}
    found: dict[str, Drilled] = {}
    for path in sorted(folder.rglob(f"*{PACKETDRILL}")):
        name = path.relative_to(folder).as_posix()
        try:
            found[name] = run_script(str(path))
        except BentpipeError as error:
            refused[name] = str(error).splitlines()[0].removeprefix(f"{path}:").split(": ", 1)[-1]
    rows: dict[str, list[str]] = {}
    for name, each in zip(found, on_kernel(found.values()), strict=True):
        assert each.kernel is not None
        missing = ", ".join(each.kernel.not_applicable)
        kernel = "n/a" if missing else "differs" if each.kernel.differences else "holds"
        ours = "differs" if each.core or each.codec else "holds"
        first = (each.core or each.codec or each.kernel.differences)[:1]
        rows[name] = [ours, kernel, missing or (f"line {first[0].line}: {first[0].what}" if first else "")]
        print(name, *rows[name], flush=True)
    kept.save(
        "packetdrill",
        {"kernel": ".".join(platform.release().split(".")[:2]), "files": rows, "refused": refused},
    )


if __name__ == "__main__":
    kept.begin(__doc__, "FOLDER")
    if len(sys.argv) != 2 or not Path(sys.argv[1]).is_dir():
        sys.exit("error: no folder of scripts\n  expected python -m validation.packetdrill FOLDER")
    main(Path(sys.argv[1]))
