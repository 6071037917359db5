"""One run of one scenario: its execution, tables and metrics."""
