"""Experiments: their runs, the execution of runs, the stores and the results."""
