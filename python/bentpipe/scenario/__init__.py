"""Scenarios: the files that describe a network and its traffic, and those that come with bentpipe."""
