"""Results of experiments with many runs, with their sentences and reports."""
