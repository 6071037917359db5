//! Checks of the keys of queues and token buckets.

use crate::report::{below, Report};
use bentpipe_model::spec::{DualPi2, Queue, QueueLimit, TokenBucket};
use bentpipe_units::{Duration, Rate};

/// Least quantum in bytes. A smaller one would need many rounds per packet.
const QUANTUM_MIN: u32 = 100;
/// Shortest round trip of a controller. Shorter ones would need an update for each packet.
const RTT_MIN: Duration = Duration::from_millis(1);

/// Checks a queue and reports invalid values.
pub(crate) fn check_queue(queue: &Queue, report: &mut Report<'_>, path: &[String]) {
    let mut check = Checker { report, path };
    match queue {
        // A packet that finds the link idle needs no room.
        Queue::DropTail { .. } => {}
        Queue::Red(red) => {
            if red.max_th <= red.min_th {
                let key = check.written(["max_th", "min_th"]);
                check.wrong(key, "contradicts the other threshold", "expected min_th less than max_th");
            }
            for (key, share) in [("max_p", red.max_p), ("weight", red.weight)] {
                if share == 0.0 {
                    check.wrong(key, "switches the discipline off", "expected more than 0");
                }
            }
            check.room("limit", red.limit);
            check.bytes("mean_packet", red.mean_packet, 1);
        }
        Queue::Codel(codel) => {
            check.control(codel.target, codel.interval);
            check.room("limit", codel.limit);
        }
        Queue::FqCodel(fq) => {
            check.control(fq.target, fq.interval);
            check.bytes("quantum", fq.quantum, QUANTUM_MIN);
            check.room("limit", fq.limit);
        }
        Queue::Pie(pie) => {
            check.room("limit", pie.limit);
            check.span("target", pie.target);
            check.span("update", pie.update);
            check.bytes("mean_packet", pie.mean_packet, 1);
        }
        Queue::DualPi2(dual) => check.dualpi2(dual),
        Queue::Priority { limits, .. } => check.classes(limits.iter().copied()),
        Queue::Wrr { classes } => check.classes(classes.iter().map(|share| share.limit)),
        Queue::Drr { quantum, classes } => {
            check.bytes("quantum", *quantum, QUANTUM_MIN);
            check.classes(classes.iter().map(|share| share.limit));
        }
    }
}

/// Checks a token bucket and reports a rate that never fills it.
pub(crate) fn check_bucket(bucket: Option<TokenBucket>, report: &mut Report<'_>, path: &[String]) {
    if bucket.is_some_and(|bucket| bucket.rate == Rate::from_bps(0)) {
        report.value(&below(path, "rate"), "never fills the bucket", "expected more than 0 bit/s");
    }
}

struct Checker<'a, 'b> {
    report: &'a mut Report<'b>,
    path: &'a [String],
}

impl Checker<'_, '_> {
    /// Checks the limit of a queue that every packet enters, even if the link is idle.
    fn room(&mut self, key: &str, limit: QueueLimit) {
        if matches!(limit, QueueLimit::Packets(0) | QueueLimit::Bytes(0)) {
            self.wrong(key, "is too small", "expected room for at least one packet");
        }
    }

    fn classes(&mut self, limits: impl Iterator<Item = QueueLimit>) {
        for (index, limit) in limits.enumerate() {
            self.room(&format!("class.{index}.limit"), limit);
        }
    }

    /// Checks target and interval of CoDel.
    fn control(&mut self, target: Duration, interval: Duration) {
        self.span("target", target);
        self.span("interval", interval);
        if target >= interval && interval > Duration::ZERO {
            let key = self.written(["target", "interval"]);
            let expected = "expected target less than interval, a twentieth of it or so (RFC 8289 §4.4)";
            self.wrong(key, "leaves no time between target and interval", expected);
        }
    }

    /// Checks the controller of DualPI2.
    fn dualpi2(&mut self, dual: &DualPi2) {
        self.room("limit", dual.limit);
        let spans = [("target", dual.target), ("update", dual.update), ("step", dual.step)];
        spans.into_iter().for_each(|(key, span)| self.span(key, span));
        let derived = [("max_rtt", dual.max_rtt), ("typical_rtt", dual.typical_rtt)];
        for (key, span) in derived {
            match span {
                Some(span) if span < RTT_MIN => self.wrong(key, "is too short", "expected at least 1 ms"),
                Some(_) if key == "typical_rtt" && dual.max_rtt.is_some() => {
                    let expected = "expected one of the two: the typical round trip is a sixth of the longest one";
                    self.wrong(key, "repeats max_rtt", expected);
                }
                Some(_) => {
                    let is_written = |of: &&&str| !self.report.is_default(&below(self.path, of));
                    let written = ["target", "update", "alpha", "beta"].iter().find(is_written).copied();
                    if let Some(written) = written {
                        let message = format!("contradicts {key}, which determines it");
                        self.wrong(written, &message, &format!("expected {key} or the values of the controller"));
                    }
                }
                None => {}
            }
        }
    }

    fn span(&mut self, key: &str, span: Duration) {
        if span == Duration::ZERO {
            self.wrong(key, "is too small", "expected more than 0 s");
        }
    }

    fn bytes(&mut self, key: &str, bytes: u32, least: u32) {
        // Larger values were cut to the largest number.
        if !(least..u32::MAX).contains(&bytes) {
            self.wrong(key, "is out of range", &format!("expected {least} B to {} B", u32::MAX - 1));
        }
    }

    /// Returns the first of these keys whose value is not the default.
    fn written<'k>(&self, keys: [&'k str; 2]) -> &'k str {
        let is_written = |key: &&&str| !self.report.is_default(&below(self.path, key));
        keys.iter().find(is_written).copied().unwrap_or(keys[0])
    }

    fn wrong(&mut self, key: &str, message: &str, expected: &str) {
        let path = key.split('.').fold(self.path.to_vec(), |path, key| below(&path, key));
        self.report.value(&path, message, expected);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::from_toml;
    use bentpipe_model::spec::{Codel, FqCodel, Scenario, Share};

    /// 10 Mbit/s and a round trip of 500 ms: a bdp is 625 kB.
    fn with(queue: &str, flow: &str) -> Result<std::sync::Arc<Scenario>, String> {
        let text = format!(
            "duration = \"10 s\"\n[link.up]\nfrom = \"a\"\nto = \"b\"\nrate = \"10 Mbit/s\"\ndelay = \"250 ms\"\n\
             queue = {queue}\n[flow.f]\nfrom = \"a\"\nto = \"b\"\n{flow}"
        );
        from_toml(&text, "geo.toml", &[]).map(|resolved| resolved.scenario).map_err(|problems| problems.to_string())
    }

    fn queue_of(queue: &str) -> Queue {
        with(queue, "").unwrap_or_else(|problems| panic!("{problems}")).links[0].queue.clone()
    }

    #[test]
    fn defaults_are_those_of_the_rfcs() {
        let (ms, limit) = (Duration::from_millis, QueueLimit::Bytes(625_000));
        assert_eq!(queue_of("\"drop-tail\""), Queue::DropTail { limit });
        let codel = Codel { limit, target: ms(5), interval: ms(100), ecn: false };
        assert_eq!(queue_of("\"codel\""), Queue::Codel(codel));
        let limit_of_all = QueueLimit::Packets(10_240);
        assert_eq!(
            queue_of("\"fq-codel\""),
            Queue::FqCodel(FqCodel {
                limit: limit_of_all,
                queues: 1024,
                quantum: 1514,
                target: ms(5),
                interval: ms(100),
                ecn: true
            })
        );
        let Queue::Pie(pie) = queue_of("\"pie\"") else { panic!("another discipline") };
        assert_eq!((pie.limit, pie.target, pie.update, pie.burst, pie.ecn), (limit, ms(15), ms(15), ms(150), false));
        let Queue::Red(red) = queue_of("\"red\"") else { panic!("another discipline") };
        assert_eq!((red.min_th, red.max_th, red.max_p, red.weight, red.gentle), (5, 15, 0.1, 0.002, true));
    }

    #[test]
    fn classes_have_limits_of_their_own() {
        let classes = "class = [{ limit = \"10 packets\" }, { limit = \"0.5 bdp\" }, {}]";
        let limits = [QueueLimit::Packets(10), QueueLimit::Bytes(312_500), QueueLimit::Bytes(625_000)];
        for push_out in [false, true] {
            let queue = queue_of(&format!("{{ kind = \"priority\", push_out = {push_out}, {classes} }}"));
            assert_eq!(queue, Queue::Priority { limits: limits.to_vec(), push_out });
        }
        let shares = limits.map(|limit| Share { weight: 1, limit }).to_vec();
        assert_eq!(queue_of(&format!("{{ kind = \"wrr\", {classes} }}")), Queue::Wrr { classes: shares.clone() });
        let queue = queue_of(&format!("{{ kind = \"drr\", {classes} }}"));
        assert_eq!(queue, Queue::Drr { quantum: 1500, classes: shares });
    }

    #[test]
    fn nonsense_is_refused_with_the_reason() {
        for (queue, said) in [
            ("{ kind = \"red\", min_th = 15 }", "link.up.queue.min_th = 15 contradicts the other threshold"),
            ("{ kind = \"red\", max_p = 0 }", "max_p = 0 switches the discipline off"),
            ("{ kind = \"red\", weight = 0 }", "weight = 0 switches the discipline off"),
            ("{ kind = \"red\", min_th = 0 }", "min_th = 0 is out of range"),
            ("{ kind = \"red\", mean_packet = \"0 B\" }", "expected 1 B to"),
            ("{ kind = \"codel\", interval = \"0 s\" }", "interval = \"0 s\" is too small"),
            ("{ kind = \"codel\", target = \"0 s\" }", "target = \"0 s\" is too small"),
            ("{ kind = \"codel\", target = \"100 ms\" }", "target = \"100 ms\" leaves no time"),
            ("{ kind = \"codel\", interval = \"5 ms\" }", "interval = \"5 ms\" leaves no time"),
            ("{ kind = \"codel\", limit = \"0 packets\" }", "limit = \"0 packets\" is too small"),
            ("{ kind = \"codel\", limit = \"1499 B\" }", "has no room for packets of"),
            ("{ kind = \"fq-codel\", queues = 0 }", "queues = 0 is out of range"),
            ("{ kind = \"fq-codel\", quantum = \"99 B\" }", "quantum = \"99 B\" is out of range"),
            ("{ kind = \"pie\", update = \"0 s\" }", "update = \"0 s\" is too small"),
            ("{ kind = \"pie\", update = \"1 ns\" }", "changes about"),
            ("{ kind = \"dualpi2\", limit = \"0 packets\" }", "limit = \"0 packets\" is too small"),
            ("{ kind = \"dualpi2\", update = \"0 s\" }", "update = \"0 s\" is too small"),
            ("{ kind = \"dualpi2\", coupling = 9 }", "coupling = 9 is out of range"),
            ("{ kind = \"dualpi2\", max_rtt = \"0 s\" }", "max_rtt = \"0 s\" is too short"),
            ("{ kind = \"dualpi2\", max_rtt = \"600 ms\", beta = 1 }", "beta = 1 contradicts max_rtt"),
            ("{ kind = \"dualpi2\", max_rtt = \"600 ms\", typical_rtt = \"100 ms\" }", "repeats max_rtt"),
            ("{ kind = \"priority\", class = [] }", "link.up.queue.class has 0 entries"),
            ("\"priority\"", "needs more than its name"),
            ("{ kind = \"priority\", class = [{ limit = \"0 B\" }] }", "limit = \"0 B\" is too small"),
            ("{ kind = \"priority\", class = [{ weight = 1 }] }", "weight is not a known key"),
            ("{ kind = \"wrr\", class = [{ weight = 0 }] }", "weight = 0 is out of range"),
            ("{ kind = \"drr\", quantum = \"1 B\", class = [{}] }", "quantum = \"1 B\" is out of range"),
        ] {
            let problems = with(queue, "").unwrap_err();
            assert!(problems.contains(said) && problems.contains("geo.toml:"), "{queue}\n{problems}");
        }
    }

    /// A full packet of the host has 1500 B.
    #[test]
    fn a_bucket_passes_the_largest_packet_of_its_flows() {
        for key in ["policer", "shaper"] {
            let bucket = |keys: &str| with_bucket(key, keys).err();
            assert_eq!(bucket("rate = \"1 Mbit/s\", burst = \"1500 B\""), None);
            for (keys, said) in [
                ("rate = \"1 Mbit/s\", burst = \"1499 B\"", "burst = \"1499 B\" is less than a packet of 1500 B"),
                ("rate = \"0 bit/s\", burst = \"9 kB\"", "rate = \"0 bit/s\" never fills the bucket"),
                ("rate = \"1 Mbit/s\"", "burst is missing"),
            ] {
                let problems = bucket(keys).unwrap();
                assert!(problems.contains(said) && problems.contains("geo.toml:"), "{key} {keys}\n{problems}");
            }
        }
    }

    fn with_bucket(key: &str, keys: &str) -> Result<std::sync::Arc<Scenario>, String> {
        with(&format!("\"1 bdp\"\n{key} = {{ {keys} }}"), "")
    }

    /// A shaper is the server of the queue: 1 Mbit/s and a round trip of 500 ms are 62.5 kB.
    #[test]
    fn a_bdp_is_that_of_the_shaper_unless_it_has_a_quota() {
        for (more, bytes) in [("", 62_500), (", after = \"1 GB\"", 625_000)] {
            let made = with_bucket("shaper", &format!("rate = \"1 Mbit/s\", burst = \"9 kB\"{more}")).unwrap();
            assert_eq!(made.links[0].queue, Queue::DropTail { limit: QueueLimit::Bytes(bytes) });
        }
    }

    #[test]
    fn a_flow_crosses_only_queues_that_have_its_class() {
        let two = "{ kind = \"priority\", class = [{}, {}] }";
        assert_eq!(with(two, "class = 1").unwrap().lanes[0].class, 1);
        let problems = with(two, "class = 2").unwrap_err();
        let said = "flow.f.class = 2 is not a class of the queue of \"up.forward\", on its path";
        assert!(problems.contains(said) && problems.contains("expected at most 1"), "{problems}");
        assert_eq!(with("\"codel\"", "class = 255").unwrap().lanes[0].class, 255);
        assert!(with("\"codel\"", "class = 256").unwrap_err().contains("out of range"));
    }
}
