"""Real programs over the simulated path: hosts of Linux around a network that is driven in real time."""
