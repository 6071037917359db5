"""The contract of every experiment: results, reports, options, and the commands that repeat them."""
