//! Where satellites and places are, whom they see, and which path is shortest when.
