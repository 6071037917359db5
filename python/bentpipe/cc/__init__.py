"""Congestion controls of one's own, in Python."""
