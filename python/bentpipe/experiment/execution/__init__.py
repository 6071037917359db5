"""Where the runs of an experiment are done."""
