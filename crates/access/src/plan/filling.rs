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
    // The largest number of whole rounds that fits: the rounds that those who want more can share, again and again.
    let mut rounds: u32 = 0;
    loop {
        let (mut taken, mut turn, mut next) = (0_u64, 0, 0_u64);
        for (want, weight) in wants.iter().zip(weights) {
            let given = (*want).min(rounds.saturating_mul(*weight));
            let more = (*want - given).min(*weight);
            taken += u64::from(given);
            next += u64::from(more);
            turn += if more > 0 { u64::from(*weight) } else { 0 };
        }
        let left = u64::from(capacity) - taken;
        if next > left {
            break;
        }
        rounds += (left / turn).max(1) as u32;
    }
    let fits = rounds;
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
