//! Names of the nodes of a sky.

use crate::keys::{Over, Sky as Keys};
use bentpipe_orbit::sky::scene::Sky;
use std::collections::BTreeMap;

/// Returns the names of all nodes of one of several constellations. Names of satellites begin with that of the
/// constellation. Other constellations do not have them.
pub(super) fn names_of(constellation: &str, keys: &Keys, sky: &Sky) -> Vec<String> {
    let mut names = names(keys, sky);
    let satellites = sky.satellites();
    for name in names.iter_mut().take(satellites).filter(|_| !constellation.is_empty()) {
        *name = if satellites == 1 { constellation.to_owned() } else { format!("{constellation}-{name}") };
    }
    names
}

/// Returns the names of all nodes. Places keep their names. Names of satellites are unique and omit the common prefix
/// of their constellation.
pub(super) fn names(keys: &Keys, sky: &Sky) -> Vec<String> {
    let prefix = prefix(keys);
    let name =
        |node: u32| sky.name(node).strip_prefix(&prefix).unwrap_or(sky.name(node)).replace(['/', '\t', '\n'], " ");
    let all: Vec<String> = (0..(sky.satellites() + sky.places.len()) as u32).map(name).collect();
    let mut count: BTreeMap<&str, u32> = BTreeMap::new();
    all.iter().for_each(|name| *count.entry(name).or_default() += 1);
    let unlike = |(number, name): (usize, &String)| match number < sky.satellites() && count[name.as_str()] > 1 {
        true => format!("{name} #{number}"),
        false => name.clone(),
    };
    all.iter().enumerate().map(unlike).collect()
}

/// Returns the common prefix of the satellites' names in a constellation.
pub(super) fn prefix(keys: &Keys) -> String {
    match &keys.over {
        Over::Named(name) => format!("{name}-"),
        Over::Shells(_) => "shell-".to_owned(),
        _ => String::new(),
    }
}
