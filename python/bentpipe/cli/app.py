"""The command line: puts the commands together, and turns errors into text and exit codes."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import Any

import click
from click.shell_completion import get_completion_class

from bentpipe import files
from bentpipe.cli.help import Formatter, Group
from bentpipe.cli.misuse import misuse
from bentpipe.cli.printing import is_coloured, print_error
from bentpipe.errors import BentpipeError
from bentpipe.version import __version__

COMMANDS = (
    *("init", "run", "compare", "mix", "sweep", "fit", "tune", "report"),
    *("pack", "repeat", "cite"),
    *("reproduce", "emulate", "speak", "twin", "drill"),
    "studio",
    *("why", "sky", "check", "list", "show", "schema"),
)
"""Each is `command` in the module of its name."""
SHELLS = ("bash", "zsh", "fish")
INTERRUPTED = 130
"""Exit code after Ctrl-C, as shells have it."""


class App(Group):
    """Loads commands when they are needed, and handles their errors in one place."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f"bentpipe.cli.{cmd_name}").command
        return command

    def make_context(self, *args: Any, **extra: Any) -> click.Context:
        try:
            return super().make_context(*args, **extra)
        except click.UsageError as error:
            raise _print_misuse(error) from None

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except click.UsageError as error:
            raise _print_misuse(error) from None
        except BentpipeError as error:
            print_error(error)
            raise click.exceptions.Exit(2) from None
        except KeyboardInterrupt as interrupt:
            print_error(interrupt)
            _leave_if_a_sender_hangs()
            raise click.exceptions.Exit(INTERRUPTED) from None
        except OSError as error:
            # Without a name it is the output that failed: see `__main__`.
            if error.filename is None:
                raise
            print_error(BentpipeError(f"{error.filename}: {files.reason(error)}"))
            raise click.exceptions.Exit(2) from None


def _print_misuse(error: click.UsageError) -> Exception:
    """Print an error of Click in the form of all others, and return the end of the process."""
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        return error
    print_error(misuse(error))
    return click.exceptions.Exit(2)


def _leave_if_a_sender_hangs() -> None:
    """End the process immediately if a congestion control in Python hangs: a normal exit would wait for it."""
    from bentpipe.experiment.single.threads import is_anyone_left

    if is_anyone_left():
        print("a congestion control in Python does not return; it ends with the process", file=sys.stderr)
        sys.stdout.flush()
        os._exit(INTERRUPTED)


def _print_completion(ctx: click.Context, _: click.Parameter, shell: str | None) -> None:
    if shell is not None:
        kind = get_completion_class(shell)
        assert kind is not None, "Click knows these shells"
        print(kind(app, {}, "bentpipe", "_BENTPIPE_COMPLETE").source())
        if shell == "bash":
            # Otherwise Click splits KEY=VALUE into three words.
            print("COMP_WORDBREAKS=${COMP_WORDBREAKS//=/}")
        ctx.exit()


FIRST = {
    "bentpipe list scenarios": "the bundled scenarios",
    "bentpipe run geo": "one run over a GEO satellite",
    "bentpipe compare geo --cc cubic,bbr3": "two congestion controls, with intervals",
    "bentpipe why geo --at 20s": "events of a flow, with their causes",
    "bentpipe init mine.toml": "write your scenario",
}
"""First commands, printed without a command."""


def _welcome() -> None:
    formatter = Formatter()
    formatter.write_text("bentpipe, a laboratory for transport protocols over satellite networks. To start with:")
    formatter.write_paragraph()
    with formatter.indentation():
        formatter.write_dl([*FIRST.items()], col_max=40)
    formatter.write_paragraph()
    formatter.write_text(f"All {len(COMMANDS)} commands: bentpipe --help. One command: bentpipe run --help.")
    click.echo(formatter.getvalue(), nl=False, color=is_coloured(sys.stdout))


@click.group(cls=App, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="bentpipe %(version)s", help="Print the version and exit.")
@click.option(
    "--completion",
    type=click.Choice(SHELLS),
    is_eager=True,
    expose_value=False,
    callback=_print_completion,
    help='Print the completion script of a shell and exit: eval "$(bentpipe --completion bash)" in ~/.bashrc.',
)
@click.pass_context
def app(ctx: click.Context) -> None:
    """A laboratory for transport protocols over satellite networks."""
    if ctx.invoked_subcommand is not None:
        return
    from bentpipe.cli.init import is_answered

    if is_answered():
        from bentpipe.cli.door import ask

        ask(app)
    else:
        _welcome()
