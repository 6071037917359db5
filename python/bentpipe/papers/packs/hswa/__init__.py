"""HSWA-TCP and Enhanced HSWA-TCP over a geostationary bent pipe (Pandya and Shaikh)."""
