"""Sweeps: a grid of experiments, run once each wherever there is room, kept so that nothing finished is lost."""
