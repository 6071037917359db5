"""The results of experiments of many runs, with their sentences and reports."""
