"""Search for the settings of a path: the work of `tune`."""
