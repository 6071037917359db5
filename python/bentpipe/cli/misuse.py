"""Errors of Click in the form of all others: the fault, the expectation, and the option that was probably meant."""

from __future__ import annotations

import click

from bentpipe.errors import BentpipeError

SETTINGS = {
    "--duration": "duration='60 s'",
    "--time": "duration='60 s'",
    "--loss": "link.NAME.error='1 %'",
    "--ber": "link.NAME.error='{ kind = \"bit\", rate = 1e-6 }'",
    "--rate": "link.NAME.rate='20 Mbit/s'",
    "--bandwidth": "link.NAME.rate='20 Mbit/s'",
    "--delay": "link.NAME.delay='270 ms'",
    "--latency": "link.NAME.delay='270 ms'",
    "--queue": "link.NAME.queue='1 bdp'",
    "--buffer": "link.NAME.queue='1 bdp'",
    "--mtu": "link.NAME.mtu='{ size = \"1500 B\" }'",
    "--app": 'flow.NAME.app=\'{ kind = "file", size = "5 MB" }\'',
    "--count": "flow.NAME.count=10",
}
"""Options of other tools, with the key of the scenario for `--set`."""


def misuse(error: click.UsageError) -> BentpipeError:
    """Write an error of Click for people."""
    path = error.ctx.command_path if error.ctx is not None else ""
    command = " ".join(["bentpipe", *path.split()[1:]])
    help_line = f"options: {command} --help"
    if isinstance(error, click.NoSuchOption):
        name = error.option_name
        takes_keys = error.ctx is not None and any("--set" in each.opts for each in error.ctx.command.params)
        meant = [f"--set {SETTINGS[name]}"] if name in SETTINGS and takes_keys else list(error.possibilities or ())
        hint = f"did you mean {' or '.join(meant)}? " if meant else ""
        return BentpipeError(f"{name} is not an option of {command}\n  {hint}{help_line}")
    if isinstance(error, click.MissingParameter):
        what = error.param.make_metavar(error.ctx) if error.param is not None and error.ctx is not None else "a value"
        return BentpipeError(f"{what} is missing\n  expected {command} {what}; {help_line}")
    text = error.format_message().rstrip(".")
    hint = _suggest_quotes(error.ctx, text) if "extra argument" in text else ""
    return BentpipeError(f"{text[:1].lower()}{text[1:]}\n  {hint}{help_line}")


def _suggest_quotes(ctx: click.Context | None, text: str) -> str:
    """Suggest quotes if a value with a space, such as `--set rate=5 Mbit/s`, became two words."""
    rest = text.partition("(")[2].rstrip(")")
    for option in ctx.command.params if ctx is not None else ():
        given = (ctx.params if ctx is not None else {}).get(str(option.name))
        if option.name in ("sets", "vary", "cases") and given:
            return f"did you mean {option.opts[0]} '{given[-1]} {rest}'? "
    return ""
