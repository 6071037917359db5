"""One run of one scenario: its tables, its metrics, and how it is done."""
