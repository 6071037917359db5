"""What an experiment runs: points, each with its scenario, and how often."""
