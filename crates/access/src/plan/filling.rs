//! Max-min shares: the outcome of a round robin, computed without going round.

/// Gives slots to terminals in turns of `weights[n]` slots, starting with terminal `start`, until `capacity` slots are
/// given or no terminal wants more. Writes the slots of each terminal to `given`, and returns the slots that are left.
pub(crate) fn fill(wants: &[u32], weights: &[u32], start: usize, capacity: u32, given: &mut [u32]) -> u32 {
    let wanted: u64 = wants.iter().map(|want| u64::from(*want)).sum();
    if wanted <= u64::from(capacity) {
        given.copy_from_slice(wants);
        return capacity - wanted as u32;
    }
    let share = |rounds: u32, n: usize| wants[n].min(rounds.saturating_mul(weights[n]));
    let taken = |rounds: u32| (0..wants.len()).map(|n| u64::from(share(rounds, n))).sum::<u64>();
    // The largest number of whole rounds that fits.
    let (mut fits, mut exceeds) = (0, wants.iter().copied().max().unwrap_or(0) + 1);
    while exceeds - fits > 1 {
        let rounds = fits + (exceeds - fits) / 2;
        (fits, exceeds) = if taken(rounds) <= u64::from(capacity) { (rounds, exceeds) } else { (fits, rounds) };
    }
    let mut left = capacity;
    for (n, slots) in given.iter_mut().enumerate() {
        *slots = share(fits, n);
        left -= *slots;
    }
    for n in (start..wants.len()).chain(0..start) {
        let more = weights[n].min(wants[n] - given[n]).min(left);
        given[n] += more;
        left -= more;
        if left == 0 {
            break;
        }
    }
    left
}
