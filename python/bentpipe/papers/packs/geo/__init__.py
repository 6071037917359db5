"""Wadekar and Jadhav: initial window, buffer and SNACK over a geostationary link."""
