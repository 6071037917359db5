"""Tools of the project's developers."""
