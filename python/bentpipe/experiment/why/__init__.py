"""Where the time of a flow went, and what happened to it."""
