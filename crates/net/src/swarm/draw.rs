//! Draws random values of keys from their declarations. New keys, congestion controls, queues and middleboxes need no
//! line here.

use bentpipe_units::settings::{Absent, Fields, Key, Shape, Typed, Value};
use bentpipe_units::{Duration, Stream};

pub(super) const RATES: [u64; 5] = [64_000, 256_000, 1_000_000, 2_000_000, 8_000_000];
pub(super) const PROCESSING_US: [(u64, u64); 4] = [(0, 0), (0, 100), (50, 50), (0, 20_000)];
/// Also of a LAN: with short links beside long ones, packets are known long before they are due.
pub(super) const DELAYS_US: [u64; 6] = [0, 1, 1000, 5000, 20_000, 250_000];

/// Values of keys whose declarations do not show which values make rare events common.
const CHOICES: &[(&str, &[&str])] = &[
    ("tcp.feedback.rto", &["200 ms", "1 s"]),
    ("tcp.smss", &["100 B", "536 B", "1000 B", "1460 B"]),
    ("tcp.initial_window", &["1 segments", "rfc3390", "rfc6928"]),
    ("tcp.initial_ssthresh", &["unlimited", "peer-window", "8000 B"]),
    ("tcp.give_up", &["never", "3 retransmissions", "3 s"]),
    ("tcp.receive_buffer", &["100 B", "4 kB", "64 kB", "unlimited"]),
    ("tcp.rto.initial", &["1 s", "3 s"]),
    ("tcp.rto.min", &["200 ms", "1 s"]),
    ("tcp.rto.granularity", &["0 s", "1 ms", "10 ms", "500 ms"]),
    ("tcp.rto.phase", &["random", "0 s"]),
    ("tcp.rto.variance_min", &["0 s", "200 ms"]),
    ("tcp.rto.min_ticks", &["1", "2"]),
    ("tcp.rto.forget_after", &["0", "1", "4"]),
    ("tcp.rto.backoff", &["true"]),
    ("tcp.rto.backoff_max", &["64"]),
    ("tcp.ack.every", &["1", "2", "3"]),
    ("tcp.ack.delay", &["40 ms", "200 ms"]),
    ("tcp.ack.quick", &["0", "5"]),
    ("tcp.pacing.rate", &["64 kbit/s", "256 kbit/s", "1 Mbit/s", "2 Mbit/s", "8 Mbit/s"]),
    ("tcp.pacing.gain", &["1.2"]),
    ("tcp.pacing.gain_slow_start", &["2"]),
    ("tcp.pacing.burst", &["2 segments", "1 B", "10 kB"]),
    ("tcp.careful_resume.saved", &["cache", "40 segments", "200 kB"]),
    ("tcp.careful_resume.saved_rtt", &["2 ms", "100 ms", "1 s"]),
    ("tcp.careful_resume.max_jump", &["unlimited", "30 segments"]),
    ("tcp.careful_resume.lifetime", &["1 s", "3600 s"]),
    ("tcp.slow_start.max_ssthresh", &["800 B", "8 segments"]),
    ("tcp.slow_start.low_window", &["2 segments", "16 segments"]),
    ("tcp.recovery.burst", &["0", "2"]),
    ("queue.limit", &["unlimited", "1 packets", "5 packets", "20 packets", "50 packets", "2 kB", "10 kB", "64 kB"]),
    ("queue.class.limit", &["unlimited", "1 packets", "20 packets", "2 kB", "64 kB"]),
    ("queue.class.weight", &["1", "2", "5"]),
    ("queue.min_th", &["1", "2", "5"]),
    ("queue.max_th", &["6", "15"]),
    ("queue.max_p", &["0.02", "0.1", "1"]),
    ("queue.weight", &["0.002", "0.1", "1"]),
    ("queue.queues", &["1", "4", "64"]),
    ("queue.quantum", &["100 B", "1514 B"]),
    ("queue.target", &["1 ms", "5 ms", "15 ms"]),
    ("queue.interval", &["20 ms", "100 ms", "600 ms"]),
    ("queue.update", &["15 ms", "40 ms"]),
    ("queue.burst", &["0 s", "50 ms", "150 ms"]),
    ("bucket.rate", &["100 kbit/s", "500 kbit/s", "3 Mbit/s"]),
    ("bucket.burst", &["1600 B", "3 kB", "12345 B", "100 kB"]),
    ("bucket.after", &["0 B", "0 B", "20 kB"]),
    ("queue.max_rtt", &["30 ms", "600 ms"]),
    ("queue.typical_rtt", &["5 ms", "100 ms"]),
    ("queue.step", &["100 us", "1 ms", "20 ms"]),
    ("queue.alpha", &["0", "0.16015625", "10"]),
    ("queue.beta", &["0", "3.19921875", "100"]),
    ("queue.coupling", &["1", "2", "3.5"]),
    ("queue.classic_share", &["0", "0.1", "1"]),
    ("framing.header", &["0 B", "8 B"]),
    ("framing.label", &["0 B", "6 B"]),
    ("framing.overhead", &["0 B", "7 B"]),
    ("framing.minimum", &["0 B", "64 B"]),
    ("framing.stuffed", &["0", "2"]),
    ("framing.payload", &["48 B"]),
    ("framing.cell", &["48 B", "53 B"]),
    ("multipath.receive_buffer", &["3 kB", "10 kB", "64 kB", "unlimited"]),
    ("multipath.reinject.notice", &["0 s", "0 s", "30 ms", "2 s"]),
    ("multipath.scheduler.burst", &["1", "3"]),
    ("middlebox.duplicate", &["0", "0.01", "0.2"]),
    ("middlebox.reorder", &["0", "0.01", "0.2"]),
    ("middlebox.hold", &["0 s", "1 ms", "30 ms"]),
    ("middlebox.buffer", &["3 kB", "10 kB", "100 kB"]),
    ("middlebox.sessions", &["1", "3", "100"]),
    ("middlebox.half_open", &["1", "100"]),
    ("middlebox.idle", &["500 ms", "100 s"]),
    ("middlebox.fails_at", &["1 s"]),
    ("middlebox.k", &["1", "4", "20"]),
    ("middlebox.repair", &["0", "1", "4"]),
    ("middlebox.blocks", &["1", "4", "64"]),
    ("middlebox.contexts", &["0", "1", "16"]),
    ("middlebox.header", &["1 B", "8 B", "40 B"]),
    ("middlebox.rate", &["256 kbit/s", "2 Mbit/s"]),
    ("middlebox.window", &["3 kB", "50 kB"]),
];

pub(super) struct Dice {
    stream: Stream,
    drawn: u64,
}

impl Dice {
    pub(super) fn new(stream: Stream) -> Self {
        Self { stream, drawn: 0 }
    }

    pub(super) fn below(&mut self, n: u64) -> u64 {
        self.drawn += 1;
        self.stream.below(self.drawn - 1, n)
    }

    pub(super) fn coin(&mut self) -> bool {
        self.below(2) == 0
    }

    pub(super) fn pick<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.below(choices.len() as u64) as usize]
    }

    pub(super) fn ms(&mut self, choices: &[u64]) -> Duration {
        Duration::from_millis(*self.pick(choices))
    }

    /// Returns a value of a type. `path` is the dotted name of its keys in [`CHOICES`].
    pub(super) fn value<T: Typed>(&mut self, path: &str) -> T {
        let value = self.shape(path, &T::shape(), None);
        T::read(&value).unwrap_or_else(|why| panic!("{path} = {value:?}: {why}"))
    }

    /// Returns a value of a key of the table at `path`.
    pub(super) fn key(&mut self, path: &str, key: &Key) -> Value {
        let default = match &key.default {
            Absent::Default(value) => Some(value),
            Absent::Open | Absent::Required => None,
        };
        self.shape(&format!("{path}.{}", key.name), &key.shape, default)
    }

    fn keys(&mut self, path: &str, keys: &[Key], mut table: Fields) -> Value {
        for key in keys {
            // An optional key is absent every other time.
            if key.default != Absent::Open || self.coin() {
                table.put(key.name, self.key(path, key));
            }
        }
        Value::Table(table)
    }

    fn shape(&mut self, path: &str, shape: &Shape, default: Option<&Value>) -> Value {
        if matches!(shape, Shape::Flag | Shape::Whole { .. } | Shape::Real { .. } | Shape::Quantity(_)) {
            // Two kinds may have a key of the same name and of different types.
            let fits = |value: &Value| matches!(shape, Shape::Quantity(_)) == matches!(value, Value::Text(_));
            let choices = CHOICES.iter().filter(|(key, _)| *key == path).flat_map(|(_, choices)| *choices);
            let choices: Vec<Value> = choices.map(|choice| written(choice)).filter(fits).collect();
            if !choices.is_empty() {
                return self.pick(&choices).clone();
            }
        }
        match shape {
            Shape::Flag => Value::Flag(self.coin()),
            Shape::Whole { min, max } => {
                let (max, usual) =
                    (max.unwrap_or(u64::MAX), if let Some(Value::Whole(n)) = default { *n } else { *min });
                Value::Whole(*self.pick(&[usual, *min, usual.saturating_mul(2).clamp(*min, max)]))
            }
            Shape::Real { min, max } => default.cloned().unwrap_or(Value::Real((min + max) / 2.0)),
            Shape::Word(_, words) => self.pick(words).0.into(),
            Shape::Kinds(_, kinds) => {
                // Excludes custom middleboxes, which need a registered class, and halves of a pair, which have no
                // effect alone.
                let kinds: Vec<_> = kinds.iter().filter(|kind| !["own", "compress"].contains(&kind.name)).collect();
                let kind = *self.pick(&kinds);
                self.keys(path, kind.keys.as_deref().unwrap_or_default(), Fields::of_kind(kind.name))
            }
            // A transport has the same keys at every place.
            Shape::Table(table) => self.keys(
                if table.name == "Config" { "tcp" } else { path },
                table.keys.as_deref().unwrap_or_default(),
                Fields::default(),
            ),
            Shape::List(of, least, _) => {
                let length = (*least).max(2) + self.below(2) as usize;
                Value::List((0..length).map(|_| self.shape(path, of, None)).collect())
            }
            Shape::Either(of) => {
                let shape = self.pick(of);
                self.shape(path, shape, None)
            }
            // Times are the only pairs that are drawn.
            Shape::Pair(_) => Value::List(vec!["0 s".into(), "40 ms".into()]),
            Shape::Text | Shape::Quantity(_) | Shape::Named(_) => {
                default.cloned().unwrap_or_else(|| panic!("{path} needs values in CHOICES"))
            }
        }
    }
}

/// Returns a choice as a value.
fn written(text: &str) -> Value {
    match (text.parse::<u64>(), text.parse::<f64>(), text.parse::<bool>()) {
        (Ok(n), ..) => Value::Whole(n),
        (_, Ok(x), _) => Value::Real(x),
        (.., Ok(is)) => Value::Flag(is),
        _ => text.into(),
    }
}
