"""Makes pages of the documentation: `python -m tools.docs`."""
