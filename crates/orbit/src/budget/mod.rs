//! What a radio link bears: free space, gases, clouds, rain, noise, modulation and coding.

pub mod geometry;
pub mod normal;
