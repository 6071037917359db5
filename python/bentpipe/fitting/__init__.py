"""Fits a path to measurements: readers, estimates, the check by simulation, and the scenario."""
