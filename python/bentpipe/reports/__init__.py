"""Reports: pages for any browser, with figures and tables that have their provenance."""
