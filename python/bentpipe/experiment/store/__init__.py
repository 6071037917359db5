"""The store that keeps the runs of an experiment."""
