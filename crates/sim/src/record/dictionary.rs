//! Every column of every table and every time series: name, unit, meaning, source. Tables, Python
//! docs, axis labels and the reference page come from here; nothing is recorded that is not in here.

/// One column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// Name in tables; ends in its unit where it has one.
    pub name: &'static str,
    /// `s`, `B`, `bit/s`, `%`, `1` (a ratio or count) or empty (text).
    pub unit: &'static str,
    /// What it is, in one sentence, with the source of its definition.
    pub meaning: &'static str,
    /// Whether its values are whole numbers.
    pub is_whole: bool,
}

const fn column(name: &'static str, unit: &'static str, meaning: &'static str) -> Column {
    Column { name, unit, meaning, is_whole: false }
}

/// A column of whole numbers.
const fn whole(name: &'static str, unit: &'static str, meaning: &'static str) -> Column {
    Column { name, unit, meaning, is_whole: true }
}

/// One row per flow.
pub const FLOWS: &[Column] = &[
    column("flow", "", "Name of the flow."),
    column("cc", "", "Congestion control of the sender; `none` for datagrams."),
    column("outcome", "", "`running` at the end of the run, `completed` (all bytes acknowledged, all transfers done), `aborted` (a connection gave up) or `waiting` (not started)."),
    column("start_s", "s", "Instant of the first packet sent (the SYN, if there is a handshake)."),
    column("completion_s", "s", "From the first packet sent to the last byte acknowledged at the sender, or to the last answer received; missing if not completed."),
    column("completion_rx_s", "s", "From the first packet sent to the last byte received in order; missing if not completed."),
    column("throughput_bps", "bit/s", "8 x payload bytes that reached the receiver's TCP, duplicates included, over the run's duration."),
    column("goodput_bps", "bit/s", "8 x distinct payload bytes delivered in order to the application, over the run's duration (RFC 2647 §3.17)."),
    column("goodput_active_bps", "bit/s", "The same over the time from the flow's first packet to its completion or the end of the run."),
    whole("delivered_bytes", "B", "Distinct payload bytes delivered in order to the application."),
    whole("acked_bytes", "B", "Payload bytes acknowledged at the sender."),
    whole("sent_bytes", "B", "Payload bytes sent, retransmissions included. This and what follows is of the sender, or of both ends where both have data to send (`request-response`, `page`), and of all connections of the flow together."),
    whole("retransmitted_bytes", "B", "Payload bytes sent again."),
    whole("sent_packets", "1", "Packets of the sender, SYN and FIN included."),
    whole("arrived_packets", "1", "Packets of the sender that reached the receiver uncorrupted."),
    whole("retransmissions", "1", "Segments sent again."),
    whole("spurious_retransmissions", "1", "Retransmissions that brought the receiver nothing new."),
    whole("timeouts", "1", "Expiries of the retransmission timer."),
    whole("undone", "1", "Loss episodes, timeouts among them, found to be spurious and undone."),
    whole("fast_retransmits", "1", "Times that duplicate or selective ACKs started loss recovery."),
    whole("marked_packets", "1", "Packets with data that reached the receiver marked by a queue (CE, RFC 3168), where the flow uses marks."),
    whole("mark_reductions", "1", "Times that marks reduced the congestion window."),
    whole("dummy_packets", "1", "Dummy segments sent, which probe for room and are not among the bytes sent (TCP-Peach)."),
    column("tcp_efficiency_pct", "%", "100 x (sent - retransmitted) / sent payload bytes (RFC 6349 §4.2)."),
    column("information_efficiency", "1", "Payload share of the packets sent x share of packets that arrived (Carek 2005)."),
    column("rtt_min_s", "s", "Smallest round-trip time seen, never from retransmitted segments."),
    column("rtt_mean_s", "s", "Mean round-trip time over ACKs of new data."),
    column("rtt_p50_s", "s", "Median round-trip time over ACKs of new data (upper edge of a bin of at most 1.6 %)."),
    column("rtt_p95_s", "s", "95 % quantile of the same."),
    column("rtt_p99_s", "s", "99 % quantile of the same."),
    column("cwnd_end_bytes", "B", "Congestion window at the end of the flow's latest connection, at the end that answers where both send data; missing without a connection."),
    column("ssthresh_end_bytes", "B", "Slow start threshold of the same; missing if it was never set."),
    column("start_up_s", "s", "Time that the sender spent opening its connection and in slow start before it lost anything. This and what follows exclude each other and sum up to the life of the connection, from its first packet to the last byte acknowledged, to when its application leaves it, or to the end of the run; over all connections of the flow, at the end that answers where both send data; missing for datagrams."),
    column("cwnd_limited_s", "s", "Time in which the congestion window or the rate of pacing kept the sender from sending (RFC 4898, SndLimTimeCwnd)."),
    column("rwnd_limited_s", "s", "Time in which the receiver's window did (RFC 4898, SndLimTimeRwin)."),
    column("send_buffer_limited_s", "s", "Time in which the send buffer did: it was full, and all in it was sent."),
    column("app_limited_s", "s", "Time in which the application did: all that it wanted to send was sent, and the sender waited for ACKs or for more (RFC 4898, SndLimTimeSnd)."),
    column("recovery_s", "s", "Time in fast recovery: losses that duplicate or selective ACKs showed were being repaired."),
    column("timeout_s", "s", "Time lost to the retransmission timer: from when it was started, or the last partial ACK came, until what it found lost when it expired was repaired."),
    column("outage_s", "s", "Time in which a link of the path was down, there or back, whatever else held."),
];

/// One row per link and direction.
pub const LINKS: &[Column] = &[
    column("link", "", "Name of the link with its direction: `NAME.forward`, `NAME.reverse`."),
    column("utilisation", "1", "Time in which the link was sending, over the run's duration."),
    column("carried_bps", "bit/s", "8 x bytes put on the link, headers included, over the run's duration."),
    whole("offered_packets", "1", "Packets handed to the link."),
    whole("carried_packets", "1", "Packets whose sending began, corrupted and cut off ones included."),
    whole("carried_bytes", "B", "Bytes of those, headers included."),
    whole("corrupted_packets", "1", "Packets that this link corrupted."),
    whole("dropped_packets", "1", "Packets that this link lost (in its queue, in an outage, by errors that lose); corrupted ones are dropped, and counted, where they arrive."),
    whole("marked_packets", "1", "Packets that this link's queue marked instead of dropping them (CE, RFC 3168 §5)."),
    column("queue_mean_s", "s", "Mean time that carried packets waited before their sending began."),
    column("queue_p50_s", "s", "Median of the same (upper edge of a bin of at most 1.6 %)."),
    column("queue_p95_s", "s", "95 % quantile of the same."),
    column("queue_p99_s", "s", "99 % quantile of the same."),
    whole("queue_max_bytes", "B", "Largest backlog, the packet being sent not included."),
    whole("queue_end_packets", "1", "Packets waiting or in flight on this link when the run ended."),
];

/// One row per flow and class of sizes, for flows that make several transfers.
pub const COMPLETIONS: &[Column] = &[
    column("flow", "", "Name of the flow."),
    column("sizes", "", "Class of the transfers' sizes; `all` comes first."),
    whole("transfers", "1", "Transfers that are complete. What a transfer is: a file, an answer with its request, a page."),
    column("failed", "1", "Transfers whose connection gave up; only in the row of all sizes, as is the next."),
    column("unfinished", "1", "Transfers under way when the run ended. They are not in the times: where there are many, the times are too short."),
    column("size_mean_bytes", "B", "Mean size; of an answer or of all objects of a page where there are such."),
    column("duration_mean_s", "s", "Mean time from the start of a transfer (opening its connection, if it is new) to the last byte acknowledged; or to the last byte of the answer or of the page read."),
    column("duration_min_s", "s", "Shortest of these times."),
    column("duration_p50_s", "s", "Median of these times (upper edge of a bin of at most 1.6 %)."),
    column("duration_p95_s", "s", "95 % quantile of the same."),
    column("duration_p99_s", "s", "99 % quantile of the same."),
    column("slowdown_mean", "1", "Mean of duration over the least that the path allows: round trips to open and to be answered without queues, waits of the application, and sending all bytes with headers once at the bottleneck's largest rate; missing for pages."),
    column("slowdown_p50", "1", "Median of the same."),
    column("slowdown_p99", "1", "99 % quantile of the same."),
];

/// One row per transfer that is complete, in the order in which they were completed.
pub const TRANSFERS: &[Column] = &[
    column("flow", "", "Name of the flow."),
    whole("transfer", "1", "Index among those of the flow, from 0. The same transfer has the same size and, where it does not wait for another, the same start under every sender."),
    column("start_s", "s", "Instant at which it started."),
    whole("size_bytes", "B", "Its size: of the file, of the answer, or of all objects of the page."),
    column("duration_s", "s", "Time from its start to the last byte acknowledged; or to the last byte of the answer or of the page read."),
    column("duration_rx_s", "s", "Time from its start to the last byte received at the other end; the same as `duration_s` for answers and pages."),
    column("slowdown", "1", "Duration over the least that the path allows; missing for pages."),
];

/// One row per flow of datagrams.
pub const DATAGRAMS: &[Column] = &[
    column("flow", "", "Name of the flow."),
    whole("sent_packets", "1", "Datagrams sent."),
    whole("arrived_packets", "1", "Datagrams that arrived, copies included."),
    whole("lost_packets", "1", "Datagrams lost; what is neither lost nor arrived was on its way when the run ended."),
    column("loss_pct", "%", "100 x lost / sent."),
    column("delay_min_s", "s", "Shortest one-way delay, from sending to arrival (RFC 7679)."),
    column("delay_mean_s", "s", "Mean one-way delay."),
    column("delay_p50_s", "s", "Median one-way delay (upper edge of a bin of at most 1.6 %)."),
    column("delay_p95_s", "s", "95 % quantile of the same."),
    column("delay_p99_s", "s", "99 % quantile of the same."),
    column(
        "jitter_s",
        "s",
        "Mean absolute difference of the delays of datagrams that arrived one after the other (RFC 3393 §1.1).",
    ),
];

/// One row per place, flow and cause.
pub const DROPS: &[Column] = &[
    column("where", "", "The link (`NAME.forward`) or node where the packets were lost."),
    column("flow", "", "The flow that they belonged to."),
    column("cause", "", "Why: see the list of causes."),
    whole("packets", "1", "How many."),
    whole("bytes", "B", "Their bytes, headers included."),
];

/// One row: the run as a whole.
pub const SUMMARY: &[Column] = &[
    column("stop", "", "Why the run ended: `time-limit`, `completed` (every transfer done) or `interrupted`."),
    column("simulated_s", "s", "Simulated time at the end."),
    column("goodput_bps", "bit/s", "Sum of the flows' goodput."),
    column("jain", "1", "Jain's index of the flows' goodput: (sum x)^2 / (n sum x^2), 1/n to 1."),
    whole("sent_packets", "1", "Packets that hosts and middleboxes put into the network."),
    whole("delivered_packets", "1", "Packets that reached a host uncorrupted."),
    whole("lost_packets", "1", "Packets lost, for all causes."),
    whole(
        "in_flight_packets",
        "1",
        "Packets in queues, on links and in middleboxes at the end; sent = delivered + lost + in flight.",
    ),
    whole("packet_hops", "1", "Packets carried over one link each: the measure of work."),
    column(
        "completion_mean_s",
        "s",
        "Mean of `completion_s` over the flows that have an end of their own; missing if one of them did not complete.",
    ),
    column(
        "completion_bound_s",
        "s",
        "The same, where a flow that did not complete counts with the time that it had, from its first packet to the end of \
         the scenario's duration: the mean is at least this (right-censored, Kaplan and Meier 1958).",
    ),
    whole("transfers", "1", "Transfers that are complete, of flows that make several."),
    whole("transfers_failed", "1", "Transfers whose connection gave up."),
    whole("transfers_unfinished", "1", "Transfers under way when the run ended."),
    column("transfer_mean_s", "s", "Mean duration of the transfers that are complete, over all such flows."),
    column("transfer_p50_s", "s", "Median of the same (upper edge of a bin of at most 1.6 %)."),
    column("transfer_p95_s", "s", "95 % quantile of the same."),
    column("transfer_p99_s", "s", "99 % quantile of the same."),
    column(
        "slowdown_mean",
        "1",
        "Mean slowdown of the transfers that have one: duration over the least that the path allows.",
    ),
];

/// What a time series belongs to.
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
    /// Name, unit, meaning.
    pub column: Column,
    /// What it belongs to.
    pub entity: Entity,
    /// Sampled at the record's interval; otherwise a row is written when the value changes.
    pub sampled: bool,
}

const fn series(
    name: &'static str,
    unit: &'static str,
    meaning: &'static str,
    entity: Entity,
    sampled: bool,
) -> Series {
    Series { column: column(name, unit, meaning), entity, sampled }
}

/// All time series.
pub const SERIES: &[Series] = &[
    series(
        "cwnd_bytes",
        "B",
        "Congestion window; like what follows, of the flow's latest connection.",
        Entity::Flow,
        false,
    ),
    series("ssthresh_bytes", "B", "Slow start threshold; no row before it is first set.", Entity::Flow, false),
    series("srtt_s", "s", "Smoothed round-trip time (RFC 6298).", Entity::Flow, false),
    series("rto_s", "s", "Retransmission timeout in force, backoff included (RFC 6298).", Entity::Flow, false),
    series("flight_size_bytes", "B", "Data sent and not acknowledged (RFC 5681).", Entity::Flow, false),
    series("receive_window_bytes", "B", "Window that the receiver advertised last.", Entity::Flow, false),
    series(
        "delivery_rate_bps",
        "bit/s",
        "Rate at which the path took the last data acknowledged, as the sender estimates it.",
        Entity::Flow,
        false,
    ),
    series(
        "pacing_rate_bps",
        "bit/s",
        "Rate at which the sender spaces its packets, headers included; no row without pacing.",
        Entity::Flow,
        false,
    ),
    series("goodput_bps", "bit/s", "Bytes delivered in order in the last interval, as a rate.", Entity::Flow, true),
    series("queue_bytes", "B", "Bytes waiting, the packet being sent not included.", Entity::Link, true),
    series("queue_packets", "1", "Packets waiting, the one being sent not included.", Entity::Link, true),
    series("carried_bps", "bit/s", "Bytes put on the link in the last interval, as a rate.", Entity::Link, true),
];

/// What happened, when: rows of (time_s, flow, event, value), kept when the series `events` is asked for.
pub const EVENTS: &[Column] = &[
    column("established", "1", "The connection is open; value 0."),
    column("fast_retransmit", "B", "Loss recovery begins; value: offset of the missing byte."),
    column("recovery_exit", "B", "Loss recovery ends; value: offset acknowledged."),
    column(
        "slow_start_exit",
        "B",
        "Slow start ends, by a loss or before it; value: the congestion window that it reached.",
    ),
    column("timeout", "B", "The retransmission timer expired; value: offset of the missing byte."),
    column("undone", "B", "The last loss episode was spurious and is undone; value: offset acknowledged."),
    column("retransmission", "B", "A segment is sent again; value: its offset."),
    column("sent", "B", "A segment with data is sent for the first time; value: its offset."),
    column("dummy", "B", "A dummy segment is sent (TCP-Peach); value: the offset of the data that it copies."),
    column("acked", "B", "An ACK arrived; value: offset acknowledged, the same again with a duplicate ACK."),
    column("mark_reduction", "B", "Marks reduced the window; value: offset acknowledged."),
    column("zero_window", "B", "The receiver's window closed; value: offset acknowledged."),
    column("completed", "B", "All data are acknowledged; value: bytes."),
    column("transfer", "B", "A transfer of a flow that makes several is complete; value: its bytes."),
    column("aborted", "B", "The connection gave up; value: offset of the missing byte."),
];

/// Why packets are lost: a closed list.
pub const CAUSES: &[Column] = &[
    column("bit-error", "", "Corrupted on a link and dropped where it arrived."),
    column("queue-overflow", "", "Found the queue full."),
    column("early-drop", "", "Dropped early by active queue management, to tell its sender (RFC 7567)."),
    column(
        "forced-drop",
        "",
        "Dropped by active queue management because the average queue is beyond its upper threshold (RED).",
    ),
    column("outage", "", "On a link, or in its queue, when it went down, or offered to a link that was down."),
    column("handover", "", "On a path that was taken away."),
    column("route-missing", "", "No link to go on."),
    column("no-listener", "", "Reached a host whose connection was closed or not yet open."),
    column("policy", "", "Dropped on purpose by a middlebox."),
    column("link-loss", "", "Lost on a link, by errors that lose packets instead of corrupting them."),
    column(
        "push-out",
        "",
        "Made way in a full queue for packets of a higher class, those that waited or one that came.",
    ),
];
