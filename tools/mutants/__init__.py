"""Small faults that the tests of a crate must find, and the command that tries them."""
