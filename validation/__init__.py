"""Measurements: bentpipe beside ns-2, Linux, traces and closed forms, and what its parts do on satellite paths.

Run a module from the root of the repository, such as `python -m validation.senders`. It keeps its numbers in
`validation/data`. `python -m tools.docs` makes the pages from them.
"""
