//! Requests of terminals: rates (RBDC) and volumes (VBDC) of DVB-RCS2, in the units of ETSI EN 301 545-2.
//!
//! With Q bytes waiting, overhead h, arrival rate A with its margin, and I bytes under way by promised rates, a terminal
//! asks for
//!
//! - the rate A + max(0, h Q - A `evaluation` - I) / `drain` - `constant`,
//! - the volume max(h Q - I - asked, min(h N, h Q - asked)).
//!
//! Bytes are under way if their request is younger than R, the time from a request to its grant. The windows of the
//! superframe that starts are part of them, because the queue has not been served into these windows yet.
//!
//! N is what came in since the last volume, less what promised rates carried meanwhile. The capacity of rates in idle
//! times counts for at most `ahead`. Without N, a terminal would request nothing until I bytes wait: a stream would
//! keep a queue of R, and the longer, the more rate is promised.
//!
//! A request by random access is in doubt until windows answer it, or R + 2 T have passed. A control slot repeats it
//! before: with all that waits, to replace the backlog at the controller.

use crate::mf_tdma::MfTdma;
use crate::terminal::{Asked, Capacity};
use bentpipe_units::{Duration, Rate};

/// Way of a request to the controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// In the first burst of a window.
    Burst,
    /// In a control slot.
    Control,
    /// In a random burst.
    Random,
}

/// Volume asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Volume {
    /// Bytes.
    pub bytes: u32,
    /// Whether it replaces the backlog at the controller (AVBDC) instead of adding to it.
    pub is_absolute: bool,
}

/// Request of a terminal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// Rate beyond the constant one. `None` leaves the earlier one valid.
    pub rate: Option<Rate>,
    /// Volume.
    pub volume: Option<Volume>,
}

impl From<Asked> for Request {
    fn from(asked: Asked) -> Self {
        let bytes = u32::try_from(asked.volume).unwrap_or(u32::MAX);
        let volume = Volume { bytes, is_absolute: true };
        Self { rate: Some(asked.rate).filter(|rate| rate.as_bps() > 0), volume: Some(volume).filter(|_| bytes > 0) }
    }
}

/// Units of a rate, bit/s, and of a volume, bytes. A request counts at most 256 of them.
const RATE_UNITS: [u64; 4] = [1_000, 4_000, 16_000, 64_000];
const VOLUME_UNITS: [u64; 4] = [1, 8, 64, 512];
const UNITS_MAX: u64 = 256;

/// Rounds up to the smallest unit that needs a count of 256 or less. The largest value is 256 of the largest unit.
#[inline]
fn in_units(value: u64, units: [u64; 4]) -> u64 {
    // The compiler knows the units, so it divides by multiplying.
    for unit in units {
        if value <= UNITS_MAX * unit {
            return value.div_ceil(unit) * unit;
        }
    }
    UNITS_MAX * units[3]
}

/// Rounds a positive number below 2^53 to the nearest whole number.
#[inline]
fn rounded(value: f64) -> u64 {
    let whole = value as u64;
    whole + u64::from(value - whole as f64 >= 0.5)
}

/// Rules of a medium, with times in superframes where they count superframes.
#[derive(Clone, Debug)]
pub(crate) struct Rules {
    /// Overhead in thousandths, so that volumes are exact.
    overhead: u64,
    margin: f64,
    ahead_s: f64,
    evaluation_s: f64,
    drain_s: f64,
    superframe_s: f64,
    /// Superframes of the arrival rate, n.
    evaluated: usize,
    /// Superframes from a request to its grant, R / T.
    pub(crate) round: u64,
    /// Superframes that a grant may come after R, since the terminal waits for its turn.
    turn: u64,
    /// Superframes after which a rate is renewed.
    renewal: u64,
    pub(crate) persistence: u64,
}

impl Rules {
    /// Returns the rules of a return link with `round` superframes from a request to its grant.
    pub(crate) fn new(medium: &MfTdma, round: u64) -> Self {
        let MfTdma { superframe, evaluation, margin, ahead, drain, overhead, persistence, .. } = *medium;
        let superframes = |span: Duration| span.as_ps().div_ceil(superframe.as_ps().max(1));
        let evaluated = (evaluation.as_secs_f64() / superframe.as_secs_f64()).round();
        Self {
            overhead: (overhead * 1000.0).round() as u64,
            margin,
            ahead_s: ahead.as_secs_f64(),
            evaluation_s: evaluation.as_secs_f64(),
            drain_s: drain.as_secs_f64(),
            superframe_s: superframe.as_secs_f64(),
            evaluated: (evaluated as usize).clamp(1, 100_000),
            round,
            turn: 0,
            renewal: superframes(persistence / 2),
            persistence: superframes(persistence),
        }
    }

    /// Returns the rules of a medium in which a grant waits for the turn of its terminal, for this many superframes at most.
    pub(crate) fn with_turn(self, turn: u64) -> Self {
        Self { turn, ..self }
    }

    /// Returns the superframes after the last request in which a terminal waits for a grant: R + 2 T, and its turn.
    fn patience(&self) -> u64 {
        self.round + self.turn + 2
    }

    /// Returns the bytes that carry `bytes` of packets.
    pub(crate) fn with_overhead(&self, bytes: u64) -> u64 {
        bytes.saturating_mul(self.overhead).div_ceil(1000)
    }
}

/// Returns the bytes of a promised rate in idle times that count.
fn ahead(rules: &Rules, promised: u64) -> f64 {
    promised as f64 / 8.0 * rules.ahead_s
}

/// The last values of a quantity, one per superframe, and their sum.
#[derive(Clone, Debug, Default)]
struct Recent {
    values: Vec<u64>,
    sum: u64,
}

impl Recent {
    fn of(count: usize) -> Self {
        Self { values: vec![0; count], sum: 0 }
    }

    /// Replaces the oldest value, that of superframe `superframe` - count.
    fn push(&mut self, superframe: u64, value: u64) {
        let count = self.values.len() as u64;
        if count > 0 {
            let oldest = &mut self.values[(superframe % count) as usize];
            self.sum = self.sum - *oldest + value;
            *oldest = value;
        }
    }

    /// Returns the value of superframe `superframe` - count, before that of `superframe` replaces it.
    fn oldest(&self, superframe: u64) -> u64 {
        let place = superframe.checked_rem(self.values.len() as u64).unwrap_or(0);
        self.values.get(place as usize).copied().unwrap_or(0)
    }

    fn clear(&mut self) {
        self.values.fill(0);
        self.sum = 0;
    }
}

/// State of a request class of a terminal.
#[derive(Clone, Debug)]
pub(crate) struct Asking {
    constant: u64,
    /// Largest rate to ask for, beyond the constant one, bit/s.
    rate_limit: u64,
    volume_based: bool,
    arrivals: Recent,
    /// Rates asked for and valid, bit/s.
    rates: Recent,
    /// Rate asked for last, bit/s, and the superframe of this request.
    rate: u64,
    rate_at: u64,
    /// Rate before the last request of any kind.
    rate_before: u64,
    /// Bytes asked for and not granted, and the superframe of the last request for a volume.
    asked: u64,
    asked_at: u64,
    /// Whether `asked` was forgotten: the next volume replaces the backlog at the controller.
    is_absolute: bool,
    /// N: bytes since the last volume, with overhead, that promised rates have not carried. Below 0: capacity ahead.
    uncovered: f64,
    /// Superframe of a request by random access that is in doubt, and the requests in a row that were lost so.
    random_at: Option<u64>,
    lost: u32,
}

impl Asking {
    /// Returns a request class of a terminal with this capacity.
    pub(crate) fn new(rules: &Rules, capacity: Capacity) -> Self {
        let Capacity { constant, rate_based, volume_based, .. } = capacity;
        let rate_limit = rate_based.as_bps().saturating_sub(constant.as_bps());
        let recent = |count: usize| Recent::of(if rate_limit > 0 { count } else { 0 });
        Self {
            constant: constant.as_bps(),
            rate_limit,
            volume_based,
            arrivals: recent(rules.evaluated),
            rates: recent(rules.round as usize),
            rate: 0,
            rate_at: 0,
            rate_before: 0,
            asked: 0,
            asked_at: 0,
            is_absolute: false,
            uncovered: f64::NEG_INFINITY,
            random_at: None,
            lost: 0,
        }
    }

    /// Returns the rate asked for, beyond the constant one.
    pub(crate) fn rate(&self) -> Rate {
        Rate::from_bps(self.rate)
    }

    /// Returns its open requests.
    pub(crate) fn asked(&self) -> Asked {
        Asked { rate: self.rate(), volume: self.asked }
    }

    /// Goes on with requests that the controller has from elsewhere since `superframe`.
    pub(crate) fn go_on(&mut self, superframe: u64, asked: Asked) {
        if self.rate_limit > 0 {
            (self.rate, self.rate_at) = (asked.rate.as_bps().min(self.rate_limit), superframe);
        }
        if self.volume_based {
            (self.asked, self.asked_at, self.is_absolute) = (asked.volume, superframe, false);
        }
    }

    /// Forgets all requests, after an outage.
    pub(crate) fn reset(&mut self) {
        self.arrivals.clear();
        self.rates.clear();
        (self.rate, self.asked, self.is_absolute, self.uncovered) = (0, 0, true, f64::NEG_INFINITY);
        (self.random_at, self.lost) = (None, 0);
    }

    /// Returns the request of a superframe with `backlog` bytes waiting, of which `arrived` came in the superframe
    /// before. `None` if there is nothing new to ask for. `way`: the burst or control slot that the terminal has.
    pub(crate) fn due(
        &mut self,
        rules: &Rules,
        superframe: u64,
        backlog: u64,
        arrived: u64,
        way: Option<Way>,
    ) -> Option<Request> {
        if let Some(at) = self.random_at {
            self.wait(rules, superframe, at, way);
        }
        if self.rate_limit > 0 {
            self.arrivals.push(superframe, arrived);
        }
        let is_again = if self.awaits_grant() { way == Some(Way::Control) } else { self.lost > 0 };
        let under_way = self.under_way(rules);
        let volume = self.volume_due(rules, superframe, backlog, arrived, under_way, is_again);
        let rate = self.rate_due(rules, superframe, backlog, under_way, is_again);
        let is_due = rate.is_some() || volume.is_some();
        if !is_due && !self.awaits_grant() {
            self.lost = 0;
        }
        is_due.then_some(Request { rate, volume })
    }

    /// Waits for the answer to the request by random access of superframe `at`.
    fn wait(&mut self, rules: &Rules, superframe: u64, at: u64, way: Option<Way>) {
        // Windows R after it are its answer.
        if way == Some(Way::Burst) && superframe >= at + rules.round {
            (self.random_at, self.lost) = (None, 0);
            return;
        }
        let is_lost = superframe >= at + rules.patience();
        if way == Some(Way::Control) || is_lost {
            self.take_back_rate(at, superframe);
        }
        if is_lost {
            self.random_at = None;
            self.lost = self.lost.saturating_add(1);
        }
    }

    /// Counts the rate before the request of superframe `at`, which may be lost, since then.
    fn take_back_rate(&mut self, at: u64, superframe: u64) {
        if self.rate_limit > 0 {
            self.rate = self.rate_before;
            for superframe in at.max(superframe.saturating_sub(self.rates.values.len() as u64))..superframe {
                self.rates.push(superframe, self.rate);
            }
        }
    }

    /// Returns the bytes under way to the terminal by its constant rate and by rates asked for.
    fn under_way(&self, rules: &Rules) -> f64 {
        let constant = self.constant as f64 * rules.round as f64;
        (constant + self.rates.sum as f64) * rules.superframe_s / 8.0
    }

    fn rate_due(
        &mut self,
        rules: &Rules,
        superframe: u64,
        backlog: u64,
        under_way: f64,
        is_again: bool,
    ) -> Option<Rate> {
        if self.rate_limit == 0 {
            return None;
        }
        let is_lapsed = superframe >= self.rate_at + rules.persistence;
        self.rates.push(superframe, if is_lapsed { 0 } else { self.rate });
        let wanted = self.wanted(rules, backlog, under_way);
        let is_old = superframe >= self.rate_at + rules.renewal;
        (wanted != self.rate || (wanted > 0 && (is_old || is_again))).then_some(Rate::from_bps(wanted))
    }

    /// Returns the rate that the terminal wants, bit/s.
    fn wanted(&self, rules: &Rules, backlog: u64, under_way: f64) -> u64 {
        if self.arrivals.sum == 0 && backlog == 0 {
            return 0;
        }
        let overhead = rules.overhead as f64 / 1000.0;
        let arriving = rules.margin * self.arrivals.sum as f64 / (rules.evaluated as f64 * rules.superframe_s);
        let waiting = overhead * backlog as f64 - arriving * rules.evaluation_s - under_way;
        let rate = 8.0 * (arriving + waiting.max(0.0) / rules.drain_s) - self.constant as f64;
        in_units(rounded(rate.max(0.0)).min(self.rate_limit), RATE_UNITS).min(self.rate_limit)
    }

    fn volume_due(
        &mut self,
        rules: &Rules,
        superframe: u64,
        backlog: u64,
        arrived: u64,
        under_way: f64,
        is_again: bool,
    ) -> Option<Volume> {
        if !self.volume_based {
            return None;
        }
        // The rate of a request carries R later.
        let promised = self.constant + self.rates.oldest(superframe);
        let (carried, ahead) = (promised as f64 / 8.0 * rules.superframe_s, ahead(rules, promised));
        self.uncovered = (self.uncovered - carried).max(-ahead) + rules.with_overhead(arrived) as f64;
        if self.asked > 0 && superframe >= self.asked_at + rules.patience() {
            (self.asked, self.is_absolute) = (0, true);
        }
        if backlog == 0 {
            return None;
        }
        let is_absolute = self.is_absolute || is_again;
        let missing = if is_absolute {
            rules.with_overhead(backlog) as f64 - ahead
        } else {
            let missing = rules.with_overhead(backlog).saturating_sub(self.asked) as f64;
            (missing - under_way).max(self.uncovered.min(missing))
        };
        let bytes = in_units(missing.max(0.0) as u64, VOLUME_UNITS) as u32;
        (bytes > 0).then_some(Volume { bytes, is_absolute })
    }

    /// Whether no superframe changes its state before a packet comes.
    pub(crate) fn is_idle(&self, rules: &Rules) -> bool {
        let is_forgotten = self.asked == 0 && self.rate == 0 && self.rates.sum == 0 && self.arrivals.sum == 0;
        let is_ahead = self.constant == 0 || !self.volume_based || self.uncovered <= -ahead(rules, self.constant);
        is_forgotten && is_ahead && self.random_at.is_none() && self.lost == 0
    }

    /// Returns the requests by random access in a row that were lost.
    pub(crate) fn lost(&self) -> u32 {
        self.lost
    }

    /// Whether a request by random access is in doubt.
    pub(crate) fn awaits_grant(&self) -> bool {
        self.random_at.is_some()
    }

    /// Notes that a request has left.
    pub(crate) fn sent(&mut self, superframe: u64, request: Request, way: Way) {
        self.rate_before = self.rate;
        if let Some(rate) = request.rate {
            (self.rate, self.rate_at) = (rate.as_bps(), superframe);
            // The grants of this superframe's request count from now on.
            self.rates.push(superframe, self.rate);
        }
        if let Some(volume) = request.volume {
            self.asked = if volume.is_absolute { 0 } else { self.asked } + u64::from(volume.bytes);
            (self.asked_at, self.is_absolute, self.uncovered) = (superframe, false, 0.0);
        }
        self.random_at = (way == Way::Random).then_some(superframe);
        if way != Way::Random {
            self.lost = 0;
        }
    }

    /// Notes a grant: after the request of its superframe, since the queue has not been served into it before.
    pub(crate) fn granted(&mut self, volume: u64) {
        self.asked = self.asked.saturating_sub(volume);
        (self.random_at, self.lost) = (None, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// T = 26.5 ms, R = 21 T, the defaults of a return link.
    fn rules() -> Rules {
        Rules::new(&MfTdma::default(), 21)
    }

    const OWN: Option<Way> = Some(Way::Control);

    fn asking(constant: u64, rate_based: u64, volume_based: bool) -> Asking {
        let [constant, rate_based] = [constant, rate_based].map(Rate::from_bps);
        Asking::new(&rules(), Capacity { constant, rate_based, volume_based, ..Capacity::default() })
    }

    fn rate(request: Option<Request>) -> Option<u64> {
        request.and_then(|request| request.rate).map(Rate::as_bps)
    }

    fn volume(request: Option<Request>) -> Option<(u32, bool)> {
        request.and_then(|request| request.volume).map(|volume| (volume.bytes, volume.is_absolute))
    }

    /// EN 301 545-2: the unit that fits 256 of them.
    #[test]
    fn requests_count_units() {
        let kbps = |rate| in_units(rate, RATE_UNITS);
        assert_eq!(
            [1, 255_001, 256_001, 1_024_001, 4_096_001].map(kbps),
            [1_000, 256_000, 260_000, 1_040_000, 4_160_000]
        );
        assert_eq!(kbps(99_000_000), 16_384_000);
        let bytes = |volume| in_units(volume, VOLUME_UNITS);
        assert_eq!([0, 44, 256, 257, 2049, 16_385, 1_000_000].map(bytes), [0, 44, 256, 264, 2112, 16_896, 131_072]);
    }

    /// 400 B: A = 1.1 x 3200 bit / 106 ms = 33.2 kbit/s, and 440 B - A 100 ms = 24.9 B in 100 ms = 2.0 kbit/s. Later 36
    /// kbit/s are under way, 119.25 B in a superframe, and A is enough.
    #[test]
    fn a_rate_follows_arrivals_and_backlog() {
        let (rules, mut terminal) = (rules(), asking(0, 1_000_000, false));
        let first = terminal.due(&rules, 0, 400, 400, OWN).unwrap();
        assert_eq!(first.rate, Some(Rate::from_bps(36_000)));
        terminal.sent(0, first, Way::Control);
        assert_eq!(rate(terminal.due(&rules, 1, 400, 0, OWN)), Some(34_000));
        // No way for the request: it waits, and the arrivals end.
        for superframe in 2..4 {
            assert_eq!(rate(terminal.due(&rules, superframe, 400, 0, OWN)), Some(34_000));
        }
        // 440 B - 4 x 119.25 B is less than zero.
        let zero = terminal.due(&rules, 4, 400, 0, OWN).unwrap();
        assert_eq!(zero.rate, Some(Rate::from_bps(0)));
        terminal.sent(4, zero, Way::Control);
        assert_eq!(terminal.due(&rules, 5, 400, 0, OWN), None, "0 is sent once");
    }

    /// Half of 1.1 s are 21 superframes; the limit is that of both rates.
    #[test]
    fn a_rate_is_renewed_and_limited() {
        let (rules, mut terminal) = (rules(), asking(16_000, 100_000, false));
        let first = terminal.due(&rules, 0, 1_000_000, 50_000, OWN).unwrap();
        assert_eq!(first.rate, Some(Rate::from_bps(84_000)));
        terminal.sent(0, first, Way::Burst);
        let due: Vec<u64> = (1..50).filter(|k| terminal.due(&rules, *k, 1_000_000, 50_000, OWN).is_some()).collect();
        assert_eq!(due[0], 21);
        assert_eq!(due.len(), 29, "it is due until it leaves");
    }

    #[test]
    fn volumes_add_up_and_grants_take_them_off() {
        let (rules, mut terminal) = (rules(), asking(0, 0, true));
        let first = terminal.due(&rules, 0, 40, 40, OWN);
        assert_eq!(volume(first), Some((44, false)));
        terminal.sent(0, first.unwrap(), Way::Burst);
        assert_eq!(terminal.due(&rules, 1, 40, 0, OWN), None);
        let more = terminal.due(&rules, 2, 140, 100, OWN);
        assert_eq!(volume(more), Some((110, false)));
        terminal.sent(2, more.unwrap(), Way::Burst);
        assert_eq!(terminal.due(&rules, 21, 140, 0, OWN), None, "the windows of this superframe are not served yet");
        terminal.granted(108);
        // 46 B asked for, 55 B with overhead waiting.
        assert_eq!(volume(terminal.due(&rules, 22, 50, 0, OWN)), Some((9, false)));
    }

    /// R + 2 T after the last request, all that waits is asked for, and replaces the backlog at the controller.
    #[test]
    fn what_was_asked_is_forgotten() {
        let (rules, mut terminal) = (rules(), asking(0, 0, true));
        let first = terminal.due(&rules, 5, 40, 40, OWN).unwrap();
        terminal.sent(5, first, Way::Random);
        assert!(terminal.awaits_grant());
        assert_eq!((6..28).find(|k| terminal.due(&rules, *k, 40, 0, None).is_some()), None);
        let again = terminal.due(&rules, 28, 40, 0, None);
        assert_eq!((volume(again), terminal.lost()), (Some((44, true)), 1));
        // It is due until it leaves.
        assert_eq!(terminal.due(&rules, 29, 40, 0, None), again);
        assert!(!terminal.awaits_grant());
        terminal.sent(29, again.unwrap(), Way::Random);
        terminal.granted(108);
        assert_eq!((terminal.awaits_grant(), terminal.lost()), (false, 0));
        assert_eq!(volume(terminal.due(&rules, 40, 40, 40, OWN)), Some((44, false)));
    }

    /// A slot of its own repeats what is in doubt: all that waits, instead of what the controller may have.
    #[test]
    fn a_slot_repeats_a_request_by_random_access() {
        let (rules, mut terminal) = (rules(), asking(0, 0, true));
        let first = terminal.due(&rules, 5, 40, 40, None).unwrap();
        terminal.sent(5, first, Way::Random);
        let again = terminal.due(&rules, 9, 140, 100, OWN).unwrap();
        assert_eq!(volume(Some(again)), Some((154, true)));
        terminal.sent(9, again, Way::Control);
        assert_eq!(terminal.due(&rules, 10, 140, 0, OWN), None);
        assert!(!terminal.awaits_grant());
    }

    /// A request for a volume alone leaves the rate as it is, also if it is lost.
    #[test]
    fn a_lost_volume_takes_no_rate_back() {
        let (rules, mut terminal) = (rules(), asking(0, 1_000_000, true));
        let rate = |bps| Request { rate: Some(Rate::from_bps(bps)), volume: None };
        terminal.sent(0, rate(10_000), Way::Burst);
        terminal.sent(1, rate(20_000), Way::Burst);
        let volume = Some(Volume { bytes: 44, is_absolute: false });
        terminal.sent(2, Request { rate: None, volume }, Way::Random);
        terminal.due(&rules, 2 + rules.patience(), 40, 0, None);
        assert_eq!((terminal.rate().as_bps(), terminal.lost()), (20_000, 1));
        // That of a lost request for a rate is taken back.
        terminal.sent(26, rate(30_000), Way::Random);
        terminal.due(&rules, 26 + rules.patience(), 40, 0, None);
        assert_eq!((terminal.rate().as_bps(), terminal.lost()), (20_000, 2));
    }

    /// A constant rate of 16 kbit/s carries 53 B in a superframe, and 200 B in the next 100 ms.
    #[test]
    fn promised_rates_count_for_what_comes_in_meanwhile() {
        let (rules, mut terminal) = (rules(), asking(16_000, 16_000, true));
        assert_eq!(terminal.due(&rules, 0, 100, 100, OWN), None);
        // -200 + 110 - 53 + 110 = -33, then less 53 and with 220 more.
        let second = terminal.due(&rules, 1, 200, 100, OWN);
        assert_eq!(second, None);
        let third = terminal.due(&rules, 2, 400, 200, OWN).unwrap();
        assert_eq!(volume(Some(third)), Some((134, false)));
        terminal.sent(2, third, Way::Burst);
        // A stream of twice the rate: 117 B, less 53.
        assert_eq!(volume(terminal.due(&rules, 3, 500, 106, OWN)), Some((64, false)));
    }
}
