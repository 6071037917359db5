//! Equal seeds give equal bytes.

use crate::path::{transfer, Path, Way, World};
use bentpipe_sim::spec::{Quic, QuicCc};
use bentpipe_sim::stack::Engine;
use bentpipe_units::Time;

const MB: u64 = 1_000_000;

fn cubic() -> Quic {
    Quic { cc: QuicCc::StackCubic, ..Quic::default() }
}

#[test]
fn two_runs_have_equal_packets_at_equal_times() {
    let mut path = Path::geo(20.0, 2.0);
    path.loss = [0.01, 0.01];
    let runs = [(); 2].map(|()| transfer(&Quic::default(), path, MB, Way::Download, 600));
    assert_eq!(runs[0].hash, runs[1].hash);
    let other = transfer(&Quic::default(), Path { seed: 2, ..path }, MB, Way::Download, 600);
    assert_ne!(runs[0].hash, other.hash);
}

/// Neither a connection of the same process nor another thread has an effect.
#[test]
fn connections_of_one_process_do_not_meet() {
    let path = Path::geo(20.0, 2.0);
    let alone = transfer(&cubic(), path, MB, Way::Upload, 60).hash;
    let mut others = [World::new(&cubic(), path), World::new(&cubic(), path)];
    for world in &mut others {
        world.ends[0].connect(Time::ZERO);
        world.settle(0);
    }
    for _ in 0..20 {
        for world in &mut others {
            world.step();
        }
    }
    assert_eq!(others[0].hash(), others[1].hash());
    let threads = [(); 4].map(|()| std::thread::spawn(move || transfer(&cubic(), path, MB, Way::Upload, 60).hash));
    for thread in threads {
        assert_eq!(thread.join().unwrap(), alone);
    }
}

/// The times of three seeds differ a little even without loss: the stack skips packet numbers at random.
#[test]
fn a_seed_has_an_effect_without_loss_on_the_path() {
    let times = [1, 2, 3]
        .map(|seed| transfer(&cubic(), Path { seed, ..Path::geo(20.0, 2.0) }, 10 * MB, Way::Download, 60).time());
    assert!(times[0] != times[1] || times[1] != times[2], "{times:?}");
    assert!(times.iter().all(|time| (time - times[0]).abs() < 0.05), "{times:?}");
}
