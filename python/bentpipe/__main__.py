"""`python -m bentpipe` is `bentpipe`."""

from bentpipe.cli import app

if __name__ == "__main__":
    app()
