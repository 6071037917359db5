"""Explanations: the time of flows by its use, and the events of a flow at a time."""
