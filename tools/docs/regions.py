"""Puts what is generated into pages that are written by hand or by another program."""

from __future__ import annotations

import re


def put(page: str, name: str, made: str, before: str = "") -> str:
    r"""The page with `made` between the marks of this name.

    A page without them gets them in front of the line `before`, or at its end.

    >>> put("# A", "table", "| x |")
    '# A\n\n<!-- table -->\n\n| x |\n\n<!-- end of table -->\n'
    >>> put(put("# A", "table", "| x |"), "table", "| y |")
    '# A\n\n<!-- table -->\n\n| y |\n\n<!-- end of table -->\n'
    """
    begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
    whole = f"{begin}\n\n{made.strip()}\n\n{end}"
    if begin in page:
        return re.sub(f"{re.escape(begin)}.*{re.escape(end)}", lambda _: whole, page, flags=re.DOTALL)
    if before and f"\n{before}\n" in page:
        return page.replace(f"\n{before}\n", f"\n{whole}\n\n{before}\n", 1)
    return f"{page.rstrip()}\n\n{whole}\n"
