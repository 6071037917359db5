"""Five published papers as living experiments: a folder each, with scenarios, sweeps, and claims as data."""
