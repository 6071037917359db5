"""Explanations: the parts of the time of flows, and the events of a flow around an instant."""
