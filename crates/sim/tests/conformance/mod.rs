//! Conformance scripts: a connection, what its application and its peer do, and what it must send, at which instant.
//!
//! The scripts stand beside this file, one for each standard (`rfc5681.script`). A case begins with the section that it is about
//! and what that asks for:
//!
//! ```text
//! = RFC 5681 §3.1  Slow start grows by one segment for each ACK
//! smss = "1000 B"               keys of [tcp], as in a scenario
//! handshake = false
//! +0    write 10000             the application has this many bytes to send
//! +0    > 0:1000                expected: data, by offset from the first byte
//! +0.1  < ack 1000              from the peer: an ACK of all bytes below 1000
//! +0    > 1000:3000 x2          expected: two segments that cover this range
//! +0    ? cwnd 2000             the window is this large
//! ```
//!
//! Times count from the line before. Everything that the connection sends must be expected, at its exact instant. What
//! can stand in a line is described at [`script::Step`].

mod run;
mod script;
mod table;

use std::path::Path;

fn scripts() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/conformance");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut scripts: Vec<_> = files
        .filter(|path| path.extension().is_some_and(|ending| ending == "script"))
        .map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), std::fs::read_to_string(&path).unwrap()))
        .collect();
    scripts.sort();
    scripts
}

#[test]
fn connections_do_what_the_rfcs_ask_for() {
    let mut cases = 0;
    let mut failures = Vec::new();
    for (file, text) in scripts() {
        match script::parse(&text) {
            Ok(parsed) => {
                cases += parsed.len();
                failures.extend(parsed.iter().filter_map(|case| {
                    let (line, what) = run::run(case).err()?;
                    Some(format!("{file}:{line}: {what}\n    in \"{}\"", case.title))
                }));
            }
            Err((line, what)) => failures.push(format!("{file}:{line}: {what}")),
        }
    }
    assert!(failures.is_empty(), "\n{}\n", failures.join("\n"));
    assert!(cases >= 400, "the scripts were found");
}

#[test]
fn the_page_of_conformance_is_current() {
    let titles = scripts().into_iter().map(|(file, text)| {
        let cases = script::parse(&text).unwrap_or_else(|(line, what)| panic!("{file}:{line}: {what}"));
        (file, cases.into_iter().map(|case| case.title).collect())
    });
    let page = table::page(&titles.collect::<Vec<_>>());
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(table::path(), &page).unwrap();
    }
    let kept = std::fs::read_to_string(table::path()).unwrap_or_default();
    assert!(
        kept == page,
        "docs/validation/conformance.md is not current: BLESS=1 cargo test --test it conformance writes it"
    );
}

/// A runner that accepts everything would prove nothing.
#[test]
fn wrong_expectations_fail() {
    let fails = |steps: &str| {
        let parsed = script::parse(&format!("= RFC 5681 §3.1  x\nsmss = \"1000 B\"\n{steps}"));
        parsed.map(|cases| run::run(&cases[0]).err().map(|(_, what)| what)).unwrap_or_else(|(_, what)| Some(what))
    };
    let transfer = "handshake = false\ninitial_window = \"2 segments\"\n+0 write 5000\n+0 > 0:1000\n+0 > 1000:2000\n\
                    +0.1 < ack 1000\n+0 > 2000:3000\n+0 > 3000:4000\n+0 ? cwnd 3000\n";
    let opening = "+0 > syn noack mss 1000 wscale 14 nosackok nots\n+0.1 < syn ack 0\n+0 > ack 0\n";
    assert_eq!([fails(transfer), fails(opening)], [None, None]);
    for (from, to, message) in [
        ("+0 > 1000:2000\n", "", "unexpected"),
        ("+0 > 2000:3000", "+0 > 2500:3000", "expected"),
        ("+0 > 2000:3000", "+0.01 > 2000:3000", "unexpected"),
        ("+0 > 0:1000", "+0 > 0:1000 ace 2", "ace 2"),
        ("+0 > 0:1000", "+0 > 0:1000 slowstart", "slow start"),
        ("+0 > 0:1000", "+0 > 0:1000 ect", "Ect0"),
        ("cwnd 3000", "cwnd 4000", "cwnd"),
        ("+0 > 3000:4000\n", "+0 > 3000:4000\n+0 > 4000:5000\n", "nothing"),
        ("write", "wrote", "wrote"),
        ("< ack 1000", "< ack 1000 sick 1:2", "sick"),
        ("< ack 1000", "< ack 1000 win 1000", "window"),
        ("> 0:1000\n", "> 0:1000 ts 0/0\n", "Timestamps"),
        ("> 0:1000\n", "> 0:1000 sack 1:2\n", "sack"),
        ("cwnd 3000", "aborted yes", "aborted"),
        ("wscale 14", "wscale 13", "window scale"),
        ("wscale 14", "nowscale", "window scale"),
        ("nosackok", "sackok", "SACK"),
        ("mss 1000", "mss 1001", "mss"),
        ("nots", "ts 0/0", "Timestamps"),
        ("+0 > ack 0", "+0 > rst", "RST"),
    ] {
        let right = if transfer.contains(from) { transfer } else { opening };
        let wrong = right.replacen(from, to, 1);
        assert_ne!(wrong, right);
        assert!(fails(&wrong).is_some_and(|what| what.contains(message)), "{wrong}: {:?}", fails(&wrong));
    }
    let opening = |what: &str| {
        let text = format!("= RFC 7413 §4.1.3  x\nfast_open = \"on\"\n+0 > syn noack {what}\n");
        run::run(&script::parse(&text).unwrap()[0]).is_ok()
    };
    assert_eq!(["cookie ask", "nocookie", "cookie bentpipe", "0:10"].map(opening), [true, false, false, false]);
}
