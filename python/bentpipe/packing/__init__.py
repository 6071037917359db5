"""Results as one file, which others can repeat, and the sentence that cites a result."""
