"""Entry of the command `bentpipe` and of `python -m bentpipe`."""

import codecs
import errno
import os
import signal
import sys


def main() -> None:
    """Run the command line. Ctrl-C during loading, and a full disk, end it without a traceback."""
    try:
        # All modules of bentpipe are loaded here, where Ctrl-C is handled.
        from bentpipe import terminal

        codecs.register_error("bentpipe", _replace_letter)
        terminal.guard("bentpipe")
        from bentpipe.cli.app import app

        try:
            app()
        except SystemExit:
            # A later failure, while Python ends, would be a traceback.
            sys.stdout.flush()
            raise
    except KeyboardInterrupt:
        # As in `cli`, which may not be loaded.
        _end_interrupted()
        sys.exit(INTERRUPTED)
    except SystemExit as end:
        if end.code == INTERRUPTED:
            _end_interrupted()
        raise
    except OSError as error:
        from bentpipe import files

        # Text in the buffer would fail again while Python ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if error.errno == errno.EPIPE:
            # The reader has closed the pipe, as in `| head`.
            sys.exit(1)
        print(f"error: the output cannot be written: {files.reason(error)}", file=sys.stderr)
        sys.exit(2)


INTERRUPTED = 130
"""Exit status after Ctrl-C, as in shells."""


def _end_interrupted() -> None:
    """Keep the exit status: another Ctrl-C while Python ends, or Python itself, would kill the process.

    CPython ends by SIGINT after a `KeyboardInterrupt` that left an `exec`, even if it was caught. This occurs while
    SciPy is loaded. The next `exec` resets it.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    exec("")


ASCII = {"±": "+-", "µ": "u", "…": "...", "–": "-", "×": "x"}


def _replace_letter(error: UnicodeError) -> tuple[str | bytes, int]:
    """Replace a letter that the terminal cannot show: by another letter, or by its number as in JSON and TOML."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    letter = error.object[error.start]
    if "\udc80" <= letter <= "\udcff":
        # A byte of a file name, which is written unchanged.
        return letter.encode("utf-8", "surrogateescape"), error.start + 1
    return ASCII.get(letter, f"\\u{ord(letter):04x}"), error.start + 1


if __name__ == "__main__":
    main()
