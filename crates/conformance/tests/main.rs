//! Runs the scripts of `src/scripts`, and checks that the page of their tests is current.

mod packetdrill;
mod table;

use bentpipe_conformance::{cases, drill, run_on, unchanged, Input, Objection, Sent, Subject, ISS, SCRIPTS};
use bentpipe_model::spec::Like;
use bentpipe_tcp::{Flags, Segment};
use bentpipe_units::{Duration, Time};

#[test]
fn connections_do_what_the_rfcs_ask_for() {
    let mut cases = 0;
    let mut failures = Vec::new();
    for (file, text) in SCRIPTS {
        match drill(text, &mut unchanged) {
            Ok(outcomes) => {
                cases += outcomes.len();
                failures.extend(outcomes.into_iter().filter_map(|case| {
                    let Objection { line, what } = case.difference?;
                    Some(format!("{file}:{line}: {what}\n    in \"{}\"", case.title))
                }));
            }
            Err(Objection { line, what }) => failures.push(format!("{file}:{line}: {what}")),
        }
    }
    assert!(failures.is_empty(), "\n{}\n", failures.join("\n"));
    assert!(cases >= 400, "the scripts were found");
}

/// The titles of the cases of each script.
fn titles() -> Vec<(String, Vec<String>)> {
    let titles = SCRIPTS.iter().map(|&(file, text)| {
        let cases = cases(text).unwrap_or_else(|problem| panic!("{file}: {problem:?}"));
        (file.to_owned(), cases.into_iter().map(|case| case.title).collect())
    });
    titles.collect()
}

/// Each requirement names a test, a deviation or a reason, and all of them exist.
#[test]
fn what_holds_the_requirements_is_there() {
    let wrong = table::unheld(&titles());
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
    let count = |rfc: u32| table::requirements().iter().filter(|requirement| requirement.rfc == rfc).count();
    let least = [(5681, 33), (6298, 14), (6582, 10), (6675, 29), (8985, 29), (9293, 31), (9438, 15)];
    assert!(least.into_iter().all(|(rfc, least)| count(rfc) >= least), "{:?}", least.map(|(rfc, _)| count(rfc)));
}

#[test]
fn the_page_of_conformance_is_current() {
    let page = table::page(&titles());
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(table::path(), &page).unwrap();
    }
    let kept = std::fs::read_to_string(table::path()).unwrap_or_default();
    assert!(
        kept == page,
        "docs/validation/conformance.md is not current: BLESS=1 cargo test -p bentpipe-conformance writes it"
    );
}

/// A runner that accepts everything would prove nothing.
#[test]
fn wrong_expectations_fail() {
    let fails = |steps: &str| {
        let text = format!("= RFC 5681 §3.1  x\nsmss = \"1000 B\"\n{steps}");
        let found = drill(&text, &mut unchanged).map(|cases| cases[0].difference.clone());
        found.unwrap_or_else(Some).map(|problem| problem.what)
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
        drill(&text, &mut unchanged).unwrap()[0].difference.is_none()
    };
    assert_eq!(["cookie ask", "nocookie", "cookie bentpipe", "0:10"].map(opening), [true, false, false, false]);
}

#[test]
fn every_script_comes_with_the_simulator() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/scripts");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut files: Vec<String> = files.collect();
    files.sort();
    assert_eq!(files, SCRIPTS.iter().map(|(name, _)| (*name).to_owned()).collect::<Vec<_>>());
}

/// A preset is a set of keys that act together.
#[test]
fn cases_named_after_linux_begin_with_its_preset() {
    let mut count = 0;
    for (file, text) in SCRIPTS {
        for case in cases(text).unwrap().iter().filter(|case| case.title.contains("  Linux: ")) {
            assert_eq!(case.like, Like::Linux6, "{file}: {}", case.title);
            count += 1;
        }
    }
    assert!(count >= 40, "{count} cases");
}

#[test]
fn what_no_script_can_mean_is_refused() {
    for (step, message) in [
        ("+0 < 5:3", "ends before it begins"),
        ("+0 < 0:70000", "65535"),
        ("+0 < ack 99999999999999", "more than"),
        ("+inf write 1", "time"),
        ("+-1 write 1", "time"),
        ("+4e6 write 1\n+4e6 write 1", "longer"),
        ("+0 < syn wscale 200", "shift"),
        ("+0 ? cwmd 1000", "not one of cwnd"),
        ("soon < ack 0", "seconds"),
    ] {
        let found = drill(&format!("= RFC 9293 §3.1  x\n{step}\n"), &mut unchanged);
        let what = match found {
            Err(problem) => problem.what,
            Ok(outcomes) => outcomes[0].difference.clone().map(|problem| problem.what).unwrap_or_default(),
        };
        assert!(what.contains(message) || what.contains("unexpected"), "{step}: {what}");
    }
}

/// A script runs on the kernel's TCP with its lines for it, and within a margin of time.
#[test]
fn notes_for_linux_take_the_place_of_their_line_on_the_kernel_only() {
    /// Sends one segment, 30 ms late.
    struct Late(bool);
    impl Subject for Late {
        fn is_kernel(&self) -> bool {
            true
        }
        fn late(&self, _: Duration) -> Duration {
            Duration::from_millis(50)
        }
        fn early(&self) -> Duration {
            Duration::from_millis(5)
        }
        fn take(&mut self, _: Time, _: Input) -> Result<(), String> {
            Ok(())
        }
        fn collect(&mut self, _: Time, _: &mut Sent) -> Result<(), String> {
            Ok(())
        }
        fn pass(&mut self, to: Time, sent: &mut Sent) -> Result<(), String> {
            let at = Time::ZERO + Duration::from_millis(1030);
            if to >= at && !std::mem::replace(&mut self.0, true) {
                let data = Segment { seq: ISS.at(1), len: 1000, flags: Flags::ACK, ..Segment::default() };
                sent.push_back((at, data));
            }
            Ok(())
        }
        fn check(&mut self, name: &str, value: &str) -> Result<(), String> {
            if (name, value) == ("cwnd", "7000") {
                Ok(())
            } else {
                Err(format!("{name} {value}"))
            }
        }
    }
    let on_kernel = |note: &str| {
        let text = format!(
            "= RFC 6298 §2.1  x\nsmss = \"1000 B\"\nhandshake = false\ninitial_window = \"1 segments\"\n+0 write 1000\n\
             +0 > 0:1000  # linux: +0 nothing\n+1 > 0:1000\n+0 ? cwnd 1000{note}\n"
        );
        let ours = drill(&text, &mut unchanged).unwrap();
        assert_eq!(ours[0].difference, None, "our TCP has nothing to do with notes");
        let case = cases(&text).unwrap().remove(0);
        assert!(case.has_notes());
        run_on(&case, &mut Late(false)).map(|difference| difference.line)
    };
    assert_eq!(on_kernel("  # linux: +0 ? cwnd 7000"), None);
    assert_eq!(on_kernel(""), Some(8));
    assert_eq!(on_kernel("\n# linux: +0 > 0:1000"), Some(8));
    assert_eq!(on_kernel("  # linux: +0 ? cwnd 7000\n# linux: +0 > 0:1000"), Some(9));
    assert!(cases("= RFC 6298 §2.1  x\n+0 ? cwnd 1  # linux: soon\n").is_err());
}
