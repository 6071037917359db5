"""The studio: a local web page over scenarios and their results."""
