"""Gives pages of congestion controls and middleboxes the field's names, and lists them by family in the navigation.

A hook of mkdocs (see `hooks` in mkdocs.yml). The files and the keys of a scenario keep their short names.
"""

from __future__ import annotations

import re
from pathlib import Path

CONGESTION_CONTROLS = {
    "By losses": {
        "tahoe": "Tahoe",
        "tcpmin": "Tahoe without fast retransmit",
        "reno": "Reno",
        "newreno": "NewReno",
        "sack": "SACK",
        "bic": "BIC",
        "cubic": "CUBIC",
        "dctcp": "DCTCP",
        "highspeed": "HighSpeed",
        "htcp": "H-TCP",
        "hybla": "Hybla",
        "prague": "Prague",
        "scalable": "Scalable",
        "westwood": "Westwood",
        "westwood-nr": "Westwood NR",
        "westwood-plus": "Westwood+",
    },
    "By delay": {
        "compound": "Compound",
        "copa": "Copa",
        "illinois": "Illinois",
        "ledbat": "LEDBAT",
        "santa-cruz": "Santa Cruz",
        "vegas": "Vegas",
        "veno": "Veno",
        "yeah": "YeAH",
    },
    "By a model of the path": {
        "bbr1": "BBR v1",
        "bbr2": "BBR v2",
        "bbr3": "BBR v3",
        "leocc": "LeoCC",
        "wtcp": "WTCP",
    },
    "For satellites": {
        "enhanced-hswa": "Enhanced HSWA",
        "hswa": "HSWA",
        "peach": "Peach",
        "peach-plus": "Peach+",
        "satcp": "SaTCP",
        "scps": "SCPS-TP",
        "stp": "STP",
        "swift": "TCP-Swift",
    },
}
"""Names by key in a scenario file, in the families of `crates/cc/src`."""

MIDDLEBOXES = {
    "Proxies": {
        "split": "Split connections",
        "spoof": "Early acknowledgements",
        "snoop": "Snoop",
        "satpep": "SaTPEP",
        "freeze": "Freeze (M-TCP)",
        "cache": "Cache",
        "proxies": "Proxies compared",
    },
    "Windows and rates": {"ewa": "EWA", "refwa": "REFWA", "rcp": "RCP", "xcp": "XCP"},
    "Notices of errors": {"been": "BEEN", "dpsm": "DPSM", "eln": "ELN", "eten": "ETEN"},
    "Packets and acknowledgements": {
        "ack-filter": "ACK filter",
        "ack-reconstruct": "ACK reconstruction",
        "compress": "Header compression",
        "erasure": "Erasure codes",
        "impair": "Impairments",
    },
    "More": {"own": "Custom middlebox", "costs": "Costs"},
}

FOLDERS = {"congestion-controls": CONGESTION_CONTROLS, "middleboxes": MIDDLEBOXES}
"""Families of the pages of each folder of `docs`."""

SECTIONS = {"Congestion controls": "congestion-controls", "Middleboxes": "middleboxes"}
"""Folder of each section of the navigation in mkdocs.yml that this hook fills."""

# Titles of the lists of each folder.
INDEXES = {"congestion-controls/index.md": "Congestion controls", "middleboxes/index.md": "Middleboxes"}


def listed(folder: str) -> list[str | dict[str, list[dict[str, str]]]]:
    """The navigation of a folder: its index, then the families, each with its pages."""
    return [
        f"{folder}/index.md",
        *(
            {family: [{title: f"{folder}/{name}.md"} for name, title in names.items()]}
            for family, names in FOLDERS[folder].items()
        ),
    ]


def title(path: str) -> str | None:
    """The title of a page, or None if it keeps the title of its text."""
    page = Path(path)
    families = FOLDERS.get(str(page.parent), {})
    named = next((names[page.stem] for names in families.values() if page.stem in names), None)
    return named or INDEXES.get(path)


def titled(path: str, text: str) -> str:
    """The text of a page below its title. A comment at the top would hide the title from mkdocs."""
    named = title(path)
    if named is None:
        return text
    head = re.compile(r"\A(?:<!--[^>]*-->\s*)?# .*\n")
    made, count = head.subn(f"# {named}\n", text, count=1)
    if not count:
        raise SystemExit(f"error: docs/{path} has no title\n  expected a line that begins with '# '")
    return made


def on_config(config):
    """Called by mkdocs: fills the sections of the navigation."""
    for item in config.nav:
        for section in item.keys() & SECTIONS.keys():
            item[section] = listed(SECTIONS[section])
    return config


def on_page_markdown(markdown, page, config, files):
    """Called by mkdocs for each page."""
    return titled(page.file.src_uri, markdown)
