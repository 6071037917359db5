#![allow(unreachable_pub, reason = "declared as elsewhere")]

use super::*;
use crate::Duration;

crate::words! {
    /// Colours.
    pub enum Colour {
        /// Red.
        "red" => Red,
        /// Blue.
        "blue" => Blue,
    }
}

crate::amounts! {
    /// An amount.
    pub enum Much("much", "an amount", "\"all\", a number of packets, a multiple of bdp, a size, or a time", "3 packets") {
        /// All.
        word("all") => All;
        /// Packets.
        count("packets") => Packets(u32);
        /// Bandwidth-delay products, in millionths.
        count("bdp", 1_000_000) => Bdp(u64);
        /// Bytes.
        size => Bytes(u64);
        /// A time.
        span => Time(Duration);
    }
}

crate::settings! {
    /// Keys that others include.
    pub struct Common {
        /// A share. Default: half.
        share: f64 = 0.5, [0.0, 1.0], "a paper";
    }
}

crate::settings! {
    /// Keys that override others.
    pub struct Special {
        /// Overriding keys.
        common: Common as Overrides = Common::default();
    }
}

crate::settings! {
    /// An example.
    pub struct Example as "Sample" {
        /// A number.
        number: u64 = 3, [1, 9], "a paper";
        /// Included keys.
        common: Common as Include = Common::default();
        /// A colour.
        "colour" tint: enum Colour = Colour::Red;
        /// Bytes.
        size: u32 as Bytes = 1500;
        /// A time, if any.
        time: Option<Duration> = None;
    } with {
        /// No key.
        seen: bool = true;
    }
}

crate::kinds! {
    /// A choice.
    #[derive(Clone, Debug, PartialEq)]
    pub enum Choice as "Choice", "a choice" {
        /// No keys.
        "nothing" => Nothing;
        /// Keys of the example.
        "like" => Like(Example);
        /// Its own.
        "own" => Own {
            /// Needed.
            much: Much;
            /// An optional list.
            list: Vec<(Duration, u32)> = Vec::new(), [0, 4];
        };
    }
}

fn table(entries: &[(&str, Value)]) -> Value {
    Value::Table(Fields(entries.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()))
}

#[test]
fn a_declaration_describes_reads_and_writes() {
    let keys = Example::keys();
    let names: Vec<_> = keys.iter().map(|key| key.name).collect();
    assert_eq!((names.as_slice(), Example::NAME), (&["number", "share", "colour", "size", "time"][..], "Sample"));
    assert!(matches!(keys[0].shape, Shape::Whole { min: 1, max: Some(9) }) && keys[0].origin == "a paper");
    assert_eq!((keys[2].meaning, &keys[2].default), ("A colour.", &Absent::Default("red".into())));
    assert_eq!(keys[4].default, Absent::Open);
    let given = table(&[("colour", "blue".into()), ("size", "2 kB".into()), ("share", Value::Whole(1))]);
    let read: Example = Typed::read(&given).unwrap();
    let expected = Example { common: Common { share: 1.0 }, tint: Colour::Blue, size: 2000, ..Example::default() };
    assert_eq!(read, expected);
    assert!(read.seen);
    assert_eq!(<Example as Typed>::read(&Typed::write(&read)), Ok(read));
    assert!(<Example as Typed>::read(&table(&[("colour", "green".into())])).is_err());
}

#[test]
fn kinds_have_the_keys_of_a_type_or_their_own() {
    let own = Choice::Own { much: Much::Bdp(1_500_000), list: vec![(Duration::from_secs(1), 2)] };
    assert_eq!(own.write().table().unwrap().get("much"), Some(&"1.5 bdp".into()));
    for choice in [Choice::Nothing, Choice::Like(Example::default()), own] {
        assert_eq!(Choice::read(&choice.write()), Ok(choice));
    }
    let needs = |kind: &str| Choice::read(&table(&[("kind", kind.into())]));
    assert_eq!(needs("like"), Ok(Choice::Like(Example::default())));
    assert!(needs("own").is_err() && needs("other").is_err());
    let Shape::Kinds(Title { name: "Choice", noun: "a choice" }, kinds) = Choice::shape() else { panic!("kinds") };
    assert!(kinds[2].keys.as_ref().is_some_and(|keys| keys[0].is_required() && !keys[1].is_required()));
}

#[test]
fn amounts_are_read_in_each_measure() {
    for (text, much) in [
        ("all", Much::All),
        ("1 packet", Much::Packets(1)),
        ("0.25 bdp", Much::Bdp(250_000)),
        ("3 kB", Much::Bytes(3000)),
        ("2 ms", Much::Time(Duration::from_millis(2))),
    ] {
        assert_eq!(Much::parse(text), Ok(much), "{text}");
        assert_eq!(Much::read(&much.write()), Ok(much), "{text}");
    }
    assert_eq!(Much::parse("3").unwrap_err(), "is not an amount: the unit is missing");
    assert_eq!(Much::parse("1.5 packets").unwrap_err(), "is not an amount: it is not a whole number");
    assert_eq!(Much::parse("some").unwrap_err(), "is not an amount");
}

#[test]
fn overriding_keys_have_no_defaults() {
    let [key] = <[Key; 1]>::try_from(Special::keys()).expect("one key");
    assert_eq!((key.name, key.meaning, key.default, key.origin), ("share", "A share.", Absent::Open, ""));
    assert_eq!(key.shape, Shape::Real { min: 0.0, max: 1.0 });
    let table = Fields(vec![("share".into(), Value::Real(0.25))]);
    let read = <Special as Settings>::read(&table).expect("a table");
    assert_eq!(read.common, Common { share: 0.25 });
    assert_eq!(Typed::write(&read), Value::Table(table));
}
