"""What is kept of an experiment."""
