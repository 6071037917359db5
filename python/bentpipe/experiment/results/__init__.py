"""What experiments of many runs gave, and what can be said of it."""
