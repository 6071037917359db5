"""Lines of Linux' `tc` become scenarios, and scenarios become lines of `tc`."""
