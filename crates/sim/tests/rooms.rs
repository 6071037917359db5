//! Compares the drawings of the rooms in `docs/develop/architecture.md` with the sources. Each room imports exactly the
//! rooms of its line, and only rooms above it, so that there is no circle. `mod` is the folder's own file. All folders
//! whose rooms import each other are drawn.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

const PAGE: &str = "docs/develop/architecture.md";

/// By room, the rooms of the same folder that it imports.
type Arrows = BTreeMap<String, BTreeSet<String>>;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A module of the crate that `source` is the `src` folder of: its path, and its text without comments and tests.
struct Module {
    path: Vec<String>,
    text: String,
}

/// The modules of a crate, without those that exist only for tests. The folder `here` may be one of these.
fn modules(source: &Path, here: &[String]) -> Vec<Module> {
    let mut found = Vec::new();
    let mut folders = vec![source.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let file = entry.unwrap().path();
            if file.is_dir() {
                folders.push(file);
                continue;
            }
            if file.extension().is_none_or(|ending| ending != "rs") {
                continue;
            }
            let inner = file.strip_prefix(source).unwrap().with_extension("");
            let mut path: Vec<String> =
                inner.iter().map(|part| part.to_str().unwrap().to_owned()).filter(|part| part != "lib").collect();
            path.retain(|part| part != "mod");
            found.push(Module { path, text: code(&read(&file)) });
        }
    }
    // A module that exists only for tests, with all below it.
    let of_tests: BTreeSet<Vec<String>> = found
        .iter()
        .flat_map(|module| {
            let marked = module.text.split("#[cfg(test)]").skip(1).filter_map(|rest| {
                let declared = rest.trim_start().trim_start_matches("pub(crate) ").trim_start_matches("pub(super) ");
                declared.strip_prefix("mod ")?.split(|c: char| !is_name(c)).next()
            });
            marked.map(|name| [module.path.as_slice(), &[name.to_owned()]].concat()).collect::<Vec<_>>()
        })
        .collect();
    let is_drawn = |path: &[String]| here.starts_with(path);
    found.retain(|module| !of_tests.iter().any(|path| module.path.starts_with(path) && !is_drawn(path)));
    found
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Returns the text without comments and without the tests at its end.
fn code(text: &str) -> String {
    let starts = ["", "pub(super) ", "pub(crate) "].map(|sight| format!("\n#[cfg(test)]\n{sight}mod tests {{"));
    let end = starts.iter().filter_map(|start| text.find(start)).min().unwrap_or(text.len());
    text[..end].lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

/// The paths that a module mentions, from the root of its crate: `crate::a::b` and `super::b`, groups in braces taken apart.
fn mentioned(module: &Module) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    for start in ["crate::", "super::"] {
        for (at, _) in module.text.match_indices(start) {
            let before = &module.text[..at];
            if before.ends_with(is_name) || before.ends_with("::") {
                continue;
            }
            let mut base = match start {
                "crate::" => Vec::new(),
                _ => module.path[..module.path.len().saturating_sub(1)].to_vec(),
            };
            let mut rest = &module.text[at + start.len()..];
            while let Some(above) = rest.strip_prefix("super::") {
                base.pop();
                rest = above;
            }
            follow(&base, rest, &mut found);
        }
    }
    found
}

/// Reads what follows a `::`: a name and more, or a group.
fn follow(base: &[String], text: &str, found: &mut Vec<Vec<String>>) {
    if let Some(group) = text.strip_prefix('{') {
        let (mut depth, mut begin) = (0, 0);
        for (at, c) in group.char_indices() {
            match c {
                '{' => depth += 1,
                '}' if depth > 0 => depth -= 1,
                '}' | ',' if depth == 0 => {
                    follow(base, group[begin..at].trim(), found);
                    begin = at + 1;
                    if c == '}' {
                        return;
                    }
                }
                _ => {}
            }
        }
        return;
    }
    let name: String = text.chars().take_while(|&c| is_name(c)).collect();
    if name.is_empty() {
        return;
    }
    let path = [base, std::slice::from_ref(&name)].concat();
    match text[name.len()..].strip_prefix("::") {
        Some(rest) if rest.starts_with(|c: char| is_name(c) || c == '{') => follow(&path, rest, found),
        _ => found.push(path),
    }
}

/// The names that the folder's own module exports, with their rooms; `None`: from outside the folder.
fn exported(module: &Module) -> BTreeMap<String, Option<String>> {
    let mut names = BTreeMap::new();
    for statement in module.text.split(';').map(str::trim) {
        let Some(at) = statement
            .rfind("use ")
            .filter(|&at| statement[..at].trim_end().starts_with("pub") || statement[..at].contains("\npub"))
        else {
            continue;
        };
        let mut paths = Vec::new();
        follow(&[], statement[at + 4..].trim().trim_start_matches("self::"), &mut paths);
        for path in paths.iter().filter(|path| path.len() > 1) {
            let is_outside = path[0] == "crate" || path[0].starts_with("bentpipe_");
            names.insert(path[path.len() - 1].clone(), (!is_outside).then(|| path[0].clone()));
        }
    }
    names
}

/// The arrows between the rooms of `folder`, a path such as `crates/tcp/src` or `crates/tcp/src/conn`. Names that the
/// folder's own module exports count as their room's. Names that it defines itself are of `mod`.
fn arrows(folder: &str) -> Arrows {
    let (krate, inner) = folder.split_once("/src").unwrap_or_else(|| panic!("{folder} is no folder of sources"));
    let here: Vec<String> = inner.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect();
    let all = modules(&root().join(krate).join("src"), &here);
    let exported = all.iter().find(|module| module.path == here).map(exported).unwrap_or_default();
    let inside = |path: &[String]| path.starts_with(&here) && path.len() > here.len();
    let rooms: BTreeSet<&String> = all.iter().filter(|m| inside(&m.path)).map(|m| &m.path[here.len()]).collect();
    let mut arrows: Arrows = rooms.iter().map(|room| ((*room).clone(), BTreeSet::new())).collect();
    for module in all.iter().filter(|module| inside(&module.path)) {
        let own = &module.path[here.len()];
        for path in mentioned(module).into_iter().filter(|path| inside(path)) {
            let name = &path[here.len()];
            let target = match exported.get(name) {
                _ if rooms.contains(name) => Some(name.clone()),
                Some(room) => room.clone(),
                None => Some("mod".to_owned()),
            };
            arrows.get_mut(own).unwrap().extend(target.filter(|target| target != own));
        }
    }
    arrows
}

/// A drawing: the folder, and for each room in order what it imports.
type Drawing = (String, Vec<(String, BTreeSet<String>)>);

fn drawings() -> Vec<Drawing> {
    let text = read(&root().join(PAGE));
    let mut found = Vec::new();
    for block in text.split("```rooms\n").skip(1) {
        let block = block.split("\n```").next().unwrap();
        for line in block.lines().filter(|line| !line.is_empty()) {
            if !line.starts_with(' ') {
                found.push((line.to_owned(), Vec::new()));
                continue;
            }
            let mut words = line.split_whitespace();
            let room = words.next().unwrap().to_owned();
            let imports = words.filter(|word| *word != "<-").map(str::to_owned).collect();
            found.last_mut().expect("a folder stands first").1.push((room, imports));
        }
    }
    found
}

/// Returns the drawing: each room after those that it imports, if there is no circle.
fn drawn(arrows: &Arrows) -> String {
    let mut left = arrows.clone();
    let mut lines = String::new();
    while !left.is_empty() {
        let known: BTreeSet<&String> = left.keys().collect();
        let free = left.iter().find(|(_, imports)| !imports.iter().any(|import| known.contains(import)));
        let (room, note) = match free {
            Some((room, _)) => (room.clone(), ""),
            None => (left.keys().next().unwrap().clone(), "   # in a circle"),
        };
        let imports = left.remove(&room).unwrap().into_iter().collect::<Vec<_>>().join(" ");
        lines += &match imports.is_empty() {
            true => format!("  {room}{note}\n"),
            false => format!("  {room:<16} <- {imports}{note}\n"),
        };
    }
    lines
}

#[test]
fn the_drawings_are_what_the_rooms_import() {
    let drawings = drawings();
    assert!(!drawings.is_empty(), "{PAGE} has drawings of the rooms");
    for (folder, rooms) in drawings {
        let arrows = arrows(&folder);
        let drawing: Arrows = rooms.iter().cloned().collect();
        assert!(drawing == arrows, "{PAGE} draws {folder} otherwise than it is:\n{}", drawn(&arrows));
    }
}

/// Folders of sources, in all crates, whose rooms import each other.
fn folders() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for krate in std::fs::read_dir(root().join("crates")).unwrap() {
        let krate = krate.unwrap().file_name().into_string().unwrap();
        let mut rooms: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for module in modules(&root().join("crates").join(&krate).join("src"), &[]) {
            for at in 0..module.path.len() {
                let inner: String = module.path[..at].iter().map(|part| format!("/{part}")).collect();
                rooms.entry(format!("crates/{krate}/src{inner}")).or_default().insert(module.path[at].clone());
            }
        }
        let is_tied = |folder: &str| arrows(folder).values().flatten().any(|import| import != "mod");
        found.extend(rooms.into_keys().filter(|folder| is_tied(folder)));
    }
    found
}

#[test]
fn each_folder_of_sources_is_drawn() {
    let drawn: BTreeSet<String> = drawings().into_iter().map(|(folder, _)| folder).collect();
    let missing: Vec<String> = folders().into_iter().filter(|folder| !drawn.contains(folder)).collect();
    let drawings: String =
        missing.iter().map(|folder| format!("{folder}\n{}\n", self::drawn(&arrows(folder)))).collect();
    assert!(missing.is_empty(), "{PAGE} does not draw\n{drawings}");
}

#[test]
fn no_arrow_runs_back() {
    for (folder, rooms) in drawings() {
        for (index, (room, imports)) in rooms.iter().enumerate() {
            let above: Vec<&String> = rooms[..index].iter().map(|(room, _)| room).collect();
            for import in imports {
                assert!(
                    import == "mod" || above.contains(&import),
                    "{folder}: {room} imports {import}, which is not above it"
                );
            }
        }
    }
}
