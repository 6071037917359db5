"""REFWA Plus (T. Taleb, N. Kato, Y. Nemoto): link errors told from congestion by what satellites feed back."""
