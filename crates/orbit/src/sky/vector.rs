//! Points and directions in three dimensions, km.

/// Point or direction, in km unless it is a unit vector.
pub type Vector = [f64; 3];

pub(crate) fn dot(a: Vector, b: Vector) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

pub(crate) fn sub(a: Vector, b: Vector) -> Vector {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

pub(crate) fn cross(a: Vector, b: Vector) -> Vector {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

// `f64::sqrt` is correctly rounded on every machine (IEEE 754), unlike std's sine.
pub(crate) fn norm(a: Vector) -> f64 {
    dot(a, a).sqrt()
}

/// Returns the distance between two points, km.
pub fn distance(a: Vector, b: Vector) -> f64 {
    norm(sub(a, b))
}

/// Returns `a` turned about the polar axis by `angle` radians, towards the east.
pub(crate) fn turn(a: Vector, angle: f64) -> Vector {
    let (s, c) = libm::sincos(angle);
    [c * a[0] - s * a[1], s * a[0] + c * a[1], a[2]]
}
