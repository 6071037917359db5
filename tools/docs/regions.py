"""Puts what is generated into pages that are written by hand or by another program."""

from __future__ import annotations

import re


def put(page: str, name: str, made: str) -> str:
    r"""The page with `made` between the marks of this name, which are added at the end of a page without them.

    >>> put("# A", "table", "| x |")
    '# A\n\n<!-- table -->\n\n| x |\n\n<!-- end of table -->\n'
    >>> put(put("# A", "table", "| x |"), "table", "| y |")
    '# A\n\n<!-- table -->\n\n| y |\n\n<!-- end of table -->\n'
    """
    begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
    whole = f"{begin}\n\n{made.strip()}\n\n{end}"
    if begin not in page:
        return f"{page.rstrip()}\n\n{whole}\n"
    return re.sub(f"{re.escape(begin)}.*{re.escape(end)}", lambda _: whole, page, flags=re.DOTALL)
