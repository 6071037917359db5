"""Measurements: comparisons with ns-2, Linux, traces and closed forms, and the parts of bentpipe on satellite paths.

Run a module from the root of the repository, such as `python -m validation.senders`. It keeps its numbers in
`validation/data`. `python -m tools.docs` makes the pages from them.
"""
