"""Experiments: what is run, where it is run, what is kept of it, and what can be said of it."""
