"""Scenarios: the files that describe a network and its traffic, and the bundled scenarios."""
