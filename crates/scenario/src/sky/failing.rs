//! Failures under the sky, by name: satellites, gateways, terminals, links.

use super::ground::Ground;
use super::names::{names, prefix};
use super::say;
use crate::keys::{Sky as Keys, SkyFailure};
use crate::report::Findings;
use crate::tree::{quoted, Tree};
use bentpipe_orbit::sky::links::Topology;
use bentpipe_orbit::sky::scene::{Failed, Failure, Sky};
use bentpipe_units::Time;

/// Largest number of samples of a failed link, to find out whether it ever exists.
const LOOKS_MAX: f64 = 10_000.0;

/// Returns the failures of the keys in a run of `run` seconds, or `None` if a key is invalid.
pub(super) fn read(
    (keys, run): (&Keys, f64),
    raw: &Tree,
    ground: &Ground,
    sky: &Sky,
    findings: &mut Findings,
) -> Option<Vec<Failure>> {
    let before = findings.found.len();
    if keys.failure.is_empty() {
        return Some(Vec::new());
    }
    let mut reader = Reader { keys, run, raw, ground, sky, names: names(keys, sky), findings };
    let found = keys.failure.iter().enumerate().filter_map(|(number, failure)| reader.failure(number, failure));
    let found: Vec<Failure> = found.collect();
    (reader.findings.found.len() == before).then_some(found)
}

/// Returns the node with this name: the name in the scenario, or the full name in its constellation.
pub(super) fn number(names: &[String], keys: &Keys, name: &str) -> Option<u32> {
    let prefix = prefix(keys);
    let short = name.strip_prefix(&prefix).filter(|_| !prefix.is_empty());
    let found = |name: &str| names.iter().position(|known| known == name);
    found(name).or_else(|| found(short?)).map(|node| node as u32)
}

struct Reader<'a> {
    keys: &'a Keys,
    /// Duration of the run in s.
    run: f64,
    raw: &'a Tree,
    ground: &'a Ground,
    sky: &'a Sky,
    names: Vec<String>,
    findings: &'a mut Findings,
}

impl Reader<'_> {
    fn failure(&mut self, number: usize, failure: &SkyFailure) -> Option<Failure> {
        let what = match (&failure.satellite, &failure.gateway, &failure.terminal, failure.link.as_slice()) {
            (Some(name), None, None, []) => Failed::Node(self.satellite(number, name)?),
            (None, Some(name), None, []) => Failed::Node(self.gateway(number, name)?),
            (None, None, Some(name), []) => Failed::Node(self.terminal(number, name)?),
            (None, None, None, [a, b]) => {
                let (a, b) = (self.end(number, 0, a), self.end(number, 1, b));
                self.link(number, a?, b?)?
            }
            (None, None, None, [_, ..]) => {
                return self.wrong(number, "link", "does not name two nodes", "expected the two that it joins");
            }
            _ => {
                let message = "has no node or link";
                return self.wrong(number, "", message, "expected one of: satellite, gateway, terminal, link");
            }
        };
        let seconds = |time: Time| (time - Time::ZERO).as_secs_f64();
        let (from_s, until_s) = (seconds(failure.from), failure.to.map_or(f64::INFINITY, seconds));
        if from_s >= until_s {
            return self.wrong(number, "to", "is not after from", "expected an instant at which it works again");
        }
        if let Failed::Link(a, b) = what {
            if !self.is_there(a, b, from_s, until_s) {
                let message = "joins two that are not linked at any time of the failure";
                let expected = "expected a link that is there then: bentpipe sky map --at shows them";
                return self.wrong(number, "link", message, expected);
            }
        }
        Some(Failure { what, from_s, until_s })
    }

    /// Whether a link exists at any time of a failure. Ignores failures that begin after the run.
    fn is_there(&self, a: u32, b: u32, from_s: f64, until_s: f64) -> bool {
        let satellites = self.sky.satellites() as u32;
        let (from, until, step) = (from_s, until_s.min(self.run), self.keys.step.as_secs_f64());
        let looks = (until - from) / step;
        if a.min(b) >= satellites || from > self.run || looks.is_nan() || looks > LOOKS_MAX {
            return true;
        }
        let times = (0..=looks.ceil() as u64).map(|look| (from + look as f64 * step).min(until));
        self.sky.is_ever_linked(a, b, times).unwrap_or(true)
    }

    fn link(&mut self, number: usize, a: u32, b: u32) -> Option<Failed> {
        let satellites = self.sky.satellites() as u32;
        let is_relay = |node: u32| self.ground.places[(node - satellites) as usize].relay;
        let message = match (a < satellites, b < satellites) {
            _ if a == b => "joins a node with itself",
            (true, true) if self.sky.links.topology == Topology::None => "joins satellites that have no links",
            (true, true) if !self.sky.may_link(a, b) => "joins satellites that are never linked",
            (false, false) if !(is_relay(a) && is_relay(b)) => "joins places that no fibre joins",
            _ => return Some(Failed::Link(a, b)),
        };
        self.wrong(
            number,
            "link",
            message,
            "expected two neighbours among satellites, a place and a satellite, or two gateways",
        )
    }

    fn satellite(&mut self, number: usize, name: &str) -> Option<u32> {
        match self.number(name) {
            Some(node) if (node as usize) < self.sky.satellites() => Some(node),
            _ => self.unknown(number, &["satellite"], name, "is not a satellite", 0..self.sky.satellites()),
        }
    }

    fn gateway(&mut self, number: usize, name: &str) -> Option<u32> {
        match self.number(name) {
            Some(node) if self.keys.gateway.iter().any(|gateway| gateway == name) => Some(node),
            _ => {
                let message = format!("= {} is not a gateway", quoted(name));
                self.wrong(number, "gateway", &message, "expected one of sky.gateway")
            }
        }
    }

    fn terminal(&mut self, number: usize, name: &str) -> Option<u32> {
        let (satellites, all) = (self.sky.satellites(), self.names.len());
        match self.number(name) {
            Some(node) if (node as usize) >= satellites => {
                if !self.ground.places[node as usize - satellites].relay {
                    return Some(node);
                }
                let message = format!("= {} is a gateway", quoted(name));
                let expected = format!("expected gateway = {}", quoted(name));
                self.wrong(number, "terminal", &message, &expected)
            }
            _ => self.unknown(number, &["terminal"], name, "is not a place of a flow", satellites..all),
        }
    }

    fn end(&mut self, number: usize, end: usize, name: &str) -> Option<u32> {
        let found = self.number(name);
        let message = "is neither a satellite nor a place of a flow or gateway";
        let end = end.to_string();
        found.or_else(|| self.unknown(number, &["link", &end], name, message, 0..self.names.len()))
    }

    fn number(&self, name: &str) -> Option<u32> {
        number(&self.names, self.keys, name)
    }

    fn unknown(
        &mut self,
        number: usize,
        key: &[&str],
        name: &str,
        message: &str,
        known: std::ops::Range<usize>,
    ) -> Option<u32> {
        let index = number.to_string();
        let shown = format!("sky.failure.{number}.{}", key.join("."));
        let place = &self.raw.at(["failure", &index].into_iter().chain(key.iter().copied())).place;
        let example = &self.names[known.start];
        let expected = format!("expected a name like {}; bentpipe sky map shows them with --json", quoted(example));
        let guess = self.findings.guess(name, self.names[known].iter().map(String::as_str));
        self.findings.add(place, &shown, format!("{shown} = {} {message}", quoted(name)), expected, guess);
        None
    }

    fn wrong<T>(&mut self, number: usize, key: &str, message: &str, expected: &str) -> Option<T> {
        let index = number.to_string();
        let path = ["sky", "failure", &index, key];
        let path = if key.is_empty() { &path[..3] } else { &path };
        say(self.raw, self.findings, path, message, expected);
        None
    }
}
