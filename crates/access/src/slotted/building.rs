//! Media of slots at the start of a run.

use super::members::{Asks, Bursts, Member};
use super::SlottedMedium;
use crate::adaptation::Choice;
use crate::contention::Contention;
use crate::grid::Grid;
use crate::leo_cell::{LeoCell, Others};
use crate::log_on::Joining;
use crate::mf_tdma::{Free, MfTdma};
use crate::opened::Opened;
use crate::plan::{Controller, Left, Plan};
use crate::requests::{Asking, Rules};
use crate::terminal::{Access, Capacity, MediumCounters, Terminal};
use crate::visits::Visits;
use crate::waveforms::Waveform;
use bentpipe_units::Duration;

/// Time without a burst after which a terminal is measured, on a medium without control slots.
const SILENCE: Duration = Duration::from_secs(1);

impl SlottedMedium {
    /// Returns a return link at the start of a run. Constant and free capacity and control slots are granted from the
    /// first superframe on. `seed` and the names of the terminals address the random numbers.
    pub fn mf_tdma(medium: &MfTdma, terminals: &[Terminal], seed: u64) -> Self {
        let grid = Grid::of_carriers(medium.superframe, medium.symbol_rate, medium.bursts);
        let bursts = Bursts::Waveforms { length: medium.bursts, fixed: medium.waveform, acm: medium.acm };
        let to_plan = 1 + grid.superframes_in(medium.to_controller);
        let to_grant = grid.superframes_in(medium.control_delay + medium.to_terminal);
        let rules = Rules::new(medium, to_plan + to_grant);
        let left = match medium.free {
            Free::None => Left::Unused,
            Free::Asking => Left::ToAsking,
            Free::All => Left::ToAll,
        };
        let controller = Controller::new(
            &access(terminals),
            grid.slots(),
            medium.planned_slots(grid.slots()),
            medium.superframe.as_ps(),
            medium.control_interval.map(|interval| grid.superframes_in(interval).max(1)),
            grid.superframes_in(medium.persistence).max(1),
            left,
        );
        let names = terminals.iter().map(|terminal| terminal.name.as_str());
        let contention = medium.random.map(|random| Contention::new(random, &grid, to_grant, names, seed));
        let names = terminals.iter().map(|terminal| terminal.name.as_str());
        let joining = medium.log_on.as_ref().map(|keys| Joining::new(keys, &grid, to_plan + to_grant, names, seed));
        let asks = Asks::InBursts;
        let base = Self::new(grid, bursts, asks, rules, controller, to_plan, to_grant, terminals);
        let silence = grid.superframes_in(medium.control_interval.unwrap_or(SILENCE)).max(1);
        Self { contention, joining, silence, ..base }
    }

    /// Returns a direction of a cell at the start of a run. Upwards, `terminals` ask for volumes. Downwards, the
    /// controller sees their queues. `name` and `seed` address the stays of other terminals.
    pub fn leo_cell(cell: &LeoCell, terminals: &[Terminal], is_up: bool, name: &str, seed: u64) -> Self {
        let grid = Grid::of_frames(cell.frame, cell.slots);
        let (to_plan, to_grant, asks) = match is_up {
            true => (
                1 + grid.superframes_in(cell.to_controller),
                grid.superframes_in(cell.control_delay + cell.to_terminal),
                Asks::Each(cell.requests.max(1).into()),
            ),
            false => (1, 0, Asks::Never),
        };
        let persistence = cell.persistence;
        let rules = MfTdma { superframe: cell.frame, overhead: cell.overhead, persistence, ..MfTdma::default() };
        let rules = Rules::new(&rules, to_plan + to_grant).with_turn(u64::from(cell.turn.max(1)) - 1);
        let volume = Capacity { volume_based: true, ..Capacity::default() };
        let volumes: Vec<Terminal> = terminals
            .iter()
            .map(|terminal| {
                let access = Access { first: volume, weight: terminal.access.weight, ..Access::default() };
                Terminal { name: terminal.name.clone(), access }
            })
            .collect();
        let controller = Controller::new(
            &access(&volumes),
            grid.slots(),
            grid.slots(),
            cell.frame.as_ps(),
            None,
            grid.superframes_in(persistence).max(1),
            Left::Unused,
        )
        .with_turn(cell.turn);
        let bursts = Bursts::Fixed(cell.payload());
        let base = Self::new(grid, bursts, asks, rules, controller, to_plan, to_grant, &volumes);
        Self { others: cell.others.as_ref().map(|others| Others::new(others, name, seed)), ..base }
    }

    #[allow(clippy::too_many_arguments, reason = "parts of a medium, for two constructors")]
    fn new(
        grid: Grid,
        bursts: Bursts,
        asks: Asks,
        rules: Rules,
        controller: Controller,
        to_plan: u64,
        to_grant: u64,
        terminals: &[Terminal],
    ) -> Self {
        let waveforms = match &bursts {
            Bursts::Waveforms { length, .. } => Waveform::all(*length).len(),
            Bursts::Fixed(_) => 0,
        };
        let members = terminals.iter().map(|terminal| {
            let random = terminal.access.random;
            let asking: Vec<Asking> = terminal.access.classes().map(|capacity| Asking::new(&rules, capacity)).collect();
            Member {
                opened: Opened::none(grid.with_requests(asking.len())),
                asking,
                choice: Choice::default(),
                was_up: true,
                left: None,
                random,
                heard: 0,
                busy_until: 0,
                level_db: f64::NAN,
                granted: 0,
            }
        });
        Self {
            members: members.collect(),
            visits: Visits::all(terminals.len()),
            grid,
            bursts,
            asks,
            rules,
            controller,
            contention: None,
            joining: None,
            others: None,
            superframe: 0,
            wakes: 0,
            to_plan,
            to_grant,
            silence: grid.superframes_in(SILENCE),
            messages: vec![Vec::new(); to_plan as usize],
            plans: vec![Plan::default(); to_grant as usize + 1],
            last_plan: 0,
            opened: Vec::new(),
            heard: Vec::new(),
            requests: Vec::new(),
            counters: MediumCounters::default(),
            granted_bursts: vec![0; waveforms],
        }
    }
}

fn access(terminals: &[Terminal]) -> Vec<Access> {
    terminals.iter().map(|terminal| terminal.access).collect()
}
