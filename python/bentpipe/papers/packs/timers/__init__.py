"""M. Emmelmann on receive buffers and timer granularity over a satellite in low orbit."""
