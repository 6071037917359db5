//! The Python face of the core.
