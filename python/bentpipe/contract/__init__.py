"""The contract of every result: its tables, sentences, figures, report and file."""
