"""Makes figures small: a palette of 256 colours, which takes a third of the bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PIL import Image, PngImagePlugin

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

COLOURS = 256


def large(folder: Path) -> Iterator[Path]:
    """Figures in a folder that have no palette; pictures with transparent parts keep all of their colours."""
    for file in sorted(folder.rglob("*.png")):
        with Image.open(file) as picture:
            if picture.mode != "P" and picture.convert("RGBA").getchannel("A").getextrema() == (255, 255):
                yield file


def shrink(file: Path) -> None:
    """Give a figure a palette; the texts in the file stay."""
    about = PngImagePlugin.PngInfo()
    with Image.open(file) as picture:
        for key, text in picture.info.items():
            if isinstance(text, str) and key != "Software":
                about.add_text(key, text)
        plain = picture.convert("RGB")
    small = plain.quantize(COLOURS, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    small.save(file, optimize=True, pnginfo=about)
