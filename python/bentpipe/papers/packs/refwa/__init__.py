"""REFWA Plus (T. Taleb, N. Kato, Y. Nemoto): link errors told from congestion by windows that satellites feed back."""
