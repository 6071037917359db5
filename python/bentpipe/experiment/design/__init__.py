"""The design of an experiment: points, each with its scenario and its replications."""
