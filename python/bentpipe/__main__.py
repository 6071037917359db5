"""Where the command `bentpipe` and `python -m bentpipe` begin."""

import errno
import os
import sys


def main() -> None:
    """Run the command line. Ctrl-C while it is still being loaded, and a full disk, end it without a traceback."""
    try:
        from bentpipe.cli import app

        app()
    except KeyboardInterrupt:
        # As in `cli`, which may not have been loaded.
        sys.exit(130)
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        print("error: the output cannot be written: no space left on device", file=sys.stderr)
        # What is still in the buffer would fail again while Python ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(2)


if __name__ == "__main__":
    main()
