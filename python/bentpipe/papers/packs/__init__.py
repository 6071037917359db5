"""The papers that come with bentpipe, a folder each."""
