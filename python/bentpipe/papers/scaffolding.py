"""Makes the folder of a new paper from a template."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from bentpipe import files
from bentpipe.errors import BentpipeError
from bentpipe.papers.claims import FOLDER, check_name, paper

if TYPE_CHECKING:
    import os

TEMPLATE = FOLDER / "template"


def scaffold(folder: str | os.PathLike[str]) -> list[Path]:
    """Make a folder with a complete paper, two claims and a figure, to change into your own.

    Parameters
    ----------
    folder : path
        A folder that does not exist or is empty.

    Returns
    -------
    list of Path
        The files that were written.

    Raises
    ------
    BentpipeError
        The folder is not empty, or cannot be written.
    PaperError
        The folder's name is not valid for a paper.
    """
    place = Path(folder)
    check_name(place)
    written = []
    with files.writing(place):
        if place.exists() and not (place.is_dir() and not any(place.iterdir())):
            raise BentpipeError(f"{place} exists and is not an empty folder\n  choose another name")
        for source in paper(TEMPLATE).files:
            target = place / source.relative_to(TEMPLATE)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(source.read_bytes())
            written.append(target)
    return written
