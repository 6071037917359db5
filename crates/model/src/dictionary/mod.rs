//! Dictionary of all columns, time series, events and causes of loss: name, unit, meaning, source. Tables, Python docs,
//! axis labels and the reference page are made from it. Nothing else is recorded.
//!
//! A line here also declares the record. A column is a field of its table's row, with its type. A series, an event and
//! a cause are variants of an enum. Code that produces rows or values matches on them, so a forgotten one does not
//! compile. [`table!`], [`names!`] and [`series!`] describe the syntax.

mod declare;
mod plain;
mod table;

pub use plain::to_json;
pub use table::{Table, Values, MISSING};

use declare::{kind, names, series, table};

/// One column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// Name in tables, with the unit as suffix.
    pub name: &'static str,
    /// `s`, `B`, `bit/s`, `%`, `1` (a ratio or count) or empty (text).
    pub unit: &'static str,
    /// Meaning in one sentence, with the source of its definition.
    pub meaning: &'static str,
}

/// Entity of a time series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entity {
    /// One series per flow.
    Flow,
    /// One series per link and direction.
    Link,
}

/// A time series that can be recorded: rows of (time_s, entity, value).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Series {
    /// Name, unit and meaning.
    pub column: Column,
    /// Entity that it belongs to.
    pub entity: Entity,
    /// Whether it is sampled at the record's interval. Otherwise a row is written when the value changes.
    pub sampled: bool,
    /// Meaning of a row between its neighbours.
    pub kind: Kind,
}

/// Meaning of a row of a time series between its neighbours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The value holds until the next row.
    Level,
    /// A level whose numbers stand for names.
    State,
    /// A level with the columns `least` and `greatest`: the extremes since the row before, or since the start.
    LevelWithExtremes,
    /// The value is the mean since the row before, or since the start.
    Rate,
}

impl Kind {
    /// Returns the name: `level`, `state` or `rate`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Level | Self::LevelWithExtremes => "level",
            Self::State => "state",
            Self::Rate => "rate",
        }
    }
}

/// Whether this is a time series that is sampled at the record's interval.
pub fn is_sampled(name: &str) -> bool {
    SERIES.iter().any(|series| series.column.name == name && series.sampled)
}

table! {
    /// One row per flow.
    FLOWS, FlowRow {
        flow: text, "", "Name of the flow.";
        transport: text, "", "`tcp`, `multipath`, `quic`, or `none` for datagrams and packets from outside. Counts that belong to TCP are missing with `quic`.";
        cc: text, "", "Congestion control of the sender; `none` for datagrams, missing for packets from outside without known connections.";
        outcome: text, "", "`running` at the end of the run, `completed` (all bytes received and acknowledged, all transfers done), `aborted` (a connection gave up) or `waiting` (not started).";
        start_s: real, "s", "Instant of the first packet sent (the SYN, if there is a handshake).";
        completion_s: real, "s", "From the first packet sent until the receiver has the last byte and the sender its acknowledgement, or until the last answer is received; missing if not completed.";
        completion_rx_s: real, "s", "From the first packet sent to the last byte received in order; missing if not completed.";
        completion_acked_s: real, "s", "From the first packet sent to the last byte acknowledged at the sender, which a proxy on the way may do before the receiver has it; missing if not completed, and for records.";
        throughput_bps: real, "bit/s", "8 x payload bytes that reached the receiver's TCP, duplicates included, over the run's duration.";
        goodput_bps: real, "bit/s", "8 x distinct payload bytes received in order, ready for the application to read, over the run's duration (RFC 2647 §3.17).";
        goodput_active_bps: real, "bit/s", "The same over the time from the flow's first packet to its completion or the end of the run.";
        delivered_bytes: whole, "B", "Distinct payload bytes received in order, ready for the application to read.";
        acked_bytes: whole, "B", "Payload bytes acknowledged at the sender.";
        sent_bytes: whole, "B", "Payload bytes sent, retransmissions included. Like the next columns, it counts the sender, or both ends where both have data to send (`request-response`, `page`), and all connections of the flow together.";
        retransmitted_bytes: maybe, "B", "Payload bytes sent again.";
        sent_packets: whole, "1", "Packets of the sender, SYN and FIN included.";
        arrived_packets: whole, "1", "Packets of the sender that reached the receiver uncorrupted, or the first proxy on their way that accepted them in its place (`split`, `satpep`, `cache`, `spoof`). Packets that a proxy made are not the sender's; copies by links and middleboxes are.";
        retransmissions: whole, "1", "Segments sent again.";
        spurious_retransmissions: maybe, "1", "Retransmissions of the sender that brought the receiver nothing new; those of proxies do not count, as in `retransmissions`.";
        timeouts: maybe, "1", "Expiries of the retransmission timer.";
        undos: maybe, "1", "Loss episodes, timeouts among them, found to be spurious and undone.";
        timeout_undos: maybe, "1", "Spurious timeouts that were undone; part of `undos`.";
        tail_loss_probes: maybe, "1", "Tail loss probes sent (RFC 8985 §7.3).";
        probe_repairs: maybe, "1", "Losses that a tail loss probe repaired (RFC 8985 §7.4.2).";
        lost_retransmissions: maybe, "1", "Retransmissions that the sender declared lost, each time counted.";
        reorderings: maybe, "1", "ACKs that showed reordering: they acknowledge data that was sent once and before data acknowledged earlier (RFC 8985 §6.2 step 3). Only senders with RACK count them; with `undo_shows_reordering`, ACKs that show repaired data to be late, not lost, count, too.";
        fast_retransmits: maybe, "1", "Times that duplicate or selective ACKs started loss recovery.";
        marked_packets: maybe, "1", "Packets with data that reached the receiver marked by a queue (CE, RFC 3168), where the flow uses marks.";
        ecn_reductions: maybe, "1", "Times that marks reduced the congestion window.";
        dummy_packets: maybe, "1", "Dummy segments sent, which probe for room and are not among the bytes sent (TCP-Peach).";
        keepalives: maybe, "1", "Keepalive probes of the sender on idle connections (RFC 9293 §3.8.4).";
        challenged: maybe, "1", "Segments that asked the sender for a challenge ACK (RFC 5961), whether one was sent or not.";
        tcp_efficiency_pct: real, "%", "100 x (sent - retransmitted) / sent payload bytes (RFC 6349 §4.2).";
        information_efficiency: real, "1", "Payload share of the packets sent x share of packets that arrived (Carek 2005).";
        rtt_to: text, "", "Far end of the round trips measured at the sender: the flow's other end, or the first proxy on its way that acknowledges in its place (`split`, `satpep`, `cache`, `spoof`); empty for datagrams except probes.";
        rtt_min_s: real, "s", "Smallest round-trip time seen, never from retransmitted segments.";
        rtt_mean_s: real, "s", "Mean round-trip time over ACKs of new data, or over the answers to probes.";
        rtt_p50_s: real, "s", "Median of the same (upper edge of a bin of at most 1.6 %).";
        rtt_p95_s: real, "s", "95 % quantile of the same.";
        rtt_p99_s: real, "s", "99 % quantile of the same.";
        cwnd_end_bytes: real, "B", "Congestion window at the end of the flow's latest connection, at the end that answers where both send data; missing without a connection.";
        ssthresh_end_bytes: real, "B", "Slow start threshold of the same; missing if it was never set.";
        start_up_s: real, "s", "Time that the sender spent opening its connection and in slow start before it lost anything. The next columns and this one exclude each other. They add up to the life of the connections: from the first packet to the last byte acknowledged, to the end of the application, or to the end of the run. Covers all connections of the flow, at the end that answers where both send data. Missing for datagrams.";
        cwnd_limited_s: real, "s", "Time in which the congestion window or the rate of pacing kept the sender from sending (RFC 4898, SndLimTimeCwnd).";
        rwnd_limited_s: real, "s", "Time in which the receiver's window did (RFC 4898, SndLimTimeRwin).";
        send_buffer_limited_s: real, "s", "Time in which the send buffer did: it was full, and all in it was sent.";
        app_limited_s: real, "s", "Time in which the application limited sending: all its data was sent, and the sender waited for ACKs or for more data (RFC 4898, SndLimTimeSnd).";
        recovery_s: real, "s", "Time in fast recovery: losses that duplicate or selective ACKs showed were being repaired.";
        timeout_s: real, "s", "Time lost to the retransmission timer: from when it was started, or the last partial ACK came, until what it found lost when it expired was repaired.";
        outage_s: real, "s", "Time in which a link of the path was down, forward or return, in any other state; missing for a flow over several paths, whose subflows have their own.";
        error_recovery_s: real, "s", "That part of `recovery_s` in which all losses being repaired were errors of links; the rest was congestion, or nothing was lost.";
        error_timeout_s: real, "s", "The same part of `timeout_s`.";
        congestion_losses: maybe, "1", "Packets of the sender with data that congestion took: causes `queue-overflow`, `early-drop`, `forced-drop`, `push-out` and `policy`.";
        link_losses: maybe, "1", "Packets of the sender with data that were lost for any other cause: errors of links, outages, handovers. Losses of packets that a proxy made are only in the table `drops`.";
        reductions: maybe, "1", "Times that the sender took losses for congestion, which asks its congestion control for a reduction; marks do not count.";
        spurious_reductions: maybe, "1", "Those of them where none of the data outstanding was lost.";
        error_reductions: maybe, "1", "Those of them where all losses in the window were errors of links.";
        errors_taken_for_congestion: maybe, "1", "Packets lost in those windows: errors of links that the sender took for congestion.";
        reinjected_bytes: maybe, "B", "Payload bytes that a second subflow was given although another one carried them; missing with one path.";
        data_duplicate_bytes: maybe, "B", "Payload bytes that arrived on any subflow and brought nothing new to the data; missing with one path, as are the next columns.";
        hol_held_s: real, "s", "Time in which the receiver held data behind missing data of another subflow or its own (head-of-line blocking).";
        hol_held_bytes_max: maybe, "B", "Most data held so.";
        reordering_depth_max: maybe, "1", "Most segments that arrived beyond missing data, between two advances of the data in order.";
        congestion_taken_for_errors: maybe, "1", "Packets lost to congestion while the sender attributed all losses of a window to errors of a link and did not reduce.";
    }
}

table! {
    /// Further columns of the table `subflows`: one row per subflow of a flow over several paths. The columns of `flows` come
    /// first, and `flow` is `FLOW.SUBFLOW`.
    SUBFLOWS, SubflowRow {
        subflow_of: text, "", "Name of the flow that it belongs to.";
        delivered_share: real, "1", "Share of the flow's data that arrived first over this subflow; missing without data.";
        joins: whole, "1", "Times that it was established.";
        failures: whole, "1", "Times that it was given up for new data: its retransmission timer expired, or its path was reported to fail.";
    }
}

table! {
    /// One row per link and direction.
    LINKS, LinkRow {
        link: text, "", "Name of the link with its direction: `NAME.forward`, `NAME.reverse`.";
        utilisation: real, "1", "Time in which the link was sending, over the run's duration.";
        carried_bps: real, "bit/s", "8 x bytes put on the link, headers included, framing not, over the run's duration; packets that an outage cut off count whole.";
        offered_packets: whole, "1", "Packets handed to the link.";
        carried_packets: whole, "1", "Packets whose sending began, corrupted and cut off ones included.";
        carried_bytes: whole, "B", "Bytes of those, headers included, framing not.";
        resent_packets: whole, "1", "Retransmissions by this link's ARQ, each counted; their bytes are in `carried_bps`, not in `carried_bytes`.";
        corrupted_packets: whole, "1", "Packets that this link corrupted.";
        dropped_packets: whole, "1", "Packets that this link lost (in its queue, in an outage, by errors that lose); corrupted ones are dropped, and counted, where they arrive.";
        marked_packets: whole, "1", "Packets that this link's queue marked instead of dropping them (CE, RFC 3168 §5).";
        l4s_packets: whole, "1", "Packets that left the L queue of a DualPI2 queue (RFC 9332); 0 with other queues.";
        l4s_native_marks: whole, "1", "Packets of the L queue that were marked because they had waited longer than the step.";
        l4s_coupled_marks: whole, "1", "Other packets of the L queue that were marked. Marks in the C queue are the rest of `marked_packets`.";
        l4s_queue_mean_s: real, "s", "Mean time that packets waited in the L queue; missing without such packets.";
        l4s_queue_p99_s: real, "s", "99 % quantile of the same.";
        classic_queue_mean_s: real, "s", "Mean time that packets waited in the C queue; missing without such packets.";
        queue_mean_s: real, "s", "Mean time that carried packets waited before their sending began.";
        queue_p50_s: real, "s", "Median of the same (upper edge of a bin of at most 1.6 %).";
        queue_p95_s: real, "s", "95 % quantile of the same.";
        queue_p99_s: real, "s", "99 % quantile of the same.";
        queue_max_bytes: whole, "B", "Largest backlog, without the packet in transmission.";
        queue_end_packets: whole, "1", "Packets waiting or in flight on this link when the run ended.";
    }
}

table! {
    /// One row per flow and class of sizes, for flows that make several transfers.
    COMPLETIONS, CompletionRow {
        flow: text, "", "Name of the flow.";
        sizes: text, "", "Class of the transfers' sizes; `all` comes first.";
        transfers: whole, "1", "Completed transfers. A transfer is a file, an answer with its request, or a page.";
        failed: real, "1", "Transfers whose connection gave up, and records that were lost; only in the row of all sizes, as is the next.";
        unfinished: real, "1", "Transfers under way when the run ended. They are not in the times: where there are many, the times are too short.";
        size_mean_bytes: real, "B", "Mean size; of an answer or of all objects of a page where there are such.";
        duration_mean_s: real, "s", "Mean time from the start of a transfer (opening its connection, if it is new) to the last byte acknowledged; or to the last byte of the answer or of the page read.";
        duration_min_s: real, "s", "Shortest of these times.";
        duration_p50_s: real, "s", "Median of these times (upper edge of a bin of at most 1.6 %).";
        duration_p95_s: real, "s", "95 % quantile of the same.";
        duration_p99_s: real, "s", "99 % quantile of the same.";
        slowdown_mean: real, "1", "Mean of duration over the shortest duration of the path: round trips to open and to be answered without queues, waits of the application, and the transmission time of all bytes at the bottleneck's largest rate. Missing for pages.";
        slowdown_p50: real, "1", "Median of the same.";
        slowdown_p99: real, "1", "99 % quantile of the same.";
    }
}

table! {
    /// One row per completed transfer, in the order of completion.
    TRANSFERS, TransferRow {
        flow: text, "", "Name of the flow.";
        transfer: whole, "1", "Index among those of the flow, from 0. The same transfer has the same size and, where it does not wait for another, the same start under every sender.";
        start_s: real, "s", "Instant at which it started.";
        size_bytes: whole, "B", "Its size: of the file, of the answer, or of all objects of the page.";
        duration_s: real, "s", "Time from its start until the receiver has the last byte and the sender its acknowledgement; or to the last byte of the answer or of the page read.";
        duration_rx_s: real, "s", "Time from its start to the last byte received at the other end; the same as `duration_s` for answers and pages.";
        duration_acked_s: real, "s", "Time from its start to the last byte acknowledged at the sender, which a proxy on the way may do before the other end has it; the same as `duration_s` for answers, pages and records.";
        slowdown: real, "1", "Duration over the least that the path allows; missing for pages.";
    }
}

table! {
    /// One row per flow of datagrams. A flow with several receivers has a row for each.
    DATAGRAMS, DatagramRow {
        flow: text, "", "Name of the flow.";
        receiver: text, "", "Node of the receiver.";
        sent_packets: whole, "1", "Datagrams sent. Each receiver of a flow has them all, and the links carry one packet for several.";
        arrived_packets: whole, "1", "Datagrams that arrived, copies included; answers to probes not.";
        lost_packets: whole, "1", "Datagrams lost, answers to probes included. Other missing datagrams were under way when the run ended.";
        loss_pct: real, "%", "100 x lost / sent.";
        delay_min_s: real, "s", "Shortest one-way delay, from sending to arrival (RFC 7679).";
        delay_mean_s: real, "s", "Mean one-way delay.";
        delay_p50_s: real, "s", "Median one-way delay (upper edge of a bin of at most 1.6 %).";
        delay_p95_s: real, "s", "95 % quantile of the same.";
        delay_p99_s: real, "s", "99 % quantile of the same.";
        jitter_s: real, "s", "Mean absolute difference of the delays of datagrams that arrived one after the other (RFC 3393 §1.1).";
        interarrival_jitter_s: real, "s", "Interarrival jitter, smoothed over 16 arrivals, after the last one (RFC 3550 §6.4.1).";
        late_packets: real, "1", "Media packets that arrived after their playout; missing without a time of playout.";
        file_complete_s: real, "s", "Time from the start of the flow until the receiver has its file; missing without a file, and if it has not.";
        file_lacks_packets: real, "1", "Packets that the receiver lacked for its file when the run ended; missing without a file.";
    }
}

table! {
    /// One row per flow over QUIC.
    QUIC, QuicRow {
        flow: text, "", "Name of the flow.";
        connections: whole, "1", "Connections that were opened.";
        idle_timeouts: whole, "1", "Connections of these that the idle timeout ended (RFC 9000 §10.1). The next transfer opens another one.";
        handshake_s: real, "s", "Time from the first packet until the handshake is complete at the opener, of the first connection; missing without one.";
        first_byte_s: real, "s", "Time from the first packet until the receiver of the data has read some, on the first connection; missing if it has not.";
        sent_datagrams: whole, "1", "Datagrams of the sender of the data.";
        arrived_datagrams: whole, "1", "Datagrams that arrived at the receiver of the data.";
        declared_lost: whole, "1", "Packets that the sender declared lost (RFC 9002 §6). Their data leaves in new packets.";
        needless: whole, "1", "Packets of these that the receiver has got, before or after: reordering, or a longer delay, and no loss.";
        reductions: whole, "1", "Times that losses or marks reduced the sender's window.";
        acks: whole, "1", "Frames with acknowledgements that the receiver sent.";
        blocked: whole, "1", "Frames of the sender that report a window of flow control as the limit (RFC 9000 §4.1).";
        unreadable: whole, "1", "Datagrams that their end could not read.";
        passed: whole, "1", "Packets of both directions that proxies passed on because they cannot read them. Each proxy counts.";
        failure: text, "", "The stack's reason for the end of the last connection, if the flow or one of its transfers failed; otherwise empty.";
    }
}

table! {
    /// One row per probe, by flow in the order of sending.
    PROBES, ProbeRow {
        flow: text, "", "Name of the flow.";
        number: whole, "1", "Number among those of the flow, from 0.";
        outcome: text, "", "`answered`, `lost` (the probe or its answer), or `under-way` when the run ended.";
        sent_s: real, "s", "Instant at which it was sent.";
        rtt_s: real, "s", "Round-trip time: from sending the probe to the arrival of its first answer (RFC 2681); missing without one.";
        forward_s: real, "s", "One-way delay to the other end, which answers at once (RFC 7679); missing if the probe did not arrive there.";
        reverse_s: real, "s", "One-way delay of the answer; missing without one from the other end. `rtt_s` is the sum of both.";
        cause: text, "", "Why the probe or its answer was lost: see the list of causes; empty unless `lost`.";
    }
}

table! {
    /// One row per place, flow and cause.
    DROPS, DropRow {
        place as "where": text, "", "The link (`NAME.forward`) or node where the packets were lost.";
        flow: text, "", "The flow that they belonged to.";
        cause: text, "", "Why: see the list of causes.";
        packets: whole, "1", "How many.";
        bytes: whole, "B", "Their bytes, headers included.";
    }
}

table! {
    /// One row per medium.
    MEDIA, MediumRow {
        medium: text, "", "Name of the medium.";
        granted_bytes: whole, "B", "Bytes in the bursts that links might send, those of random access included; bytes of all frames of a forward carrier. Used and unused bytes add up to it.";
        used_bytes: whole, "B", "Bytes in bursts with data, or in frames. Carried, header and padding bytes add up to it, with the plans in frames.";
        carried_bytes: whole, "B", "Bytes of packets in bursts or frames.";
        header_bytes: whole, "B", "Bytes of encapsulation in bursts with data, with the room for requests; in frames of a forward carrier.";
        padding_bytes: whole, "B", "Bytes of bursts with data, or of frames, that stayed empty.";
        unused_bytes: whole, "B", "Bytes in bursts without data.";
        control_slots: whole, "1", "Slots for requests and reports, without data.";
        plan_bytes: whole, "B", "Bytes of the plans of the controller; on a forward carrier: bytes of plans in frames.";
        requests_in_bursts: whole, "1", "Requests in the first burst of a window.";
        requests_in_control: whole, "1", "Requests in control slots.";
        requests_in_random: whole, "1", "Requests in bursts of random access.";
        requests_lost: whole, "1", "Requests that did not reach the controller.";
        random_bursts: whole, "1", "Bursts of random access.";
        random_lost: whole, "1", "Bursts of random access that collided and were not read.";
        log_ons: whole, "1", "Log-ons of terminals.";
        log_on_bursts: whole, "1", "Bursts for log-ons.";
        log_on_lost: whole, "1", "Bursts for log-ons that were not read.";
        log_on_mean_s: real, "s", "Mean time of a log-on: from its need, such as a reset of the hub, to the answer.";
        log_on_max_s: real, "s", "Longest time of a log-on: the length of a storm.";
        grant_wait_mean_s: real, "s", "Mean wait of a packet at the link: from its arrival to the end of its last burst or frame, without the bursts or frames with its parts. Covers packets that arrived.";
        grant_wait_p95_s: real, "s", "95 % quantile of the same (upper edge of a bin of at most 1.6 %).";
        jain: real, "1", "Jain's index of the bytes that the terminals carried: (sum x)^2 / (n sum x^2), 1/n to 1.";
    }
}

table! {
    /// One row per link and direction in a medium.
    TERMINALS, TerminalRow {
        link: text, "", "Name of the link with its direction: `NAME.forward`, `NAME.reverse`.";
        medium: text, "", "Name of its medium.";
        grant_wait_mean_s: real, "s", "Mean wait of a packet at the link: from its arrival to the end of its last burst or frame, without the bursts or frames with its parts. Covers packets that arrived.";
        grant_wait_p95_s: real, "s", "95 % quantile of the same (upper edge of a bin of at most 1.6 %).";
        asking_mean_s: real, "s", "Mean part of this wait without capacity to come: the terminal has no window in the superframe and no promised rate, so it asks or waits for the answer. 0 on a forward carrier.";
        behind_mean_s: real, "s", "Mean part behind packets of the same link: capacity goes to packets before it.";
        turn_mean_s: real, "s", "Mean part as the next packet: its window, burst or frame has not begun. The three parts add up to the wait.";
        sending_mean_s: real, "s", "Mean time of the bursts or frames with parts of the packet.";
        air_mean_s: real, "s", "Mean propagation, with processing at the far end. The wait, the bursts and this add up to the mean delay over the link.";
        granted_bps: real, "bit/s", "8 x bytes in the bursts that the link might send, or of its parts of frames, over the run's duration.";
        unused_share: real, "1", "Share of these bytes in bursts without data.";
    }
}

table! {
    /// One row per medium and modulation and code that it granted.
    MODCODS, ModcodRow {
        medium: text, "", "Name of the medium.";
        waveform: whole, "1", "Number of the waveform (EN 301 545-2 annex A), or of the modulation and code (EN 302 307-1 table 12).";
        modcod: text, "", "Modulation and code rate.";
        bursts: whole, "1", "Bursts granted in it, or frames.";
        time_s: real, "s", "Time of these bursts or frames, over all carriers.";
    }
}

table! {
    /// One row: the run as a whole.
    SUMMARY, SummaryRow {
        stop: text, "", "Why the run ended: `time-limit`, `completed` (every transfer done), `interrupted`, or `ended` (the emulated program ended).";
        simulated_s: real, "s", "Simulated time at the end.";
        goodput_bps: real, "bit/s", "Sum of the flows' goodput.";
        jain: real, "1", "Jain's index of the flows' goodput: (sum x)^2 / (n sum x^2), 1/n to 1.";
        sent_packets: whole, "1", "Packets that hosts and middleboxes put into the network.";
        delivered_packets: whole, "1", "Packets that reached a host uncorrupted.";
        lost_packets: whole, "1", "Packets lost, for all causes.";
        in_flight_packets: whole, "1", "Packets in queues, on links and in middleboxes at the end; sent = delivered + lost + in flight.";
        on_links_packets: whole, "1", "Packets in flight at the end that are on a link: being sent, or under way.";
        queued_packets: whole, "1", "Packets in flight at the end that wait in a queue or in a middlebox.";
        stranded_packets: whole, "1", "Packets in flight at the end that wait for a link that is away or down.";
        packet_hops: whole, "1", "Packets carried over one link each: the measure of work.";
        completion_mean_s: real, "s", "Mean of `completion_s` over the flows that end by themselves; missing if one of them did not complete.";
        completion_bound_s: real, "s", "As `completion_s`, but an incomplete flow counts with its time from the first packet to the end of the scenario's duration. The mean is at least this (right-censored, Kaplan and Meier 1958).";
        transfers: whole, "1", "Transfers that are complete, of flows that make several.";
        transfers_failed: whole, "1", "Transfers whose connection gave up, and records that were lost.";
        transfers_unfinished: whole, "1", "Transfers under way when the run ended.";
        transfer_mean_s: real, "s", "Mean duration of the transfers that are complete, over all such flows.";
        transfer_p50_s: real, "s", "Median of the same (upper edge of a bin of at most 1.6 %).";
        transfer_p95_s: real, "s", "95 % quantile of the same.";
        transfer_p99_s: real, "s", "99 % quantile of the same.";
        slowdown_mean: real, "1", "Mean slowdown of the transfers that have one: duration over the least that the path allows.";
    }
}

series! {
    /// Series of the ends of a flow: a row is written when the value changes.
    SenderSeries (Entity::Flow, sampled: false) {
        Cwnd "cwnd_bytes", "B", "Congestion window of the flow's latest connection.";
        Ssthresh "ssthresh_bytes", "B", "Slow start threshold; no row before it is first set.";
        Srtt "srtt_s", "s", "Smoothed round-trip time (RFC 6298).";
        Rto "rto_s", "s", "Retransmission timeout in force, backoff included (RFC 6298).";
        FlightSize "flight_size_bytes", "B", "Data sent and not acknowledged (RFC 5681).";
        ReceiveWindow "receive_window_bytes", "B", "Window that the receiver advertised last.";
        DeliveryRate "delivery_rate_bps", "bit/s", "Rate at which the path took the last data acknowledged, as the sender estimates it.";
        LimitedBy (State) "limited_by", "1", "Limit of the sender: 0 no limit, 1 start-up, 2 the congestion window, 3 the receiver's window, 4 the send buffer, 5 the application, 6 fast recovery, 7 the retransmission timer.";
        HeldBytes "held_bytes", "B", "Data that the receiver of a flow over several paths holds behind missing data.";
        PacingRate "pacing_rate_bps", "bit/s", "Pacing rate of the sender, headers included; no row without pacing.";
        Delay "delay_s", "s", "One-way delay of the datagram that arrived last, such as a packet of a call: from its sending until its receiver has it.";
    }
    /// Series of the values inside a congestion control: a row is written when the value changes.
    InsideSeries (Entity::Flow, sampled: false) {
        State (State) "cc_state", "1", "State of the congestion control, by its number in the list of states. The column `name` has its name, and `why` the reason for it.";
        PacingGain "cc_pacing_gain", "1", "Factor of the pacing rate over the estimated bandwidth (BBR, LeoCC).";
        CwndGain "cc_cwnd_gain", "1", "Factor of the congestion window over estimated bandwidth times least round-trip time (BBR, LeoCC).";
        Bandwidth "cc_bandwidth_bps", "bit/s", "Bandwidth that the congestion control estimates, payload only (BBR: max_bw).";
        MinRtt "cc_min_rtt_s", "s", "Round-trip time without queues that the congestion control estimates (BBR: min_rtt, Vegas: BaseRTT).";
        InflightLongterm "cc_inflight_longterm_bytes", "B", "Long-term bound of the data in flight (BBR v2, v3); missing without a bound.";
        InflightShortterm "cc_inflight_shortterm_bytes", "B", "Short-term bound of the data in flight, set by losses between probes (BBR v2, v3); missing without a bound.";
        BandwidthShortterm "cc_bw_shortterm_bps", "bit/s", "Short-term bound of the bandwidth, set by losses between probes, payload only (BBR v2, v3); missing without a bound.";
        ExtraAcked "cc_extra_acked_bytes", "B", "Room in the congestion window for ACKs that arrive in bursts (BBR).";
        FullBandwidth "cc_full_bw_reached", "1", "Whether the pipe has been found full (BBR, LeoCC): 0 or 1.";
        Values "cc_values", "1", "Other values inside the congestion control, each with its name in the column `name`; those of a custom congestion control among them. The suffix of a name is the unit.";
    }
    /// Series of a flow, sampled at the interval of the record.
    FlowSeries (Entity::Flow, sampled: true) {
        Goodput (Rate) "goodput_bps", "bit/s", "Bytes delivered in order in the last interval, as a rate.";
    }
    /// Series of a link, sampled at the interval of the record.
    LinkSeries (Entity::Link, sampled: true) {
        QueueBytes (LevelWithExtremes) "queue_bytes", "B", "Waiting bytes, without the packet in transmission. The columns `least` and `greatest` have the extremes since the row before.";
        QueuePackets (LevelWithExtremes) "queue_packets", "1", "Waiting packets, without the packet in transmission. The columns `least` and `greatest` are as in `queue_bytes`.";
        Carried (Rate) "carried_bps", "bit/s", "Bytes put on the link in the last interval, as a rate.";
        Waveform (State) "modcod", "1", "Number of the waveform that the controller plans for the link (EN 301 545-2 annex A), or of the modulation and code on a forward carrier (EN 302 307-1 table 12); no row if none fits the signal.";
        Granted (Rate) "granted_bps", "bit/s", "Bytes in the bursts that the link might send in the last interval, or of its parts of frames, as a rate, in a medium.";
        Requested "requested_bps", "bit/s", "Rate that the link asks for beyond its constant rate, in a medium.";
        Backlog "backlog_bytes", "B", "Bytes that waited when the last superframe started, with the rest of a packet in service, in a medium; on a forward carrier: at the sample.";
    }
}

/// States of congestion controls, in the order of their numbers in the series `cc_state`: name and meaning. States of
/// custom congestion controls follow, in the order of their appearance in the run.
pub const CC_STATES: &[(&str, &str)] = &[
    ("startup", "Doubles the rate in each round trip until the pipe is full (BBR, LeoCC)."),
    ("drain", "Sends less than the bandwidth to empty the queue of Startup (BBR, LeoCC)."),
    ("probe-bw-down", "Sends less than the bandwidth to empty the queue of a probe (BBR, LeoCC)."),
    ("probe-bw-cruise", "Sends at the bandwidth (BBR, LeoCC)."),
    ("probe-bw-refill", "Fills the pipe for a round trip before a probe (BBR v2, v3)."),
    ("probe-bw-up", "Sends more than the bandwidth to probe for more (BBR, LeoCC)."),
    ("probe-rtt", "Keeps a small window to measure the round-trip time without a queue (BBR, LeoCC)."),
    ("default", "Keeps the queue short (Copa)."),
    ("competitive", "Competes with flows that fill the queue (Copa)."),
    ("fast", "Grows as Scalable TCP, because the queue is short (YeAH)."),
    ("slow", "Grows as Reno, because the queue is long (YeAH)."),
    ("slow-start", "Doubles the window in each round trip up to its threshold (RFC 5681)."),
    (
        "conservative-slow-start",
        "Grows slower than in slow start, because the round trip has grown (HyStart++, RFC 9406).",
    ),
    ("avoidance", "Probes for more slowly, above the threshold (RFC 5681 and others)."),
    ("rapid-start", "Grows faster than in slow start, because ACKs are early (rapid start)."),
];

/// Lists of happenings, recorded like a series: name, and meaning of a row.
pub const HAPPENINGS: &[(&str, &str)] = &[
    ("events", "Events of each connection, with their times."),
    ("decisions", "All events except `sent` and `acked`, which every packet has."),
    ("losses", "Lost packets: time, place, flow, cause and bytes."),
    ("objects", "Objects of pages: the times of their requests, first and last bytes."),
];

table! {
    /// One row per lost packet, in order of time, kept if the series `losses` is recorded.
    LOSSES, LossRow {
        time_s: real, "s", "When it was lost; a corrupted packet where it was dropped.";
        place as "where": text, "", "The link (`NAME.forward`) or node where it was lost.";
        flow: text, "", "The flow that it belonged to, or the subflow as `FLOW.SUBFLOW`.";
        cause: text, "", "Why: see the list of causes.";
        bytes: whole, "B", "Its bytes, headers included.";
        data_bytes: whole, "B", "Payload bytes among them.";
        offset_bytes: real, "B", "Offset of its data among those of its connection; missing without data, and for datagrams.";
    }
}

/// Name and meaning of the list that adds up time by its use, recorded like a series.
pub const CRITICAL_PATH_SERIES: (&str, &str) = (
    "critical_path",
    "The time of transfers and datagrams by its use, along the path from the last packet back to the first.",
);

table! {
    /// One row per object of a page, in order of the last bytes, kept if the series `objects` is recorded. An object whose
    /// last byte did not arrive has no row.
    OBJECTS, ObjectRow {
        flow: text, "", "Name of the flow.";
        page: whole, "1", "Number of the page among those of the flow, from 0.";
        object: whole, "1", "Number of the object among those of the page; 0 is the main object.";
        after: real, "1", "Number of the object that names it; missing for the main object.";
        host: whole, "1", "Number of its host, from 0.";
        bytes: whole, "B", "Its size.";
        due_s: real, "s", "When the page needed it. Its request may then wait for an idle connection, or for the TLS handshake of a new one.";
        request_s: real, "s", "When its request was handed to TCP, which sends it when its own handshake is over.";
        first_byte_s: real, "s", "When its first byte was read.";
        last_byte_s: real, "s", "When its last byte was read.";
    }
}

table! {
    /// One row per flow and part of its time, kept with the series `critical_path`. The parts of a flow add up to the
    /// time of all its transfers.
    CRITICAL_PATH, CriticalPathRow {
        flow: text, "", "Name of the flow.";
        part: text, "", "The part: see the list of parts.";
        place as "where": text, "", "The link (`NAME.forward`) or node of the part; empty for hosts and the whole path.";
        by: text, "", "The flow whose packets were sent meanwhile, the first of its entry; only in queues.";
        total_s: real, "s", "Time of the part, over all transfers.";
        trips: real, "1", "Packets on the critical paths, one way each, that travelled for this; where two paths are as critical, a share of each.";
        transfers: whole, "1", "Number of transfers of the flow that are complete, or of datagrams that arrived, the same for all parts. A transfer that the end of the run cut off counts for a flow that has no other, up to the last packet that arrived.";
    }
}

names! {
    /// Parts of the time of a transfer or datagram.
    PATH_PARTS, pub PathPart {
        Queue "queue", "", "Waiting in the queue of a link while it sends packets of others.";
        Access "access", "", "Waiting for a medium: until the next window in which the link may send opens, or the next frame with data of the link starts; also between the bursts or frames of a packet.";
        Transmission "transmission", "", "Sending bytes of the same transfer on a link, one packet after the other.";
        Shaper "shaper", "", "Waiting for tokens of a link's shaper, for bytes of the same transfer.";
        Outage "outage", "", "Waiting for a link that sends nothing: it is down, or it repairs what was damaged.";
        Opening "opening", "", "Propagation and processing of the packets that open a connection.";
        Exchange "exchange", "", "Propagation and processing of requests, of the first data that answer them, and of datagrams.";
        SlowStart "slow-start", "", "Propagation and processing of data that the congestion window had held back in slow start, with their ACKs.";
        Window "window", "", "Propagation and processing of data that the congestion window had held back later.";
        ReceiveWindow "receive-window", "", "Propagation and processing of data that the receiver's window had held back.";
        SendBuffer "send-buffer", "", "Propagation and processing of data for which the send buffer had no room.";
        Repair "repair", "", "Propagation and processing of retransmissions, and of data that recovery had held back.";
        Timeout "timeout", "", "Waiting for the retransmission timer, or a probe's.";
        DelayedAck "delayed-ack", "", "Waiting for an ACK that the receiver delays.";
        Pacing "pacing", "", "Waiting for a sender that spaces its packets.";
        Application "application", "", "Waiting for an application: to parse, to answer, to read.";
        Middlebox "middlebox", "", "Held at a node by its middleboxes.";
        Rest "rest", "", "Time without a packet that explains it, such as that of records that share a connection.";
    }
}

names! {
    /// Events: rows of (time_s, flow, event, value), kept if the series `events` or `decisions` is recorded.
    EVENTS, pub EventKind {
        Established "established", "1", "The connection is open; value 0.";
        FastRetransmit "fast_retransmit", "B", "Loss recovery begins; value: offset of the missing byte.";
        RecoveryExit "recovery_exit", "B", "Loss recovery ends; value: offset acknowledged.";
        SlowStartExit "slow_start_exit", "B", "Slow start ends, by a loss or before it; value: the congestion window that it reached.";
        ResumeUnvalidated "resume_unvalidated", "B", "Careful resume jumps (RFC 9959); value: the congestion window.";
        ResumeValidating "resume_validating", "B", "Careful resume has sent the jump, and waits for its acknowledgement; value: the congestion window.";
        ResumeRetreat "resume_retreat", "B", "The jump was too large: careful resume retreats; value: the congestion window.";
        ResumeNormal "resume_normal", "B", "Careful resume ends; value: the congestion window.";
        Timeout "timeout", "B", "The retransmission timer expired; value: offset of the missing byte.";
        Undo "undo", "B", "The last loss episode was spurious and is undone; value: offset acknowledged.";
        ErrorReport "error_report", "B", "A node of the network has reported a segment as corrupted, and it leaves again; value: its offset.";
        Retransmission "retransmission", "B", "A segment is retransmitted; value: its offset.";
        Sent "sent", "B", "A segment with data is sent for the first time; value: its offset.";
        Dummy "dummy", "B", "A dummy segment is sent (TCP-Peach); value: the offset of the data that it copies.";
        Acked "acked", "B", "An ACK arrived; value: offset acknowledged, the same again with a duplicate ACK.";
        Reduction "reduction", "B", "Losses are attributed to congestion, and the congestion control reduces its window; value: offset up to which data had been sent.";
        NoReduction "no_reduction", "B", "Losses are taken for errors of a link: the window stays; value: the same.";
        EcnReduction "ecn_reduction", "B", "Marks reduced the window; value: offset acknowledged.";
        ZeroWindow "zero_window", "B", "The receiver's window closed; value: offset acknowledged.";
        Completed "completed", "B", "All data are acknowledged; value: bytes.";
        Transfer "transfer", "B", "A transfer of a flow that makes several is complete; value: its bytes.";
        SubflowJoined "subflow_joined", "1", "A subflow is established; value: times that it was before.";
        SubflowFailed "subflow_failed", "1", "A subflow gets no new data: it does not deliver; value 0.";
        SubflowRestored "subflow_restored", "1", "A subflow that had failed delivers again; value 0.";
        SubflowReset "subflow_reset", "1", "Either end resets a subflow; value: the code of the reason (RFC 8684 §3.6).";
        Reinjected "reinjected", "B", "Data is given to this subflow although another one carries it; value: its offset in the data of the flow.";
        Penalised "penalised", "1", "The window of this subflow is halved, because its data blocked the receive window; value 0.";
        Keepalive "keepalive", "1", "A keepalive probe is sent; value: probes without an answer so far, this one included.";
        PeerLost "peer_lost", "1", "Keepalive probes got no answer, and the connection is given up; value: their number.";
        Aborted "aborted", "B", "The connection gave up; value: offset of the missing byte.";
        LinkError "link_error", "B", "A loss is taken for a link error, as the advertised window has not fallen; value: offset of the missing byte.";
    }
}

names! {
    /// Causes of packet loss: a closed list.
    CAUSES, pub Cause {
        BitError "bit-error", "", "Corrupted on a link and dropped where it arrived.";
        QueueOverflow "queue-overflow", "", "Found the queue full.";
        EarlyDrop "early-drop", "", "Dropped early by active queue management, to tell its sender (RFC 7567).";
        ForcedDrop "forced-drop", "", "Dropped by active queue management because the average queue is beyond its upper threshold (RED).";
        Outage "outage", "", "On a link, or in its queue, when it went down, or offered to a link that was down.";
        Handover "handover", "", "On a path that was taken away.";
        RouteMissing "route-missing", "", "No link to go on.";
        TooBig "too-big", "", "Larger than the MTU of the link, dropped in front of it.";
        NoListener "no-listener", "", "Reached a host whose connection was closed or not yet open.";
        Policy "policy", "", "Dropped on purpose by a middlebox.";
        LinkLoss "link-loss", "", "Lost on a link, by errors that lose packets instead of corrupting them.";
        AccessCollision "access-collision", "", "In a burst of random access that collided with others and was not read.";
        AcmOutage "acm-outage", "", "In a burst whose signal was below the threshold of its waveform.";
        NoWaveform "no-waveform", "", "Dropped by a queue in front of a medium while the signal of its link was below every waveform that it may use.";
        Policed "policed", "", "Found too few tokens in the policer of a link, or larger than the burst of its shaper.";
        PushOut "push-out", "", "Pushed out of a full queue by packets of a higher class, waiting or arriving.";
    }
}
