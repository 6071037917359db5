"""Explanations of the time of a flow, and of the events at a time."""
