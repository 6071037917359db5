//! Media of the links between places and satellites: checks their keys, and writes one medium for each satellite.

use super::say;
use super::several::Constellation;
use crate::files::Files;
use crate::keys::{Direction, Radio};
use crate::report::{path, Findings, Found, Report};
use crate::tree::{quoted, Place, Tree, Value};
use crate::{check, inherit, media, schema};
use bentpipe_model::spec::{MediumKind, Signal};
use bentpipe_orbit::sky::scene::Sky;
use bentpipe_units::settings::{Level, Typed};
use std::collections::{BTreeMap, BTreeSet};

/// Satellite of a medium, in its key `controller`.
const SATELLITE: &str = "{satellite}";
/// Any signal for the checks of keys, in dB: that of the radio is not known yet.
const ANY_SIGNAL: f64 = 90.0;

/// Media of the links between places and satellites, as in the file.
#[derive(Default)]
pub(super) struct Media {
    ways: BTreeMap<&'static str, UserMedium>,
    /// Whether the sky has a single satellite. Its media keep their names.
    is_single: bool,
}

/// Medium of one direction.
struct UserMedium {
    name: String,
    kind: MediumKind,
    written: Tree,
}

impl Media {
    /// Reads the media of `[sky.user]`. Returns `None` if they or the keys beside them are invalid.
    pub(super) fn read(
        (of, sky): (&Constellation, &Sky),
        nodes: &BTreeSet<String>,
        tree: &Tree,
        files: &dyn Files,
        findings: &mut Findings,
    ) -> Option<Self> {
        let (keys, raw) = (&of.keys, &of.raw);
        let before = findings.found.len();
        refuse_elsewhere(raw, findings);
        let is_single = of.name.is_empty() && sky.satellites() == 1;
        let mut read = Self { is_single, ..Self::default() };
        let Some(mut whole) = whole(raw, tree).filter(|_| findings.found.len() == before) else {
            return (findings.found.len() == before).then_some(read);
        };
        let mut invalid = Findings::default();
        check::walk(schema::media(), &mut whole.at(["medium"]).clone(), "medium", &mut invalid);
        if !invalid.found.is_empty() {
            // They are reported later.
            return None;
        }
        check::complete(schema::shape(), &mut whole);
        inherit::links(&mut whole);
        let kinds = <BTreeMap<String, MediumKind>>::read(&whole.at(["medium"]).to_value()).ok()?;
        media::check(&kinds, &mut Report { tree: &whole, findings, files, traced: 0 });
        for (side, radio, given) in [("forward", "up", &keys.user.up), ("reverse", "down", &keys.user.down)] {
            let mut direction = Direction::read(&whole.at(["link", "user", side]).to_value()).ok()?;
            let name = direction.keys.medium.clone();
            let kind = name.as_ref().and_then(|name| kinds.get(name));
            if let (Some(kind), Some(given)) = (kind, given) {
                refuse_radio(kind, (radio, given), &direction, raw, findings);
                if kind.symbol_rate().is_some() {
                    direction.keys.es_n0 = Some(Signal::Constant(Level(ANY_SIGNAL)));
                }
            } else if kind.is_some_and(|kind| kind.symbol_rate().is_some()) && direction.keys.es_n0.is_none() {
                let expected = format!("expected sky.user.{radio}, or es_n0 beside it, like \"9 dB\"");
                say(raw, findings, &["sky", "user", side, "medium"], "needs the signal of the links", &expected);
                continue;
            }
            let (count, notes) = (findings.found.len(), findings.notes.len());
            let mut report = Report { tree: &whole, findings, files, traced: 0 };
            media::terminal(&kinds, &direction, |key| path(["link", "user", side, key]), &mut report);
            // Notes follow for each link, with its signal.
            report.findings.notes.truncate(notes);
            for problem in report.findings.found[count..].iter_mut().map(|found| &mut found.problem) {
                problem.path = problem.path.replacen("link.user", "sky.user", 1);
                problem.message = problem.message.replacen("link.user", "sky.user", 1);
            }
            if let (Some(name), Some(kind)) = (name, kind) {
                check_controller(&name, kind, nodes, &mut report);
                let written = tree.at(["medium", &name]).clone();
                read.ways.insert(side, UserMedium { name, kind: kind.clone(), written });
            }
        }
        let [up, down] = ["forward", "reverse"].map(|side| read.ways.get(side).map(|way| &way.name));
        if let Some(name) = up.filter(|_| up == down) {
            let message = format!("has medium {} in both directions", quoted(name));
            say(raw, findings, &["sky", "user"], &message, "expected one medium per direction");
        }
        if keys.shared && !read.ways.is_empty() {
            let expected = "expected a medium in place of shared: places share its capacity";
            say(raw, findings, &["sky", "shared"], "excludes medium", expected);
        }
        (findings.found.len() == before).then_some(read)
    }

    /// Returns the medium of the links to satellites in a direction, `forward` up or `reverse` down.
    pub(super) fn kind(&self, side: &str) -> Option<&MediumKind> {
        self.ways.get(side).map(|way| &way.kind)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.ways.is_empty()
    }

    /// Puts a link between a place and a satellite into the media of the satellite.
    pub(super) fn enter(&self, satellite: &str, link: &mut Tree) {
        let Some(table) = link.table_mut() else { return };
        for (side, way) in &self.ways {
            if let Some(own) = table.entry((*side).into()).or_insert_with(Tree::empty).table_mut() {
                let name = Value::Text(self.name(&way.name, satellite));
                own.insert("medium".into(), Tree::new(name, Place::Default(Some("sky".into()))));
            }
        }
    }

    /// Writes the media of these satellites in place of those of the file.
    pub(super) fn write(&self, satellites: &BTreeSet<&str>, tree: &mut Tree) {
        let media = tree.table_mut().and_then(|table| table.get_mut("medium")).and_then(Tree::table_mut);
        let Some(media) = media else { return };
        for way in self.ways.values() {
            media.remove(&way.name);
        }
        for (way, satellite) in self.ways.values().flat_map(|way| satellites.iter().map(move |one| (way, *one))) {
            let mut written = way.written.clone();
            let mut replace = |key: &str, new: &dyn Fn(&str) -> String| {
                let value = written.table_mut().and_then(|table| table.get_mut(key)).map(|tree| &mut tree.value);
                if let Some(Value::Text(text)) = value {
                    *text = new(text);
                }
            };
            replace("controller", &|node| if node == SATELLITE { satellite } else { node }.to_owned());
            let is_own = |name: &str| self.ways.values().any(|way| way.name == name);
            replace("plan_over", &|name| if is_own(name) { self.name(name, satellite) } else { name.to_owned() });
            media.entry(self.name(&way.name, satellite)).or_insert(written);
        }
    }

    /// Returns the name of the medium of a satellite.
    fn name(&self, name: &str, satellite: &str) -> String {
        if self.is_single {
            name.to_owned()
        } else {
            format!("{name} {satellite}")
        }
    }
}

/// Names media as the file does in problems with media of satellites. `written` is the file, `made` has the media.
pub(crate) fn name_media_as_written(found: &mut [Found], written: &Tree, made: &Tree) {
    let names = |tree: &Tree| -> Vec<String> {
        let media = tree.get("medium").and_then(Tree::table);
        media.into_iter().flat_map(BTreeMap::keys).cloned().collect()
    };
    let (known, all) = (names(written), names(made));
    for own in all.iter().filter(|own| !known.contains(own)) {
        let Some(name) = known.iter().find(|name| own.starts_with(&format!("{name} "))) else { continue };
        for problem in found.iter_mut().map(|found| &mut found.problem) {
            for text in [&mut problem.path, &mut problem.message] {
                *text = text.replace(&format!("medium.{own}"), &format!("medium.{name}"));
                *text = text.replace(&quoted(own), &quoted(name));
            }
        }
    }
}

/// Returns the media of the file, and a link with the keys of `[sky.user]`, if these concern a medium.
fn whole(raw: &Tree, tree: &Tree) -> Option<Tree> {
    let mut user = raw.get("user")?.clone();
    let concerns = |keys: &Tree| ["medium", "access", "es_n0"].into_iter().any(|key| keys.get(key).is_some());
    let sides = ["forward", "reverse"].into_iter().filter_map(|side| user.get(side));
    if !concerns(&user) && !sides.into_iter().any(concerns) {
        return None;
    }
    let keys = user.table_mut()?;
    keys.retain(|key, _| !matches!(key.as_str(), "up" | "down"));
    let link = Tree::new(Value::Table([("user".to_owned(), user)].into()), raw.place.clone());
    let media = tree.get("medium").cloned().unwrap_or_else(Tree::empty);
    let both = [("medium".to_owned(), media), ("link".to_owned(), link)];
    Some(Tree::new(Value::Table(both.into()), Place::Default(None)))
}

/// Rejects media of links other than those between places and satellites.
fn refuse_elsewhere(raw: &Tree, findings: &mut Findings) {
    for hop in ["feeder", "inter_satellite", "fibre"] {
        for path in
            [&["sky", hop, "medium"][..], &["sky", hop, "forward", "medium"], &["sky", hop, "reverse", "medium"]]
        {
            if path[1..].iter().try_fold(raw, |tree, key| tree.get(key)).is_some() {
                let expected = "expected medium in sky.user: places share it";
                say(raw, findings, path, "is not between places and satellites", expected);
            }
        }
    }
}

/// Rejects a controller that is not a node. Each medium that is written would report it again.
fn check_controller(name: &str, kind: &MediumKind, nodes: &BTreeSet<String>, report: &mut Report<'_>) {
    let Some(written) = kind.controller().filter(|node| *node != SATELLITE) else { return };
    if nodes.iter().any(|node| node == written || node.contains("{n}")) {
        return;
    }
    let known = nodes.iter().map(String::as_str).chain([SATELLITE]);
    let hint = report.findings.guess(written, known);
    let expected = "expected a gateway, or \"{satellite}\" for the satellite of the medium";
    report.suggest(&path(["medium", name, "controller"]), "is not a node", expected, hint);
}

/// Rejects a radio that contradicts the medium of its link.
fn refuse_radio(
    kind: &MediumKind,
    (name, radio): (&str, &Radio),
    direction: &Direction,
    raw: &Tree,
    findings: &mut Findings,
) {
    let mut refuse = |path: &[&str], message: &str, expected: &str| {
        let path: Vec<&str> = ["sky", "user", name].iter().chain(path).copied().collect();
        say(raw, findings, &path, message, expected);
    };
    if kind.symbol_rate().is_none() {
        refuse(&[], "has no effect in a cell, which has one rate", "expected medium without a radio");
    } else if direction.keys.es_n0.is_some() {
        refuse(&[], "excludes es_n0", "expected one of them: the radio provides the signal");
    }
    for (is_there, key) in [(radio.symbol_rate.is_some(), "symbol_rate"), (radio.modem.is_some(), "modem")] {
        if is_there {
            let message = format!("excludes medium: the medium has its own {}", key.replace('_', " "));
            refuse(&[key], &message, &format!("expected medium without {key} of the radio"));
        }
    }
}
