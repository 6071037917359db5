//! temp
#![allow(clippy::print_stdout)]
use bentpipe_sim::scenario::*;
use bentpipe_sim::Network;
use bentpipe_tcp::cc::CcKind;
use bentpipe_tcp::*;
use bentpipe_units::*;

fn s1(n: usize, rate: u64, queue: u64, p: f64, secs: u64, cc: CcKind) -> Scenario {
    let ms = Duration::from_millis;
    let mut nodes = vec!["sat1".to_string(), "sat2".into(), "sat3".into()];
    for i in 0..n {
        nodes.push(format!("s{i:05}"));
        nodes.push(format!("r{i:05}"));
    }
    nodes.sort();
    let idx = |x: &str| nodes.iter().position(|n| n == x).unwrap();
    let mut ends = vec![
        ("isl1".to_string(), "sat1".to_string(), "sat2".to_string()),
        ("isl2".into(), "sat2".into(), "sat3".into()),
    ];
    for i in 0..n {
        ends.push((format!("up{i:05}"), format!("s{i:05}"), "sat1".into()));
        ends.push((format!("down{i:05}"), "sat3".into(), format!("r{i:05}")));
    }
    ends.sort();
    let mut links = vec![];
    for (name, a, b) in &ends {
        for (dir, a, b) in [("forward", a, b), ("reverse", b, a)] {
            links.push(Link {
                name: format!("{name}.{dir}"),
                from: idx(a),
                to: idx(b),
                rate: Profile::Constant(Rate::from_bps(rate)),
                delay: Profile::Constant(ms(20)),
                outage: None,
                queue: Queue::DropTail(QueueLimit::Packets(queue)),
                error: if name == "isl1" && dir == "forward" && p > 0.0 {
                    ErrorModel::Independent { unit: ErrorUnit::Packet, rate: p }
                } else {
                    ErrorModel::None
                },
            });
        }
    }
    let lidx = |x: String| links.iter().position(|l| l.name == x).unwrap();
    let flows = (0..n)
        .map(|i| {
            let tcp = Config {
                smss: 1024,
                cc,
                recovery: cc.recovery(),
                initial_window: InitialWindow::Segments(2),
                cwnd_validation: false,
                idle_restart: false,
                ssthresh_base: SsthreshBase::Window,
                rto: RtoConfig {
                    initial: Duration::from_secs(3),
                    min: ms(200),
                    granularity: ms(10),
                    ..RtoConfig::default()
                },
                give_up: GiveUp::Never,
                ack: AckPolicy { every: 1, ..AckPolicy::default() },
                ..Config::default()
            };
            Flow {
                name: format!("f{i:05}"),
                from: idx(&format!("s{i:05}")),
                to: idx(&format!("r{i:05}")),
                app: App::Greedy,
                start: Start::Uniform { from: Time::ZERO, to: Time::ZERO + Duration::from_secs(1) },
                route: vec![
                    lidx(format!("up{i:05}.forward")),
                    lidx("isl1.forward".into()),
                    lidx("isl2.forward".into()),
                    lidx(format!("down{i:05}.forward")),
                ],
                reverse_route: vec![
                    lidx(format!("down{i:05}.reverse")),
                    lidx("isl2.reverse".into()),
                    lidx("isl1.reverse".into()),
                    lidx(format!("up{i:05}.reverse")),
                ],
                tcp,
                phase_drawn: true,
            }
        })
        .collect();
    Scenario {
        title: "s1".into(),
        duration: Duration::from_secs(secs),
        seed: 1,
        nodes: nodes.iter().map(|n| Node { name: n.clone(), kind: NodeKind::Router, middleboxes: vec![] }).collect(),
        links,
        flows,
        record: Record::default(),
    }
}

fn cpu() -> f64 {
    std::fs::read_to_string("/proc/self/schedstat").unwrap().split(' ').next().unwrap().parse::<f64>().unwrap() / 1e9
}

fn main() {
    let a: Vec<String> = std::env::args().collect();
    let cc = CcKind::ALL.iter().copied().find(|c| c.name() == a[1]).unwrap();
    let p: f64 = a[2].parse().unwrap();
    let n: usize = a[3].parse().unwrap();
    let rate: u64 = a[4].parse().unwrap();
    let q: u64 = a[5].parse().unwrap();
    let secs = a[6].parse().unwrap();
    let seeds: u64 = a[7].parse().unwrap();
    let s = s1(n, rate, q, p, secs, cc);
    for seed in 1..=seeds {
        let t = cpu();
        let mut net = Network::build(&s, seed);
        while !net.run(1 << 20) {}
        let r = net.finish();
        let t = cpu() - t;
        let util: f64 = r.flows.whole("delivered_bytes").iter().sum::<i64>() as f64 * 8.0 / (rate as f64 * secs as f64);
        if std::env::var("V").is_ok() {
            for c in [
                "delivered_bytes",
                "retransmissions",
                "timeouts",
                "fast_retransmits",
                "cwnd_end_bytes",
                "spurious_retransmissions",
            ] {
                println!("{c} {:?}", r.flows.whole(c));
            }
        }
        let sum = |c: &str| r.flows.whole(c).iter().sum::<i64>();
        println!(
            "{} p={p} util {util:.4} jain {:.4} sent {} rtx {} to {} fr {} hops {} cpu {:.1} ms  {:.1} ns/hop",
            a[1],
            r.summary.real("jain")[0],
            sum("sent_packets"),
            sum("retransmissions"),
            sum("timeouts"),
            sum("fast_retransmits"),
            r.summary.whole("packet_hops")[0],
            t * 1e3,
            t * 1e9 / r.summary.whole("packet_hops")[0] as f64
        );
    }
    println!(
        "{}",
        std::fs::read_to_string("/proc/self/status").unwrap().lines().find(|l| l.starts_with("VmHWM")).unwrap()
    );
}
