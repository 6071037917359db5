"""Reports: pages that open anywhere, with figures and tables that say where they are from."""
