//! Cases of a scenario, to be compared. `[case.NAME]` overrides parts of the scenario.

use super::check::HIDDEN;
use super::problem::Problem;
use super::tree::{is_hidden, join, quoted, Tree, Value};

/// Removes the cases from the written scenario and returns them in the order of the file.
pub(super) fn take(tree: &mut Tree, source: &str) -> Result<Vec<(String, Tree)>, Problem> {
    let Some(cases) = tree.table_mut().and_then(|table| table.remove("case")) else { return Ok(Vec::new()) };
    let wrong = |at: &Tree, path: &str| {
        let expected = "expected keys of a scenario, as in [case.prr] with tcp.reduction = \"prr\"";
        let problem = Problem::new(at.place.shown(source), path, format!("{path} = {at} is not a table"), expected);
        Problem { span: at.place.span(), value: at.scalar(), ..problem }
    };
    let Value::Table(table) = cases.value else { return Err(wrong(&cases, "case")) };
    if let Some((name, case)) = table.iter().find(|(name, _)| name.chars().any(is_hidden)) {
        let message = format!("the name {} {HIDDEN}", quoted(name));
        let problem = Problem::new(case.key.shown(source), &join("case", name), message, "expected a line of text");
        return Err(Problem { span: case.key.span(), ..problem });
    }
    match table.iter().find(|(_, case)| case.table().is_none()) {
        Some((name, case)) => Err(wrong(case, &join("case", name))),
        None => {
            let mut cases: Vec<(String, Tree)> = table.into_iter().collect();
            cases.sort_by(|(_, a), (_, b)| a.key.cmp(&b.key));
            Ok(cases)
        }
    }
}

/// Puts a case over the scenario: tables key by key, other values as a whole. A table with a `kind` replaces another
/// table, except for nodes, which have other keys besides.
pub(super) fn put(tree: &mut Tree, case: Tree) {
    put_at(tree, case, &[]);
}

fn put_at(tree: &mut Tree, case: Tree, path: &[&str]) {
    let is_choice = case.get("kind").is_some() && !matches!(path, ["node", _]);
    if tree.table().is_some() && !is_choice {
        if let Value::Table(over) = case.value {
            let Some(under) = tree.table_mut() else { return };
            for (key, value) in over {
                match under.get_mut(&key) {
                    Some(known) => put_at(known, value, &[path, &[key.as_str()]].concat()),
                    None => drop(under.insert(key, value)),
                }
            }
            return;
        }
    }
    *tree = case;
}
