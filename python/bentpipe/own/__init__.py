"""Classes of one's own, in Python: congestion controls and functions of the network."""
