"""Where the command `bentpipe` and `python -m bentpipe` begin."""

import codecs
import errno
import os
import signal
import sys


def main() -> None:
    """Run the command line. Ctrl-C while it is still being loaded, and a full disk, end it without a traceback."""
    try:
        # All of ours is loaded here, where Ctrl-C is heard.
        from bentpipe import terminal

        codecs.register_error("bentpipe", _degraded)
        terminal.guard("bentpipe")
        from bentpipe.cli.app import app

        try:
            app()
        except SystemExit:
            # Later, while Python ends, a failure would be a traceback.
            sys.stdout.flush()
            raise
    except KeyboardInterrupt:
        # As in `cli`, which may not have been loaded.
        _end_interrupted()
        sys.exit(INTERRUPTED)
    except SystemExit as end:
        if end.code == INTERRUPTED:
            _end_interrupted()
        raise
    except OSError as error:
        from bentpipe import files

        # What is still in the buffer would fail again while Python ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if error.errno == errno.EPIPE:
            # The reader wants no more, as with `| head`.
            sys.exit(1)
        print(f"error: the output cannot be written: {files.reason(error)}", file=sys.stderr)
        sys.exit(2)


INTERRUPTED = 130
"""Exit status after Ctrl-C, as shells have it."""


def _end_interrupted() -> None:
    """Keep the exit status: another Ctrl-C while Python ends would kill the process, and so would Python itself.

    CPython ends by SIGINT after a `KeyboardInterrupt` that left an `exec`, even if it was caught, such as while SciPy
    is loaded. The next `exec` makes it forget that.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    exec("")


ASCII = {"±": "+-", "µ": "u", "…": "...", "–": "-", "×": "x"}


def _degraded(error: UnicodeError) -> tuple[str | bytes, int]:
    """What a terminal gets that cannot show a letter: another one, or its number as JSON and TOML write it."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    letter = error.object[error.start]
    if "\udc80" <= letter <= "\udcff":
        # A byte of a file's name, which leaves as it came.
        return letter.encode("utf-8", "surrogateescape"), error.start + 1
    return ASCII.get(letter, f"\\u{ord(letter):04x}"), error.start + 1


if __name__ == "__main__":
    main()
