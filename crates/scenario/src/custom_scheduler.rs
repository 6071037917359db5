//! Replaces custom schedulers of several paths by a registered one, because the schema knows only those.

use super::custom_sender::{names, put};
use super::tree::{OwnCode, Tree};
use bentpipe_tcp::multi::{OwnScheduler, SchedulerKind};
use std::collections::BTreeMap;

/// Replaces each custom scheduler by a registered one, and records the original. A resolved scenario may contain it as a
/// table whose `code` identifies the class at that time.
pub(super) fn stand_in(tree: &mut Tree, schedulers: &[OwnScheduler]) {
    if schedulers.is_empty() {
        return;
    }
    let flows = tree.table_mut().and_then(|file| file.get_mut("flow")?.table_mut());
    for flow in flows.into_iter().flat_map(BTreeMap::values_mut) {
        let multipath = flow.table_mut().and_then(|flow| flow.get_mut("multipath")?.table_mut());
        let Some(scheduler) = multipath.and_then(|multipath| multipath.get_mut("scheduler")) else { continue };
        if let Some(own) = schedulers.iter().find(|own| names(scheduler, own.name())) {
            put(scheduler, SchedulerKind::MinRtt.name(), OwnCode::Scheduler(own.clone()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{from_json_with, from_toml_with, Files};
    use bentpipe_tcp::multi::{MultiConfig, OwnScheduler, SchedulerConfig, SchedulerKind};

    const TEXT: &str = r#"duration = "1 s"
[link.leo]
from = "a"
to = "b"
rate = "1 Mbit/s"
delay = "1 ms"
[link.geo]
from = "a"
to = "b"
rate = "1 Mbit/s"
delay = "300 ms"
[flow.f]
from = "a"
to = "b"
multipath = { scheduler = "mine" }
[flow.f.subflow.leo]
route = ["leo"]
reverse_route = ["leo"]
[flow.f.subflow.geo]
route = ["geo"]
reverse_route = ["geo"]
[sweep.vary]
flow.f.multipath.scheduler = ["mine", "blest"]
"#;

    struct Given(Vec<OwnScheduler>);

    impl Files for Given {
        fn read(&self, _: &str) -> Result<Vec<u8>, (String, String)> {
            unreachable!("no file is named")
        }
        fn schedulers(&self) -> &[OwnScheduler] {
            &self.0
        }
    }

    fn given(code: &str) -> Given {
        let make = || unreachable!("nothing runs");
        Given(vec![OwnScheduler::new("mine", code, make)])
    }

    fn config(scenario: &bentpipe_model::spec::Scenario) -> &MultiConfig {
        &scenario.flows[0].transport.multi().unwrap().config
    }

    #[test]
    fn it_is_in_the_flow_that_names_it_and_can_be_a_point_of_a_grid() {
        let given = given("1");
        let read = from_toml_with(TEXT, "", &[], &given).unwrap();
        assert_eq!(config(&read.scenario).own_scheduler.as_ref().map(OwnScheduler::name), Some("mine"));
        let sweep = read.sweep.unwrap();
        let points = [0, 1].map(|at| sweep.point(&[at], &given).unwrap().scenario);
        let kinds = points.each_ref().map(|scenario| {
            let config = config(scenario);
            (config.own_scheduler.is_some(), config.scheduler.kind())
        });
        assert_eq!(kinds, [(true, SchedulerKind::MinRtt), (false, SchedulerKind::Blest)]);
    }

    #[test]
    fn its_code_decides_the_digest_and_the_resolved_scenario_reads_back() {
        let read = |code: &str| from_toml_with(TEXT, "", &[], &given(code)).unwrap();
        let resolved = read("1");
        assert_ne!(resolved.digest(), read("2").digest());
        for text in [resolved.to_toml(), TEXT.replace("\"mine\" }", "{ kind = \"mine\", code = \"old\" } }")] {
            let again = from_toml_with(&text, "", &[], &given("1")).unwrap();
            assert_eq!(again.digest(), resolved.digest(), "{text}");
        }
        let again = from_json_with(&resolved.to_json().to_string(), "", &[], &given("1")).unwrap();
        assert_eq!(again.digest(), resolved.digest());
    }

    #[test]
    fn a_name_without_its_class_and_a_setting_are_refused() {
        let set = |value: &str| [("flow.f.multipath.scheduler".to_owned(), value.to_owned())];
        let refused =
            |value, given: &Given| from_toml_with(TEXT, "", &set(value), given).map(drop).unwrap_err().to_string();
        let problems = refused("yours", &given("1"));
        assert!(problems.contains("is not a scheduler"), "{problems}");
        let problems = refused("{ kind = \"mine\", burst = 2 }", &given("1"));
        assert!(problems.contains("scheduler.burst is not a known key"), "{problems}");
        let read = from_toml_with(TEXT, "", &set("ecf"), &given("1")).unwrap();
        assert!(matches!(config(&read.scenario).scheduler, SchedulerConfig::Ecf(_)));
    }
}
