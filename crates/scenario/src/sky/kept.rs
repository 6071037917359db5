//! Keeps the paths that were found last. All scenarios of an experiment with an equal sky use the same paths: a comparison of
//! four congestion controls asks four times for each day, and once more when it runs.

use super::Paths;
use bentpipe_orbit::sky::constellation::Constellation;
use bentpipe_orbit::sky::scene::Sky;
use std::collections::hash_map::DefaultHasher;
use std::fmt::{Debug, Formatter, Write};
use std::hash::Hasher;
use std::sync::{Arc, Mutex, PoisonError};

/// Largest size of all kept paths, bytes.
const BYTES_MAX: usize = 64 << 20;

/// Time between two instants that show orbits, s.
const SOME_S: f64 = 1000.0;

/// Paths with the digest of their inputs, the last used at the end.
static KEPT: Mutex<Vec<(u128, Arc<Paths>)>> = Mutex::new(Vec::new());

/// Returns kept paths with equal `inputs`. Finds and keeps them if there are none. `inputs` are all values that affect `find`.
pub(super) fn paths(inputs: &dyn Debug, find: impl FnOnce() -> Option<Paths>) -> Option<Paths> {
    let digest = Digest::of(inputs);
    // The paths are never in pieces: a thread that panics has not changed them.
    let kept = || KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    let known = take(&mut kept(), digest);
    // Without the lock: other threads find other paths meanwhile.
    let paths = match known {
        Some(paths) => paths,
        None => Arc::new(find()?),
    };
    put(&mut kept(), digest, Arc::clone(&paths));
    Some((*paths).clone())
}

/// Forgets all paths.
#[cfg(test)]
pub(super) fn forget() {
    KEPT.lock().unwrap_or_else(PoisonError::into_inner).clear();
}

fn take(kept: &mut Vec<(u128, Arc<Paths>)>, digest: u128) -> Option<Arc<Paths>> {
    let place = kept.iter().position(|(known, _)| *known == digest)?;
    Some(kept.remove(place).1)
}

/// Adds paths as the last used, and removes the first until all have room.
fn put(kept: &mut Vec<(u128, Arc<Paths>)>, digest: u128, paths: Arc<Paths>) {
    take(kept, digest);
    let room = BYTES_MAX.saturating_sub(size(&paths));
    while kept.iter().map(|(_, paths)| size(paths)).sum::<usize>() > room {
        kept.remove(0);
    }
    kept.push((digest, paths));
}

fn size((routing, _, routes): &Paths) -> usize {
    let handovers: usize = routing.serving.iter().map(|(_, all)| std::mem::size_of_val(&all[..])).sum();
    let routes = routes.iter().map(|route| {
        let nodes: usize = route.changes.iter().map(|change| std::mem::size_of_val(&change.nodes[..])).sum();
        nodes + std::mem::size_of_val(&route.changes[..]) + std::mem::size_of_val(&route.delays_s[..])
    });
    handovers + routes.sum::<usize>()
}

/// Inputs of paths besides the keys, the places and the duration: contents of files. The elements of thousands of
/// satellites would take longer to write than paths to find, so their places at two instants stand for them.
pub(super) struct Rest<'a>(pub(super) &'a Sky);

impl Debug for Rest<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let Sky { constellation: Constellation { epoch, satellites, grids }, earth, .. } = self.0;
        let places = satellites.iter().map(|satellite| {
            let bits = |t| satellite.orbit.inertial(earth, *epoch, t).map(f64::to_bits);
            [bits(0.0), bits(SOME_S)]
        });
        write!(
            f,
            "{:?}",
            (epoch, grids, earth, &self.0.links, &self.0.cables, &self.0.failures, places.collect::<Vec<_>>())
        )
    }
}

/// Digest of the text of a value. The text of a number is exact.
struct Digest([DefaultHasher; 2]);

impl Digest {
    fn of(value: &dyn Debug) -> u128 {
        let mut digest = Self([DefaultHasher::new(), DefaultHasher::new()]);
        digest.0[1].write_u8(1);
        write!(digest, "{value:?}").expect("a digest takes any text");
        let [upper, lower] = digest.0.map(|half| u128::from(half.finish()));
        upper << u64::BITS | lower
    }
}

impl Write for Digest {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        self.0.iter_mut().for_each(|half| half.write(text.as_bytes()));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_orbit::sky::route::{Route, Routing};
    use bentpipe_orbit::sky::span::Span;
    use std::cell::Cell;

    fn of_size(bytes: usize) -> Option<Paths> {
        let route = Route { from: 0, to: 1, changes: Vec::new(), delays_s: vec![0.1; bytes / 8] };
        Some((Routing::default(), Span::new(0.0, 1.0, 1.0).unwrap(), vec![route]))
    }

    #[test]
    fn equal_inputs_have_the_paths_that_were_found_once() {
        let found = Cell::new(0);
        let count = |inputs: (&str, f64)| {
            paths(&inputs, || {
                found.set(found.get() + 1);
                of_size(80)
            })
            .unwrap()
        };
        assert_eq!(count(("a sky", 0.1)), count(("a sky", 0.1)));
        assert_eq!(found.get(), 1);
        count(("a sky", 0.1 + f64::EPSILON));
        count(("another sky", 0.1));
        assert_eq!(found.get(), 3);
        assert!(paths(&"not found", || None).is_none());
        paths(&"not found", || of_size(8)).expect("failures are not kept");
    }

    #[test]
    fn what_was_used_last_stays_within_the_bytes() {
        let mut kept = Vec::new();
        let large = || Arc::new(of_size(BYTES_MAX / 3).unwrap());
        for digest in [1, 2, 3, 1, 4] {
            let paths = take(&mut kept, digest).unwrap_or_else(large);
            put(&mut kept, digest, paths);
        }
        assert_eq!(kept.iter().map(|each| each.0).collect::<Vec<_>>(), [3, 1, 4]);
        put(&mut kept, 5, Arc::new(of_size(BYTES_MAX).unwrap()));
        assert_eq!(kept.len(), 1);
    }
}
