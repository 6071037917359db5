//! Request classes of terminals: a call beside uploads that fill the carrier.

use super::media::{run, BURST, PROPAGATION, R, T};

/// Homes on one carrier of 49 slots, 1.6 Mbit/s. Each uploads more than its share of 26 kbit/s, and the first one calls with 32
/// kbit/s: 43.2 kbit/s with headers.
fn homes(access: &str) -> String {
    format!(
        "duration = '100 s'
[medium.up]
kind = 'mf-tdma'
symbol_rate = '1 Mbaud'
carriers = 1
controller = 'gateway'
[link.user]
from = 'gateway'
to = 'home{{n}}'
count = 60
delay = '250 ms'
forward.rate = '20 Mbit/s'
[link.user.reverse]
medium = 'up'
es_n0 = '9 dB'
queue = {{ kind = 'priority', class = [{{ limit = '100 packets' }}, {{ limit = '20 packets' }}] }}
access = {access}
[flow.upload]
from = 'home{{n}}'
to = 'gateway'
count = 60
class = 1
app = {{ kind = 'cbr', rate = '128 kbit/s', size = '500 B' }}
[flow.call]
from = 'home1'
to = 'gateway'
start = '10.0031 s'
app = {{ kind = 'cbr', rate = '32 kbit/s', size = '80 B' }}
"
    )
}

/// Delays of the call, mean and 95 %, and its loss.
fn call_of(text: &str) -> [f64; 3] {
    let table = run(text, &[]).datagrams;
    let row = table.text("flow").iter().position(|flow| flow == "call").unwrap();
    [table.real("delay_mean_s")[row], table.real("delay_p95_s")[row], table.real("loss_pct")[row]]
}

/// A terminal alone fills its carrier with an upload. A packet of its call waits for a control slot and R at first. Then it waits
/// for the packet in service at most: 1,478 B in 15 bursts, half of them on average.
#[test]
fn a_call_waits_for_one_packet_of_the_upload_of_its_terminal() {
    let text = homes("{ class = [{ rate_based = '128 kbit/s' }, { volume_based = true }] }");
    let text = text
        .replace("20 packets", "400 packets")
        .replace("= 60", "= 1")
        .replace("'128 kbit/s', size = '500 B'", "'2 Mbit/s', size = '1450 B'");
    let [mean, p95, lost] = call_of(&text);
    let packet = 15.0 * BURST;
    assert!((PROPAGATION + packet / 2.0..PROPAGATION + packet / 2.0 + 0.010).contains(&mean), "{mean}");
    assert!(p95 < PROPAGATION + T && lost == 0.0, "{p95} {lost}");
}

/// A class asks for the rate of its packets. Each superframe has slots for it, at a place that moves, so a packet waits for
/// T / 2. It also waits for a packet of the upload in service: 528 B have 2.3 slots in a superframe.
#[test]
fn a_call_has_its_own_requests_beside_uploads_that_fill_the_carrier() {
    let [mean, p95, lost] = call_of(&homes("{ class = [{ rate_based = '128 kbit/s' }, { volume_based = true }] }"));
    assert!(
        (PROPAGATION + T / 2.0..0.31).contains(&mean) && p95 < PROPAGATION + 5.0 * T && lost == 0.0,
        "{mean} {p95}"
    );
    // With one class, all homes ask for the limit, and each has its share of the carrier.
    let [mean, _, lost] = call_of(&homes("{ class = [], rate_based = '128 kbit/s', volume_based = true }"));
    assert!(mean > PROPAGATION + R && lost > 20.0, "{mean} {lost}");
}

/// A constant rate needs no request: the first packets have no longer wait.
#[test]
fn a_constant_rate_of_a_class_carries_a_call() {
    let text = homes("{ class = [{ constant = '60 kbit/s' }, { volume_based = true }] }").replace("= 60", "= 25");
    let table = run(&text, &[]).datagrams;
    let row = table.text("flow").iter().position(|flow| flow == "call").unwrap();
    let [mean, p99] = ["delay_mean_s", "delay_p99_s"].map(|name| table.real(name)[row]);
    assert!((PROPAGATION + BURST..0.31).contains(&mean) && p99 < PROPAGATION + 5.0 * T, "{mean} {p99}");
}
