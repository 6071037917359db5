"""Designs: the points of an experiment, each with its scenario, and the number of its runs."""
