"""Reports: pages that open anywhere, with their figures and tables as files and their provenance."""
