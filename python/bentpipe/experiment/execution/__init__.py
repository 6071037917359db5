"""The execution of the runs of an experiment, in threads or on a cluster."""
