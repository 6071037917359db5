//! Declares the defaults of each host at the keys of transports. The schema, the reference, the Python types and the form
//! of the studio read them there.

use super::inherit::NOT_OF_PROXIES;
use super::keys::{settle_open, Tcp};
use super::like::{asked, fill_one, rows, Row, RAISED, SMSS};
use super::shorten::shortened;
use super::tree::{Place, Tree, Value};
use bentpipe_model::spec::Like;
use bentpipe_units::settings::{Absent, Fields, HostDefault, HostDefaults, Key, Settings, Shape, Table, Typed};
use bentpipe_units::Word;

/// Adds the defaults of each host to the keys of all transports in a shape.
pub(super) fn declare(shape: &mut Shape) {
    let hosts: Vec<Empty> = Like::ALL.iter().copied().map(Empty::of).collect();
    each(shape, &mut |table| {
        let is_proxy = table.name == Proxy::NAME;
        if !is_proxy && table.name != Tcp::NAME {
            return;
        }
        let keys = table.keys.iter_mut().flatten();
        for key in keys.filter(|key| !is_proxy || !NOT_OF_PROXIES.contains(&key.name)) {
            let path = key.name;
            declare_at(key, path, None, &hosts);
        }
    });
}

/// Transport of a proxy.
type Proxy = bentpipe_tcp::Config;

/// Transport of a file that names a host and sets no other key.
struct Empty {
    like: Like,
    /// Values of the host.
    filled: Tree,
    /// Values of the keys that other keys determine.
    open: Fields,
}

impl Empty {
    fn of(like: Like) -> Self {
        let mut filled = Tree::empty();
        if let Some(table) = filled.table_mut() {
            table.insert("like".into(), Tree::new(Value::Text(like.name().into()), Place::Nowhere));
        }
        fill_one(&mut filled);
        let tcp = <Tcp as Typed>::read(&filled.to_value());
        let mut config = tcp.unwrap_or_else(|why| panic!("{}: {why}", like.name())).config;
        settle_open(&mut config, |key| filled.get(key).is_some());
        let mut open = Fields::default();
        Settings::write(&config, &mut open);
        Self { like, filled, open }
    }

    /// Returns the defaults of this host for a key at a path; `cc` is the congestion control that has the key.
    fn defaults(&self, key: &Key, path: &str, cc: Option<&str>) -> HostDefaults {
        let mut all: Vec<HostDefault> = Vec::new();
        for (row, when) in self.rows(path, cc) {
            if all.iter().any(|earlier| earlier.when == when) {
                continue;
            }
            let value = shortened(&key.shape, &Tree::of_toml(row.value, &Place::Nowhere).to_value());
            let origin = format!("{}: {}", self.like.name(), row.source);
            all.push(HostDefault { when, value: Absent::Default(value), origin });
            if all.last().is_some_and(|last| last.when.is_empty()) {
                break;
            }
        }
        if all.last().is_none_or(|last| !last.when.is_empty()) {
            let origin = asked(key.name).filter(|_| key.default == Absent::Open).unwrap_or(key.origin);
            all.push(HostDefault { when: String::new(), value: key.default.clone(), origin: origin.into() });
        }
        let found = path.split('.').try_fold(&self.filled, |tree, key| tree.get(key)).filter(|_| cc.is_none());
        let is_found = |one: &HostDefault| match found.map(|found| &found.place) {
            Some(Place::Default(Some(origin))) => **origin == *one.origin,
            _ => one.when.is_empty(),
        };
        let mut of_empty = all.remove(all.iter().position(is_found).unwrap_or(all.len() - 1));
        if let (Absent::Open, Some(value)) = (&of_empty.value, self.open.get(path)) {
            of_empty.value = Absent::Default(shortened(&key.shape, value));
        }
        HostDefaults { host: self.like.name(), is_usual: self.like == Like::TODAYS, of_empty, others: all }
    }

    /// Returns the rows for a key, by descending precedence, each with its condition.
    fn rows(&self, path: &str, cc: Option<&str>) -> Vec<(&'static Row, String)> {
        let raised = RAISED.iter().map(|row| (row, Some("`buffers = \"raised\"`".to_owned())));
        let usual = rows(self.like).into_iter().flatten().chain([&SMSS]).map(|row| (row, None));
        let all = raised.chain(usual).filter(|(row, _)| row.key == path);
        let all = all.filter(|(row, _)| cc.is_none_or(|cc| row.only.is_empty() || row.only.contains(&cc)));
        let of_cc = |row: &Row| {
            let names: Vec<String> = row.only.iter().map(|name| format!("`cc = \"{name}\"`")).collect();
            (cc.is_none() && !names.is_empty()).then(|| names.join(" or "))
        };
        let when = |row: &Row| of_cc(row).or_else(|| row.needs().map(|needs| needs.words.to_owned()));
        all.map(|(row, raised)| (row, raised.or_else(|| when(row)).unwrap_or_default())).collect()
    }
}

/// Adds the defaults of hosts to a key, and to those of its value.
fn declare_at(key: &mut Key, path: &str, cc: Option<&str>, hosts: &[Empty]) {
    if hosts.iter().any(|host| !host.rows(path, cc).is_empty()) {
        key.hosts = hosts.iter().map(|host| host.defaults(key, path, cc)).collect();
    }
    inside(&mut key.shape, path, hosts);
}

fn inside(shape: &mut Shape, path: &str, hosts: &[Empty]) {
    let keys = |table: &mut Table, cc: Option<&str>| {
        for key in table.keys.iter_mut().flatten() {
            let path = format!("{path}.{}", key.name);
            declare_at(key, &path, cc, hosts);
        }
    };
    match shape {
        Shape::Table(table) => keys(table, None),
        Shape::Kinds(_, kinds) => {
            kinds.iter_mut().for_each(|kind| keys(kind, Some(kind.name).filter(|_| path == "cc")))
        }
        Shape::Either(of) => of.iter_mut().for_each(|shape| inside(shape, path, hosts)),
        _ => {}
    }
}

/// Visits all tables in a shape.
fn each(shape: &mut Shape, visit: &mut impl FnMut(&mut Table)) {
    let mut table = |table: &mut Table| {
        visit(table);
        table.keys.iter_mut().flatten().for_each(|key| each(&mut key.shape, visit));
    };
    match shape {
        Shape::Table(of) => table(of),
        Shape::Kinds(_, of) => of.iter_mut().for_each(table),
        Shape::Either(of) => of.iter_mut().for_each(|shape| each(shape, visit)),
        Shape::Pair(of) => of.iter_mut().for_each(|shape| each(shape, visit)),
        Shape::List(of, ..) | Shape::Named(of) => each(of, visit),
        _ => {}
    }
}
