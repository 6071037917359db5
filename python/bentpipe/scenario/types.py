"""The scenario as typed dictionaries. Generated from the schema; do not edit."""

from __future__ import annotations

from typing import Dict, List, Literal, Tuple, TypedDict, Union

_CcBbr1Required = TypedDict(
    "_CcBbr1Required",
    {
        "kind": Literal["bbr1"],
    },
)


class CcBbr1(_CcBbr1Required, total=False):
    """A model of the path, bandwidth and round-trip time, instead of losses (BBR v1, Cardwell et al. 2016; Linux).

    quantum :
        How much is handed down at once. Default: "segment".

    policer :
        Whether it looks for policers. Default: true.

    rwnd_limited_is_app_limited :
        Whether samples at the limit of the receiver's window only raise the bandwidth. Default: false.

    leo :
        Whether the sender is notified when the path is reconfigured. Then losses do not count for half a second, the least round-trip time is measured again, and the bandwidth is kept two cycles longer. Default: false.

    period :
        Time between reconfigurations; 0: there are none. Default: "15 s".

    offset :
        Time of the first reconfiguration in the simulation. Default: "0 s".
    """

    quantum: Literal["segment", "offload"]
    policer: bool
    rwnd_limited_is_app_limited: bool
    leo: bool
    period: str
    offset: str

_CcBbr2Required = TypedDict(
    "_CcBbr2Required",
    {
        "kind": Literal["bbr2"],
    },
)


class CcBbr2(_CcBbr2Required, total=False):
    """BBR that keeps losses below 2 % (BBR v2, alpha release of 2019).

    loss_threshold :
        Share of the data in flight whose loss bounds them. Default: 0.02.

    beta :
        Share that a bound keeps at least. Default: 0.7.

    headroom :
        Share of the long-term bound that is left free between probes. Default: 0.15.

    up_ends :
        The end of Up, if losses do not end it. Default: "queue".

    quantum :
        How much is handed down at once. Default: "segment".

    rwnd_limited_is_app_limited :
        Whether samples at the limit of the receiver's window only raise the bandwidth. Default: false.

    leo :
        Whether the sender is notified when the path is reconfigured. Then losses do not count for half a second, the least round-trip time is measured again, and the bandwidth is kept two cycles longer. Default: false.

    period :
        Time between reconfigurations; 0: there are none. Default: "15 s".

    offset :
        Time of the first reconfiguration in the simulation. Default: "0 s".
    """

    loss_threshold: float
    beta: float
    headroom: float
    up_ends: Literal["queue", "plateau"]
    quantum: Literal["segment", "offload"]
    rwnd_limited_is_app_limited: bool
    leo: bool
    period: str
    offset: str

_CcBbr3Required = TypedDict(
    "_CcBbr3Required",
    {
        "kind": Literal["bbr3"],
    },
)


class CcBbr3(_CcBbr3Required, total=False):
    """BBR of the IETF's working group: bounds on the data in flight, probes that make room first (draft-ietf-ccwg-bbr).

    profile :
        Which one. Default: "draft".

    loss_threshold :
        Share of the data in flight whose loss bounds them. Default: 0.02.

    beta :
        Share that a bound keeps at least. Default: 0.7.

    headroom :
        Share of the long-term bound that is left free between probes. Default: 0.15.

    quantum :
        How much is handed down at once. Default: "segment".

    rwnd_limited_is_app_limited :
        Whether samples at the limit of the receiver's window only raise the bandwidth. Default: false.

    leo :
        Whether the sender is notified when the path is reconfigured. Then losses do not count for half a second, the least round-trip time is measured again, and the bandwidth is kept two cycles longer. Default: false.

    period :
        Time between reconfigurations; 0: there are none. Default: "15 s".

    offset :
        Time of the first reconfiguration in the simulation. Default: "0 s".
    """

    profile: Literal["draft", "code"]
    loss_threshold: float
    beta: float
    headroom: float
    quantum: Literal["segment", "offload"]
    rwnd_limited_is_app_limited: bool
    leo: bool
    period: str
    offset: str

_CcBicRequired = TypedDict(
    "_CcBicRequired",
    {
        "kind": Literal["bic"],
    },
)


class CcBic(_CcBicRequired, total=False):
    """Binary search for the window at which the last loss came (Xu, Harfoush and Rhee 2004).

    form :
        Which form of the search. Default: "linux".

    low_window :
        Up to this window, in segments, it is Reno. Default: 14.

    smax :
        Segments added in a round trip at most. Default: 16.0.

    smin :
        Segments added in a round trip at least; in the paper's form. Default: 0.01.

    divisor :
        What part of the distance is covered in a round trip, as a divisor; in Linux's form. Default: 4.

    smooth_part :
        Round trips for that many segments near the maximum; in Linux's form. Default: 20.

    whole_steps :
        The step is a whole number of segments; in Linux's form. Default: true.

    step_factor :
        What all steps above the low window are multiplied with. 1.9375 is how Linux 2.6 behaves with an ACK for each segment: its estimate of segments per ACK begins with two and, in whole numbers, does not fall below 31/16. Default: 1.0.

    beta :
        Share of the window that a loss leaves, in thousandths. Default: 0.8.

    fast_convergence :
        A loss below the last one's window takes more from the maximum, so that newcomers find room. Default: true.

    first_growth :
        Share of the window that a round trip adds at least before the first loss. Default: 0.05.

    reset_on_rto :
        A timeout makes it forget the maximum. Default: true.
    """

    form: Literal["linux", "paper"]
    low_window: int
    smax: float
    smin: float
    divisor: int
    smooth_part: int
    whole_steps: bool
    step_factor: float
    beta: float
    fast_convergence: bool
    first_growth: float
    reset_on_rto: bool

_CcCompoundRequired = TypedDict(
    "_CcCompoundRequired",
    {
        "kind": Literal["compound"],
    },
)

_CcCompoundOptional = TypedDict(
    "_CcCompoundOptional",
    {
        "lambda": float,
    },
    total=False,
)


class CcCompound(_CcCompoundRequired, _CcCompoundOptional, total=False):
    """Reno's window and a delay-based one beside it (Tan, Song, Zhang and Sridharan 2006).

    alpha :
        α: what the power of the window is multiplied with, for segments per round trip. Default: 0.125.

    beta :
        Share of the window that a loss takes. Default: 0.5.

    k :
        k: the power of the window that it grows by. Default: 0.75.

    zeta :
        ζ: segments that go for each segment queued. Default: 1.0.

    gamma :
        γ: segments queued from which the delay-based window shrinks. Default: 30.0.

    gamma_tuning :
        Whether γ is tuned by what Reno's part queues before losses. Default: true.

    gamma_min :
        The least γ of the tuning, segments. Default: 5.0.

    gamma_max :
        The greatest γ of the tuning, segments. Default: 30.0.

    lambda :
        λ: share of its error by which γ moves. Default: 0.25.

    low_window :
        Below this window, in segments, it is Reno. Default: 38.

    below_low_window :
        What becomes of the delay-based window below that. Default: "drop".

    base_rtt_window :
        How long the least round-trip time is remembered; 0: for the connection. 10 s suits low orbits. Default: "0 s".
    """

    alpha: float
    beta: float
    k: float
    zeta: float
    gamma: float
    gamma_tuning: bool
    gamma_min: float
    gamma_max: float
    low_window: int
    below_low_window: Literal["drop", "keep"]
    base_rtt_window: str

_CcCopaRequired = TypedDict(
    "_CcCopaRequired",
    {
        "kind": Literal["copa"],
    },
)


class CcCopa(_CcCopaRequired, total=False):
    """About two segments queued, by a rate in inverse proportion to their delay (Arun and Balakrishnan 2018).

    delta :
        δ of the default mode: 1/δ segments are to wait in the queue. Default: 0.5.

    competitive :
        Whether others that fill the queue are answered with a smaller δ. Default: true.

    competitive_step :
        What 1/δ grows by in a round trip of competitive mode. Default: 1.0.

    empty_share :
        The queue counts as empty below this share of the greatest delay in it. Default: 0.1.

    empty_within :
        Round trips in which the queue has to be empty once, else the mode is competitive. Default: 5.

    rtt_max_rounds :
        Round trips that the greatest delay is remembered. Default: 4.

    rtt_min_window :
        How long the least round-trip time is remembered. Default: "10 s".

    standing_share :
        The window over which RTTstanding is the minimum, as a share of the smoothed round-trip time. Default: 0.5.

    steady_rounds :
        Round trips that the direction has to hold before v doubles. Default: 3.

    reset_at_once :
        v is 1 at the first ACK that asks for the other direction, not only when a window was sent in it. Default: true.

    pacing_gain :
        Pacing, in windows per standing round-trip time. Default: 2.0.

    min_window :
        The least window but after a timeout, segments. Default: 2.
    """

    delta: float
    competitive: bool
    competitive_step: float
    empty_share: float
    empty_within: int
    rtt_max_rounds: int
    rtt_min_window: str
    standing_share: float
    steady_rounds: int
    reset_at_once: bool
    pacing_gain: float
    min_window: int

_CcCubicRequired = TypedDict(
    "_CcCubicRequired",
    {
        "kind": Literal["cubic"],
    },
)


class CcCubic(_CcCubicRequired, total=False):
    """A cubic function of the time since the last loss (RFC 9438).

    c :
        How steep the function is, segments/s³. Default: 0.4.

    beta :
        Share of the window that a loss leaves, in thousandths. Default: 0.7.

    fast_convergence :
        A loss below the last one's window takes more from the plateau, so that newcomers find room. Default: true.

    reno_friendly :
        Never grows slower than Reno would. Default: true.

    growth :
        What the window comes nearer to its target by. Default: "segment".

    after_rto :
        What the first congestion avoidance after a timeout starts from. Default: "rfc".

    first_growth :
        Share of the window by which it grows at least in a round trip, as long as no loss has shown what the path holds. Default: 0.0.
    """

    c: float
    beta: float
    fast_convergence: bool
    reno_friendly: bool
    growth: Literal["segment", "ack"]
    after_rto: Literal["rfc", "reset"]
    first_growth: float

_CcEnhancedHswaRequired = TypedDict(
    "_CcEnhancedHswaRequired",
    {
        "kind": Literal["enhanced-hswa"],
    },
)


class CcEnhancedHswa(_CcEnhancedHswaRequired, total=False):
    """HSWA's increment, and the window that the estimated bandwidth fills, also before a loss (Pandya and Shaikh).

    error_rate :
        p: error rate of the satellite link. Default: 1e-6.

    least_error_rate :
        The least error rate that counts, so that the increment is finite. Default: 1e-10.

    a :
        A: segments for each halving of the error rate. Default: 10.0.

    per :
        Per what the increment is added. Default: "rtt".

    cwnd_lim :
        cwnd_lim: the largest window, segments; 0: the one that the receiver advertises. Default: 0.

    third_case_from :
        TD from which nothing is added, as a multiple of BaseTD. Default: 2.0.

    epsilon :
        By which share TD may exceed BaseTD and be equal to it. Default: 0.01.

    avg_rtt :
        Which mean of the round-trip times counts. Default: "all".

    from_start :
        Whether the rule takes the place of the first slow start. Default: false.

    delta :
        δ: by which share a round trip may exceed the mean. Default: 0.05.

    rto :
        What a timeout leaves. Default: "hold".

    link_rate :
        C: rate of the link, bit/s, for f; 0: f is 1. Default: 0.0.

    tau :
        τ of the filter: 1 / τ is its cut-off frequency. Default: "500 ms".

    connections :
        n: connections that share the link, as an oracle knows; each grows by an nth of the increment. Default: 1.

    queue_target :
        From which queueing delay on nothing is added, and less and less below it; a loss with a longer one halves the window. 0: it is not looked at. Default: "0 s".

    measures_errors :
        Whether the error rate is that of the connection's own losses instead of `error_rate`: lost over sent bytes, a mean over the last thousand segments. Default: false.

    virtual_samples :
        m: while nothing arrives, samples of nothing do at each τ / m; 0: they do not. Default: 2.
    """

    error_rate: float
    least_error_rate: float
    a: float
    per: Literal["rtt", "ack"]
    cwnd_lim: int
    third_case_from: float
    epsilon: float
    avg_rtt: Literal["all", "ewma"]
    from_start: bool
    delta: float
    rto: Literal["hold", "reset"]
    link_rate: float
    tau: str
    connections: int
    queue_target: str
    measures_errors: bool
    virtual_samples: int

_CcHighspeedRequired = TypedDict(
    "_CcHighspeedRequired",
    {
        "kind": Literal["highspeed"],
    },
)


class CcHighspeed(_CcHighspeedRequired, total=False):
    """The larger the window, the more for each ACK and the less off for each loss (RFC 3649).

    low_window :
        Up to this window, in segments, it is Reno. Default: 38.

    low_p :
        Loss rate, per segment, at which the window is `low_window` on average. Default: 0.001.

    high_window :
        Segments at which a loss takes `high_decrease`. Default: 83000.

    high_p :
        Loss rate, per segment, at which the window is `high_window` on average. Default: 1e-7.

    high_decrease :
        Share of a window of `high_window` and more that a loss takes. Default: 0.1.

    parameters :
        Where increase and decrease are from; with the table the other numbers but `low_window` mean nothing. Default: "formula".

    at_least_reno :
        Whether it never adds less than Reno where the formula does, as just above `low_window`. Default: true.

    timeout_halves :
        Whether a timeout halves the threshold; otherwise it takes what a loss takes. Default: false.
    """

    low_window: int
    low_p: float
    high_window: int
    high_p: float
    high_decrease: float
    parameters: Literal["formula", "row_below", "row_above"]
    at_least_reno: bool
    timeout_halves: bool

_CcHswaRequired = TypedDict(
    "_CcHswaRequired",
    {
        "kind": Literal["hswa"],
    },
)


class CcHswa(_CcHswaRequired, total=False):
    """An increment by the error rate of the satellite link, less as the round trip lengthens (Ge 2009).

    error_rate :
        p: error rate of the satellite link. Default: 1e-6.

    least_error_rate :
        The least error rate that counts, so that the increment is finite. Default: 1e-10.

    a :
        A: segments for each halving of the error rate. Default: 10.0.

    per :
        Per what the increment is added. Default: "rtt".

    cwnd_lim :
        cwnd_lim: the largest window, segments; 0: the one that the receiver advertises. Default: 0.

    third_case_from :
        TD from which nothing is added, as a multiple of BaseTD. Default: 2.0.

    epsilon :
        Largest excess of TD over BaseTD that counts as equal, a share of BaseTD. A large one takes the delay out of the rule. Default: 0.01.

    avg_rtt :
        Which mean of the round-trip times counts. Default: "all".

    from_start :
        Whether the rule takes the place of the first slow start. Default: false.
    """

    error_rate: float
    least_error_rate: float
    a: float
    per: Literal["rtt", "ack"]
    cwnd_lim: int
    third_case_from: float
    epsilon: float
    avg_rtt: Literal["all", "ewma"]
    from_start: bool

_CcHtcpRequired = TypedDict(
    "_CcHtcpRequired",
    {
        "kind": Literal["htcp"],
    },
)


class CcHtcp(_CcHtcpRequired, total=False):
    """Faster the longer since congestion, and back by what empties the queue (Leith and Shorten 2004).

    low_speed :
        Δ_L: so long after congestion it grows like Reno. Default: "1 s".

    rtt_scaling :
        Whether the increase is scaled by the least round-trip time over 100 ms, within 0.1 and 2. Default: true.

    adaptive_backoff :
        Whether a loss takes what empties the queue; if not, always 1 - beta_min. Default: true.

    bandwidth_switch :
        Whether a changed throughput makes a loss take 1 - beta_min. Default: true.

    bandwidth_change :
        Share by which throughput must change for that. Default: 0.2.

    beta_min :
        The least share of the window that a loss leaves. Default: 0.5.

    beta_max :
        The greatest share of the window that a loss leaves. Default: 0.8.

    adaptive_above :
        Up to this least round-trip time the backoff is not adaptive. Default: "10 ms".

    rtt_max_fade :
        Share of the greatest queueing delay that congestion leaves in memory. Default: 0.95.

    rtt_max_step :
        By how much one sample may raise the greatest round-trip time. Default: "20 ms".

    rtt_max_rise :
        What a sample does that would raise it by more. Default: "clip".
    """

    low_speed: str
    rtt_scaling: bool
    adaptive_backoff: bool
    bandwidth_switch: bool
    bandwidth_change: float
    beta_min: float
    beta_max: float
    adaptive_above: str
    rtt_max_fade: float
    rtt_max_step: str
    rtt_max_rise: Literal["clip", "ignore"]

_CcHyblaRequired = TypedDict(
    "_CcHyblaRequired",
    {
        "kind": Literal["hybla"],
    },
)


class CcHybla(_CcHyblaRequired, total=False):
    """On a long path as fast as Reno would be on a path of 25 ms (Caini and Firrincieli 2004).

    rtt0 :
        Round-trip time of the path that it wants to be as fast as (RTT0). Default: "25 ms".

    rtt :
        The round-trip time that is compared with it. Default: "minimum".

    eighths :
        Whether ρ is a whole number of eighths. Default: false.

    exponent_max :
        The largest ρ in the exponent of slow start. Default: 16.0.

    needs_ssthresh :
        Whether slow start is the standard's as long as there is no threshold. Default: true.

    initial_window :
        The initial window. Default: "rho".

    scaled_ssthresh :
        Whether the initial threshold is multiplied by ρ. Default: false.

    rho_after_timeout :
        Whether a timeout leaves ρ segments; otherwise one. Default: false.

    reno_after_timeout :
        Whether it grows as Reno until what was sent before a timeout is acknowledged. Default: true.
    """

    rtt0: str
    rtt: Literal["minimum", "smoothed"]
    eighths: bool
    exponent_max: float
    needs_ssthresh: bool
    initial_window: Literal["connection", "scaled", "rho"]
    scaled_ssthresh: bool
    rho_after_timeout: bool
    reno_after_timeout: bool

_CcIllinoisRequired = TypedDict(
    "_CcIllinoisRequired",
    {
        "kind": Literal["illinois"],
    },
)


class CcIllinois(_CcIllinoisRequired, total=False):
    """Increase and decrease by the queueing delay, on loss (Liu, Başar and Srikant 2006).

    alpha_max :
        Segments per round trip while the queue is short. Default: 10.0.

    alpha_min :
        Segments per round trip when the delay is at its greatest. Default: 0.3.

    beta_min :
        Share of the window that a loss takes while the queue is short. Default: 0.125.

    beta_max :
        Share of the window that a loss takes when the delay is near its greatest. Default: 0.5.

    alpha_delay :
        d1: share of the greatest queueing delay up to which the increase is alpha_max. Default: 0.01.

    beta_delay_low :
        d2: share of the greatest queueing delay up to which a loss takes beta_min. Default: 0.1.

    beta_delay_high :
        d3: share of the greatest queueing delay from which a loss takes beta_max. Default: 0.8.

    theta :
        θ: round trips with a short queue before the increase is alpha_max again. Default: 5.

    in_a_row :
        Whether those round trips must follow one another; if not, a long queue in between does not clear the count. Default: true.

    low_window :
        Below this window, in segments, it is Reno. Default: 15.

    max_rtt_window :
        How long the greatest round-trip time is remembered; 0: for the connection. 10 s suits low orbits. Default: "0 s".

    base_rtt_window :
        How long the least round-trip time is remembered; 0: for the connection. 10 s suits low orbits. Default: "0 s".
    """

    alpha_max: float
    alpha_min: float
    beta_min: float
    beta_max: float
    alpha_delay: float
    beta_delay_low: float
    beta_delay_high: float
    theta: int
    in_a_row: bool
    low_window: int
    max_rtt_window: str
    base_rtt_window: str

_CcLedbatRequired = TypedDict(
    "_CcLedbatRequired",
    {
        "kind": Literal["ledbat"],
    },
)


class CcLedbat(_CcLedbatRequired, total=False):
    """Keeps a tenth of a second queued and gives way to all who queue more (RFC 6817).

    target :
        The time that is to be spent in queues. Default: "100 ms".

    gain :
        How fast the window answers, in segments per round trip at no queue. Default: 1.0.

    allowed_increase :
        What the window may exceed the data in flight by, in segments. Default: 1.0.

    base_history :
        How many least delays are kept; the least of them is the empty path's. Default: 10.

    base_interval :
        The time that each of them is the least of. Default: "60 s".

    current_filter :
        Number of last samples whose minimum is the present delay. Default: 4.

    initial_window :
        The window at the start, segments, if the connection does not start with less. Default: 2.

    min_window :
        The least window but after a timeout, segments. Default: 2.

    slow_start_until :
        Share of the target that may be queued before slow start ends, below the threshold; 0: no slow start. Default: 0.0.

    delay :
        Which delay is looked at. Default: "one-way".
    """

    target: str
    gain: float
    allowed_increase: float
    base_history: int
    base_interval: str
    current_filter: int
    initial_window: int
    min_window: int
    slow_start_until: float
    delay: Literal["one-way", "round-trip"]

_CcLeoccRequired = TypedDict(
    "_CcLeoccRequired",
    {
        "kind": Literal["leocc"],
    },
)


class CcLeocc(_CcLeoccRequired, total=False):
    """BBR that probes the path again after each satellite reconfiguration (Lai et al. 2025).

    reallocation :
        How LeoCC knows when reconfigurations are due. Default: "announced".

    period :
        Time from one reallocation of the satellites to the next. Default: "15 s".

    offset :
        When the first of them happens, from the start of the run. Default: "12 s".

    jump :
        By how much the least round-trip time of a hundred-and-fiftieth of the period changes at those that are found. Default: "6 ms".

    trigger :
        How long before each ProbeRtt begins. Default: "100 ms".

    high_gain :
        Gain of Startup, and of the window in Drain. Default: 2.885.

    drain_gain :
        Gain of the pace in Drain. Default: 0.347.

    cwnd_gain :
        Gain of the window in DynamicCruise. Default: 2.0.

    probe_gain :
        First gain of the pace in DynamicCruise. Default: 1.25.

    fluctuation_gain :
        The same while the round-trip time fluctuates. Default: 1.05.

    yield_gain :
        Second gain of the pace in DynamicCruise. Default: 0.75.

    probe_rtt :
        How long ProbeRtt keeps the window small. Default: "200 ms".

    probe_rtt_gain :
        Gain of the window in ProbeRtt. Default: 0.5.

    min_window :
        The least window but after a timeout, segments. Default: 4.

    min_rtt_window :
        How long the least round-trip time is used without a lower one, before ProbeRtt looks for it. Default: "20 s".

    min_rtt_fluctuation :
        The round-trip time fluctuates where it exceeds the least by this much. Default: "10 ms".

    delta_thresh :
        In ProbeRtt, a round-trip time that falls by more shows that the path is another one. Default: "45 ms".

    bw_rounds :
        Round trips of which the greatest rate is the bandwidth. Default: 10.

    kalman_q :
        Q of both filters, what a state changes by itself. Default: 4.0.

    kalman_r :
        R of both filters, what a sample is off by. Default: 4.0.

    kalman_p0 :
        P that both filters begin with. Default: 25.0.

    bandwidth_after :
        What bandwidth begins after a reconfiguration that no fall of the round-trip time showed. Default: "latest".
    """

    reallocation: Literal["announced", "detected"]
    period: str
    offset: str
    jump: str
    trigger: str
    high_gain: float
    drain_gain: float
    cwnd_gain: float
    probe_gain: float
    fluctuation_gain: float
    yield_gain: float
    probe_rtt: str
    probe_rtt_gain: float
    min_window: int
    min_rtt_window: str
    min_rtt_fluctuation: str
    delta_thresh: str
    bw_rounds: int
    kalman_q: float
    kalman_r: float
    kalman_p0: float
    bandwidth_after: Literal["latest", "before"]

_CcPeachRequired = TypedDict(
    "_CcPeachRequired",
    {
        "kind": Literal["peach"],
    },
)


class CcPeach(_CcPeachRequired, total=False):
    """Dummy segments of low priority find room in two round trips, at the start and after a loss (Akyildiz, Morabito and Palazzo 2001).

    probe_max :
        Largest window that Sudden Start probes for, segments; the receiver's window if that is smaller. Default: 1024.

    probe_again :
        The window that Sudden Start probes for after a timeout or an idle time, within the same limits. Default: "known".

    inflate :
        Whether duplicate ACKs inflate the window in recovery, as Reno's. Default: false.

    receiver_knows :
        Whether the receiver knows dummy segments; if not, this is Reno. Default: true.
    """

    probe_max: int
    probe_again: Literal["known", "all"]
    inflate: bool
    receiver_knows: bool

_CcPeachPlusRequired = TypedDict(
    "_CcPeachPlusRequired",
    {
        "kind": Literal["peach-plus"],
    },
)


class CcPeachPlus(_CcPeachPlusRequired, total=False):
    """Peach whose dummy segments carry unacknowledged data (Akyildiz, Zhang and Fang 2002).

    probe_max :
        Largest window that Jump Start probes for, segments; the receiver's window if that is smaller. Default: 1024.

    probe_again :
        The window that Jump Start probes for after a timeout or an idle time, within the same limits. Default: "known".

    repair :
        Whether dummies carry the oldest data that were not acknowledged, or those sent last as Peach's. Default: true.

    receiver_knows :
        Whether the receiver knows dummy segments; if not, this is Reno. Default: true.
    """

    probe_max: int
    probe_again: Literal["known", "all"]
    repair: bool
    receiver_knows: bool

_CcSantaCruzRequired = TypedDict(
    "_CcSantaCruzRequired",
    {
        "kind": Literal["santa-cruz"],
    },
)


class CcSantaCruz(_CcSantaCruzRequired, total=False):
    """Five segments queued, as relative delays of the forward path tell (Parsa and Garcia-Luna-Aceves 1999).

    operating_point :
        Segments that are to wait at the bottleneck. Default: 5.0.

    delta :
        The window stays while what waits differs by no more segments from that. Default: 0.5.

    delay :
        Which delay is looked at. Default: "one-way".
    """

    operating_point: float
    delta: float
    delay: Literal["one-way", "round-trip"]

_CcSatcpRequired = TypedDict(
    "_CcSatcpRequired",
    {
        "kind": Literal["satcp"],
    },
)


class CcSatcp(_CcSatcpRequired, total=False):
    """CUBIC that blames losses on handovers while one is due (Cao and Zhang 2023).

    reallocation :
        How SaTCP knows when handovers are due. Default: "announced".

    period :
        Time from one reallocation of the satellites to the next. Default: "15 s".

    offset :
        When the first of them happens, from the start of the run. Default: "12 s".

    jump :
        By how much the least round-trip time of a hundred-and-fiftieth of the period changes at those that are found. Default: "6 ms".

    early :
        How long before each the bit is set. Default: "500 ms".

    lasting :
        How long it stays set. Default: "2.3 s".

    keep_window :
        Losses and marks under the bit leave the window. Default: true.

    keep_state :
        Timeouts under the bit leave what CUBIC and slow start have learnt, and ssthresh at the window. Default: true.

    k_divisor :
        What K is divided by under the bit. Default: 9.0.

    c :
        How steep CUBIC's function is, segments/s³. Default: 0.4.

    beta :
        Share of the window that a loss leaves while the bit is not set. Default: 0.7.

    fast_convergence :
        A loss below the last one's window takes more from the plateau, so that newcomers find room. Default: true.

    reno_friendly :
        Never grows slower than Reno would. Default: true.

    growth :
        What the window comes nearer to its target by. Default: "segment".

    after_rto :
        What the first congestion avoidance after a timeout starts from, while the bit is not set. Default: "rfc".
    """

    reallocation: Literal["announced", "detected"]
    period: str
    offset: str
    jump: str
    early: str
    lasting: str
    keep_window: bool
    keep_state: bool
    k_divisor: float
    c: float
    beta: float
    fast_convergence: bool
    reno_friendly: bool
    growth: Literal["segment", "ack"]
    after_rto: Literal["rfc", "reset"]

_CcScalableRequired = TypedDict(
    "_CcScalableRequired",
    {
        "kind": Literal["scalable"],
    },
)


class CcScalable(_CcScalableRequired, total=False):
    """A fixed share of the window for each ACK and off for each loss (Kelly 2003).

    increase :
        Segments that each ACK of a segment adds to the window. Default: 0.01.

    decrease :
        Share of the window that a loss takes. Default: 0.125.

    low_window :
        Up to this window, in segments, it is Reno. Default: 16.

    halve_low :
        Whether it halves such a window for a loss, as Reno does; otherwise it takes `decrease` as above. Default: true.
    """

    increase: float
    decrease: float
    low_window: int
    halve_low: bool

_CcScpsRequired = TypedDict(
    "_CcScpsRequired",
    {
        "kind": Literal["scps"],
    },
)


class CcScps(_CcScpsRequired, total=False):
    """SCPS-TP's: Reno's window, Vegas or none at all, with a rate (CCSDS 714.0-B).

    congestion :
        The congestion control of the route. Default: "vj".

    rate :
        The rate of the route, headers and ACKs included; 0 bit/s: no rate control. Default: "0 bit/s".

    tick :
        Tick of the clock that the depth of the bucket is measured with. Default: "10 ms".

    depth :
        How many ticks' worth of packets may leave at once after a pause. Default: 5.
    """

    congestion: Literal["vj", "vegas", "none"]
    rate: str
    tick: str
    depth: int

_CcStpRequired = TypedDict(
    "_CcStpRequired",
    {
        "kind": Literal["stp"],
    },
)


class CcStp(_CcStpRequired, total=False):
    """Polls the receiver, which names losses by itself and acknowledges nothing else (Henderson and Katz 1999).

    polls :
        Polls in a round trip. Default: 3.

    gain_slow_start :
        Pace in slow start, windows per round trip. Default: 2.0.

    gain :
        Pace otherwise, windows per round trip. Default: 1.25.
    """

    polls: int
    gain_slow_start: float
    gain: float

_CcSwiftRequired = TypedDict(
    "_CcSwiftRequired",
    {
        "kind": Literal["swift"],
    },
)


class CcSwift(_CcSwiftRequired, total=False):
    """Opens the window in two round trips, and again after a loss that the ACKs do not blame on a queue (Leung and Yeung 2004).

    probe_max :
        Largest window that Speedy Start probes for, segments; the receiver's window if that is smaller. Default: 1024.

    many_losses :
        So many losses in a window are congestion. Default: 3.

    rtt_rise :
        A round-trip time above this multiple of the smallest means congestion. Default: 1.25.

    expand :
        Whether there is a window expanding period; if not, recovery is Reno's. Default: true.
    """

    probe_max: int
    many_losses: int
    rtt_rise: float
    expand: bool

_CcVegasRequired = TypedDict(
    "_CcVegasRequired",
    {
        "kind": Literal["vegas"],
    },
)


class CcVegas(_CcVegasRequired, total=False):
    """Keeps two to four segments queued, as the round-trip time tells (Brakmo 1995).

    alpha :
        The window grows while fewer segments than these are queued. Default: 2.0.

    beta :
        The window shrinks while more segments than these are queued. Default: 4.0.

    gamma :
        Slow start ends when more segments than these are queued. Default: 1.0.

    diff :
        What is compared with the three thresholds. Default: "paper".

    double_every :
        Round trips in which slow start doubles the window once. Default: 2.

    adjust_every :
        Round trips in which congestion avoidance changes the window once. Default: 1.

    decrease :
        Share of the window that a loss takes. Default: 0.5.

    base_rtt_window :
        How long the smallest round-trip time is remembered; 0: for ever. Default: "0 s".
    """

    alpha: float
    beta: float
    gamma: float
    diff: Literal["paper", "linux"]
    double_every: int
    adjust_every: int
    decrease: float
    base_rtt_window: str

_CcVenoRequired = TypedDict(
    "_CcVenoRequired",
    {
        "kind": Literal["veno"],
    },
)


class CcVeno(_CcVenoRequired, total=False):
    """Reno that cuts less for a loss where few segments are queued (Fu 2003).

    beta :
        With fewer segments queued than these a loss is random. Default: 3.0.

    random_decrease :
        Share of the window that a random loss takes. Default: 0.2.

    rtt :
        Which round-trip time counts. Default: "round".

    rto :
        What a timeout leaves in ssthresh. Default: "paper".

    pace :
        How the window grows at half the pace. Default: "ack".

    forget_base_rtt :
        Whether a loss resets the smallest round-trip time. Default: false.

    base_rtt_window :
        How long the smallest round-trip time is remembered; 0: for ever. Default: "0 s".
    """

    beta: float
    random_decrease: float
    rtt: Literal["round", "ack"]
    rto: Literal["paper", "linux"]
    pace: Literal["ack", "window"]
    forget_base_rtt: bool
    base_rtt_window: str

_CcWestwoodRequired = TypedDict(
    "_CcWestwoodRequired",
    {
        "kind": Literal["westwood"],
    },
)


class CcWestwood(_CcWestwoodRequired, total=False):
    """After a loss what the path holds at the rate that its ACKs show, instead of half (Mascolo 2001).

    tau :
        τ of the filter: 1 / τ is its cut-off frequency. Default: "500 ms".

    virtual_samples :
        m: while nothing arrives, samples of nothing do at each τ / m; 0: they do not. Default: 2.

    cut :
        When a loss takes effect on the window. Default: "at-loss".

    forget_min_rtt :
        Whether a timeout resets the least round-trip time. Default: false.

    estimate_factor :
        By what the estimate is multiplied, to learn what a wrong one costs. Default: 1.0.
    """

    tau: str
    virtual_samples: int
    cut: Literal["at-loss", "at-exit"]
    forget_min_rtt: bool
    estimate_factor: float

_CcWestwoodNrRequired = TypedDict(
    "_CcWestwoodNrRequired",
    {
        "kind": Literal["westwood-nr"],
    },
)


class CcWestwoodNr(_CcWestwoodNrRequired, total=False):
    """Westwood with NewReno's recovery through partial ACKs (Casetti 2002).

    tau :
        τ of the filter: 1 / τ is its cut-off frequency. Default: "500 ms".

    virtual_samples :
        m: while nothing arrives, samples of nothing do at each τ / m; 0: they do not. Default: 2.

    cut :
        When a loss takes effect on the window. Default: "at-loss".

    forget_min_rtt :
        Whether a timeout resets the least round-trip time. Default: false.

    estimate_factor :
        By what the estimate is multiplied, to learn what a wrong one costs. Default: 1.0.
    """

    tau: str
    virtual_samples: int
    cut: Literal["at-loss", "at-exit"]
    forget_min_rtt: bool
    estimate_factor: float

_CcWestwoodPlusRequired = TypedDict(
    "_CcWestwoodPlusRequired",
    {
        "kind": Literal["westwood-plus"],
    },
)


class CcWestwoodPlus(_CcWestwoodPlusRequired, total=False):
    """Westwood with one sample for each round trip, which compressed ACKs do not mislead (Grieco and Mascolo 2004).

    smoothing :
        How samples are smoothed. Default: "linux".

    shortest_sample :
        The shortest time of a sample; longer ones take a round trip. Default: "50 ms".

    cut :
        When a loss takes effect on the window. Default: "at-exit".

    forget_min_rtt :
        Whether a timeout resets the least round-trip time. Default: true.

    estimate_factor :
        By what the estimate is multiplied, to learn what a wrong one costs. Default: 1.0.
    """

    smoothing: Literal["linux", "mean-of-two"]
    shortest_sample: str
    cut: Literal["at-loss", "at-exit"]
    forget_min_rtt: bool
    estimate_factor: float

_CcWtcpRequired = TypedDict(
    "_CcWtcpRequired",
    {
        "kind": Literal["wtcp"],
    },
)


class CcWtcp(_CcWtcpRequired, total=False):
    """A rate by how far apart packets arrive and left, with losses that count where they are unusual (Sinha et al. 2002).

    increase :
        Segments that are added to what leaves in a round trip. Default: 1.0.

    high :
        Arrivals count as drawn apart beyond this share. Default: 0.02.

    weight :
        The weight of the latest ratio in its average. Default: 0.25.

    decrease :
        What is left of the rate of arrivals when they are drawn apart. Default: 0.9.

    loss_decrease :
        What is left of the rate when more is lost than usual. Default: 0.5.

    deviations :
        Mean deviations above the average that losses of a round trip have to be to count. Default: 4.0.

    least_period :
        The least time over which separations are compared. Default: "50 ms".
    """

    increase: float
    high: float
    weight: float
    decrease: float
    loss_decrease: float
    deviations: float
    least_period: str

_CcYeahRequired = TypedDict(
    "_CcYeahRequired",
    {
        "kind": Literal["yeah"],
    },
)


class CcYeah(_CcYeahRequired, total=False):
    """Scalable TCP's growth while the queue is short, else Reno's; long queues are given back (Baiocchi 2007).

    alpha :
        alpha: segments that may be queued. Default: 80.0.

    gamma :
        gamma: a queue above alpha is given back divided by this, each round trip. Default: 1.0.

    delta :
        delta: share of the window that a loss takes at least. Default: 0.125.

    epsilon :
        epsilon: share of the window that is given back at most. Default: 0.5.

    phi :
        phi: queueing delay may be the base round-trip time divided by this. Default: 8.

    rho :
        rho: slow rounds in a row after which a loss halves the window. Default: 16.

    zeta :
        zeta: fast rounds after which the estimate of Reno's window is reset. Default: 50.

    increase :
        Segments that each ACK of a segment adds to the window in fast mode. Default: 0.01.

    base_rtt_window :
        How long the smallest round-trip time is remembered; 0: for ever. Default: "0 s".
    """

    alpha: float
    gamma: float
    delta: float
    epsilon: float
    phi: int
    rho: int
    zeta: int
    increase: float
    base_rtt_window: str


class CcKind(TypedDict):
    """A choice by its kind alone."""

    kind: Literal["tahoe", "tcpmin", "reno", "newreno", "sack"]

_RecoveryNewrenoRequired = TypedDict(
    "_RecoveryNewrenoRequired",
    {
        "kind": Literal["newreno"],
    },
)


class RecoveryNewreno(_RecoveryNewrenoRequired, total=False):
    """Fast recovery through partial ACKs (RFC 6582).

    timer :
        Which partial ACKs restart the retransmission timer. Default: "impatient".

    exit :
        The window when recovery ends. Default: "flight-size".

    deflate :
        How far partial ACKs may deflate the window. Default: "full".

    first_loss :
        Allow fast retransmit of the very first segment, which RFC 6582 §3.2 taken literally forbids. Default: true.

    burst :
        Most new segments sent in answer to one ACK during recovery; 0: as many as the window allows. Default: 0.
    """

    timer: Literal["impatient", "slow-but-steady"]
    exit: Literal["flight-size", "ssthresh"]
    deflate: Literal["full", "to-ssthresh", "window"]
    first_loss: bool
    burst: int

_RecoverySackRequired = TypedDict(
    "_RecoverySackRequired",
    {
        "kind": Literal["sack"],
    },
)


class RecoverySack(_RecoverySackRequired, total=False):
    """Selective acknowledgements (RFC 2018, RFC 6675).

    on_rto :
        What a timeout does with the information about blocks received. Default: "keep".

    evidence :
        What proves a loss. Default: "rfc6675".

    counting :
        Basis of the counts of duplicate ACKs and pipe. Default: "data".

    rescue :
        Retransmit the highest segment outstanding, once in each recovery, if nothing else may be sent. Default: true.
    """

    on_rto: Literal["keep", "discard", "ignore"]
    evidence: Literal["rfc6675", "fack", "hole", "status"]
    counting: Literal["data", "acks"]
    rescue: bool

_RecoveryRackRequired = TypedDict(
    "_RecoveryRackRequired",
    {
        "kind": Literal["rack"],
    },
)


class RecoveryRack(_RecoveryRackRequired, total=False):
    """Selective acknowledgements with losses found by time, and probes for the tail (RACK-TLP, RFC 8985).

    tlp :
        Probe for losses at the tail before the retransmission timer expires. Default: true.

    max_ack_delay :
        What a probe waits for an ACK that the receiver may delay, when one segment is in flight. Default: "200 ms".

    reenter :
        Begin another recovery, with another reduction, where one ends and losses that it repaired are outstanding still. Otherwise only a loss that was not repaired begins one. Default: true.

    min_rtt_window :
        How long the smallest round-trip time, a quarter of which absorbs reordering, is remembered. Default: "300 s".
    """

    tlp: bool
    max_ack_delay: str
    reenter: bool
    min_rtt_window: str

_RecoverySnackRequired = TypedDict(
    "_RecoverySnackRequired",
    {
        "kind": Literal["snack"],
    },
)


class RecoverySnack(_RecoverySnackRequired, total=False):
    """Selective negative acknowledgements: the receiver reports holes, and the sender fills them at once (SCPS-TP, CCSDS 714.0-B).

    form :
        What one report says. Default: "short".

    resnacks :
        How often the hole at the acknowledged byte is reported before the next ones are. Default: 3.

    grows :
        Let ACKs of new data grow the window also while holes are repaired. Default: true.

    corruption_experienced :
        Let the receiver tell of packets that arrived corrupted; the verdicts `assume-congestion` and `assume-corruption` listen. Default: true.

    corruption_covers :
        Losses that a report of corruption covers, for the verdict `assume-congestion`. Default: "hole".
    """

    form: Literal["short", "long"]
    resnacks: int
    grows: bool
    corruption_experienced: bool
    corruption_covers: Literal["hole", "round-trips"]


class RecoveryKind(TypedDict):
    """A choice by its kind alone."""

    kind: Literal["timeout-only", "fast-retransmit", "reno"]

_BestEffortOnRequired = TypedDict(
    "_BestEffortOnRequired",
    {
        "kind": Literal["on"],
    },
)


class BestEffortOn(_BestEffortOnRequired, total=False):
    """Best-effort transport and record boundaries of SCPS-TP (CCSDS 714.0-B): what is missing for too long is skipped.

    wait :
        How long the receiver waits for what is missing; more than 0 s. Default: "2 s".
    """

    wait: str


class BestEffortKind(TypedDict):
    """A choice by its kind alone."""

    kind: Literal["off"]


class VerdictKind(TypedDict):
    """A choice by its kind alone."""

    kind: Literal["always-congestion", "always-link-error", "assume-congestion", "assume-corruption", "ceten-p", "ceten-a", "low-priority-copies"]


class Copies(TypedDict, total=False):
    """Copies of data with low priority, for the verdict `low-priority-copies`.

    every :
        Data segments for which one copy leaves. Default: 8.

    share :
        The share of the copies that has to come back for a loss to be an error of the link. Default: 0.75.

    least :
        With fewer copies in a round trip a loss is congestion. Default: 4.
    """

    every: int
    share: float
    least: int

_FeedbackRefwaPlusRequired = TypedDict(
    "_FeedbackRefwaPlusRequired",
    {
        "kind": Literal["refwa-plus"],
    },
)


class FeedbackRefwaPlus(_FeedbackRefwaPlusRequired, total=False):
    """It was congestion if the window is smaller than before, and an error of the link otherwise (REFWA Plus, Taleb, Kato and Nemoto). The nodes on the way have to write it: middlebox `refwa`.

    tolerance :
        By how much the window may have fallen before it means congestion, as a share of it. Default: 0.0.

    trigger :
        Which ACKs show what a loss was. Default: "both".

    resend :
        What is sent again after a link error. Default: "bulk".

    bulk_paced :
        Spread what is sent again over a round trip. Default: true.

    rto :
        The retransmission timeout while a loss is held for a link error; without it, what was measured, and it does not double in either case.

    rto_hold :
        Judge a timeout in the same way, by the last window that came: send one segment until an ACK comes, then the whole window. Default: true.
    """

    tolerance: Union[str, float]
    trigger: Literal["par", "dup", "both"]
    resend: Literal["bulk", "selective"]
    bulk_paced: bool
    rto: str
    rto_hold: bool

_FeedbackXcpRequired = TypedDict(
    "_FeedbackXcpRequired",
    {
        "kind": Literal["xcp"],
    },
)


class FeedbackXcp(_FeedbackXcpRequired, total=False):
    """The window follows what routers write on packets, in place of the congestion control (XCP; Katabi, Handley and Rohrs 2002). They have to take part: middlebox `xcp`.

    loss :
        What a loss does to the window. Default: "reno".

    option_bytes :
        Let the header make packets longer, by 12 B. Default: true.
    """

    loss: Literal["reno", "ignore"]
    option_bytes: bool

_FeedbackRcpRequired = TypedDict(
    "_FeedbackRcpRequired",
    {
        "kind": Literal["rcp"],
    },
)


class FeedbackRcp(_FeedbackRcpRequired, total=False):
    """The sender paces at the rate that routers write on packets, in place of the congestion control (RCP; Dukkipati 2007). They have to take part: middlebox `rcp`.

    timeout :
        What a timeout does to the rate, until the next ACK brings one. Default: "halve".

    option_bytes :
        Let the header make packets longer, by 12 B. Default: true.
    """

    timeout: Literal["halve", "keep"]
    option_bytes: bool

_ByteCountingAbcRequired = TypedDict(
    "_ByteCountingAbcRequired",
    {
        "kind": Literal["abc"],
    },
)


class ByteCountingAbc(_ByteCountingAbcRequired, total=False):
    """Appropriate byte counting: the bytes it acknowledges, in slow start at most `limit` segments; at most one in the slow start after a timeout (RFC 3465).

    limit :
        L, segments. Default: 2.
    """

    limit: int


class ByteCountingKind(TypedDict):
    """A choice by its kind alone."""

    kind: Literal["rfc5681", "per-ack", "lbc", "ubc", "ubc-pure"]

_SlowStartLimitedRequired = TypedDict(
    "_SlowStartLimitedRequired",
    {
        "kind": Literal["limited"],
    },
)


class SlowStartLimited(_SlowStartLimitedRequired, total=False):
    """Above a window, half of that window is added per round trip and no more (RFC 3742).

    max_ssthresh :
        The window (max_ssthresh), at least two segments. Default: "100 segments".
    """

    max_ssthresh: str

_SlowStartHoeRequired = TypedDict(
    "_SlowStartHoeRequired",
    {
        "kind": Literal["hoe"],
    },
)


class SlowStartHoe(_SlowStartHoeRequired, total=False):
    """The threshold is estimated once, from the spacing of the first ACKs: their rate times the round trip (Hoe 1996).

    pairs :
        Pairs of consecutive ACKs of one round of which the median counts; 1 takes the first pair, as ns-2 does. Default: 3.

    resolution :
        ACKs that are not further apart than this show the sender's clock, not the path. Default: "1 us".
    """

    pairs: int
    resolution: str

_SlowStartHystartRequired = TypedDict(
    "_SlowStartHystartRequired",
    {
        "kind": Literal["hystart"],
    },
)


class SlowStartHystart(_SlowStartHystartRequired, total=False):
    """Ends when ACKs come in a long train, or late (Ha and Rhee 2008).

    low_window :
        Smaller windows do not end slow start. Default: "16 segments".

    detect :
        Which signs end slow start. Default: "both".

    ack_spacing :
        ACKs that are not further apart than this are one train. Default: "2 ms".

    train_divisor :
        A train is long when it lasts longer than the smallest round trip divided by this; with pacing, 1. Default: 2.

    baseline :
        What the delay of a round is compared with. Default: "connection".

    samples :
        The delay of a round is the smallest of this many samples at its start. Default: 8.

    delay_divisor :
        ACKs are late when the delay has risen by more than the round trip divided by this, within the bounds below. Default: 8.

    delay_min :
        Smallest rise of delay that counts. Default: "4 ms".

    delay_max :
        Largest rise of delay that is waited for. Default: "16 ms".
    """

    low_window: str
    detect: Literal["both", "ack-train", "delay"]
    ack_spacing: str
    train_divisor: int
    baseline: Literal["connection", "last-round"]
    samples: int
    delay_divisor: int
    delay_min: str
    delay_max: str

_SlowStartHystartPlusPlusRequired = TypedDict(
    "_SlowStartHystartPlusPlusRequired",
    {
        "kind": Literal["hystart++"],
    },
)


class SlowStartHystartPlusPlus(_SlowStartHystartPlusPlusRequired, total=False):
    """When ACKs come late the first slow start goes on slowly for some rounds, and back if that was a mistake (RFC 9406).

    min_rtt_threshold :
        Smallest rise of delay that counts (MIN_RTT_THRESH). Default: "4 ms".

    max_rtt_threshold :
        Largest rise of delay that is waited for (MAX_RTT_THRESH). Default: "16 ms".

    min_rtt_divisor :
        Between them, ACKs are late when the delay has risen by the round trip divided by this (MIN_RTT_DIVISOR). Default: 8.

    rtt_samples :
        Samples that a round needs to be judged (N_RTT_SAMPLE). Default: 8.

    css_growth_divisor :
        How much slower the conservative slow start is (CSS_GROWTH_DIVISOR). Default: 4.

    css_rounds :
        How many rounds it lasts (CSS_ROUNDS). Default: 5.

    limit :
        Segments that an ACK counts for at most in the first slow start (L), instead of what `byte_counting` says; RFC 9406 sets no limit with pacing. Default: 8.
    """

    min_rtt_threshold: str
    max_rtt_threshold: str
    min_rtt_divisor: int
    rtt_samples: int
    css_growth_divisor: int
    css_rounds: int
    limit: int


class SlowStartKind(TypedDict):
    """A choice by its kind alone."""

    kind: Literal["standard"]

_IncreaseConstantRateRequired = TypedDict(
    "_IncreaseConstantRateRequired",
    {
        "kind": Literal["constant-rate"],
    },
)


class IncreaseConstantRate(_IncreaseConstantRateRequired, total=False):
    """As many segments as (round trip / reference)^2, so that the rate rises alike on all paths; at most one for each ACK (Floyd 1991, RFC 2760 §3.6).

    reference_rtt :
        The round trip at which that is one segment. Default: "100 ms".
    """

    reference_rtt: str

_IncreaseByKRequired = TypedDict(
    "_IncreaseByKRequired",
    {
        "kind": Literal["by-k"],
    },
)


class IncreaseByK(_IncreaseByKRequired, total=False):
    """`k` segments where the smoothed round trip is long, one elsewhere (Henderson et al. 1998, RFC 2760 §3.6).

    k :
        Segments per round trip. Default: 4.

    above_rtt :
        Round trips above this are long. Default: "300 ms".
    """

    k: int
    above_rtt: str

_KeepaliveOnRequired = TypedDict(
    "_KeepaliveOnRequired",
    {
        "kind": Literal["on"],
    },
)


class KeepaliveOn(_KeepaliveOnRequired, total=False):
    """Probes on a connection that carries nothing (RFC 9293 §3.8.4).

    idle :
        Time without a segment of the peer, and without outstanding data, before the first probe leaves. At least 1 s. Default: "7200 s".

    interval :
        Time from a probe to the next one, or to the end of the connection. At least 1 s. Default: "75 s".

    probes :
        Probes without an answer before the connection is given up. Default: 9.

    byte :
        Send a byte with the probe, for a peer that does not answer empty segments. The receiver counts it as a duplicate. Default: false.
    """

    idle: str
    interval: str
    probes: int
    byte: bool


class ChallengeAcks(TypedDict, total=False):
    """The number of challenge ACKs (RFC 5961 §7).

    limit :
        Challenge ACKs in one interval. Default: 10.

    interval :
        The interval. It begins with the first challenge ACK after the last interval. Default: "5 s".
    """

    limit: int
    interval: str


class Rto(TypedDict, total=False):
    """The retransmission timer.

    initial :
        Timeout before the first sample, at least 1 ms. Default: "1 s".

    min :
        Lower bound. Default: "1 s".

    max :
        Upper bound, at least 1 ms. Default: "60 s".

    granularity :
        Clock granularity: samples and timeouts are whole ticks. Zero: a continuous clock. Default: "1 ms".

    phase :
        Where in a tick the clock starts; `random` is drawn for each end. Default: "random".

    guard :
        Add at least one tick to the smoothed round-trip time: SRTT + max(G, 4 RTTVAR). Default: true.

    variance_min :
        Least value of the variance term, 4 RTTVAR: the timeout is at least this much above the smoothed round-trip time. Default: "0 s".

    arithmetic :
        Numbers in which the smoothed round-trip time and its variation are kept. Default: "real".

    expires_on_tick :
        The timer expires on a tick: up to one tick before the timeout is over. Default: true.

    rounding :
        How a round trip becomes a number of ticks. Default: "floor".

    min_ticks :
        Smallest timeout in ticks. Default: 1.

    sampling :
        Which ACKs give a round-trip sample when timestamps are off. Default: "per-ack".

    sack_samples :
        With timestamps, take samples of what is acknowledged selectively too, by when it was sent; else the timer knows nothing of a queue that grows during recovery. SACKs of segments sent before the oldest one was retransmitted restart the timer, too. Default: false.

    karn :
        Take no sample from a segment that was sent again. Default: true.

    restart_on_fast_retransmit :
        Restart the timer when duplicate or selective ACKs start a retransmission; RFC 6298 §5 leaves it running, so that recovery has only what is left of it. Default: true.

    backoff :
        Double the timeout at each expiry. Default: true.

    backoff_max :
        Largest factor of the backoff. Default: 64.

    forget_after :
        Doublings after which the smoothed round-trip time is forgotten, so that the next sample counts as the first; 0: never. Default: 0.

    reduce_again :
        Lower the slow start threshold each time that the timer expires for the same segment, not only the first time. Default: false.

    duplicates :
        Duplicate ACKs after a timeout. They count for `limited_retransmit`. Default: "restart".
    """

    initial: str
    min: str
    max: str
    granularity: str
    phase: str
    guard: bool
    variance_min: str
    arithmetic: Literal["real", "ticks"]
    expires_on_tick: bool
    rounding: Literal["floor", "plus-one"]
    min_ticks: int
    sampling: Literal["per-window", "per-ack"]
    sack_samples: bool
    karn: bool
    restart_on_fast_retransmit: bool
    backoff: bool
    backoff_max: int
    forget_after: int
    reduce_again: bool
    duplicates: Literal["restart", "continue", "ignore"]


class Ack(TypedDict, total=False):
    """When the receiver acknowledges.

    every :
        Acknowledge at every n-th segment that arrives in order, of any size; 1: every segment. RFC 5681 §4.2 asks for one ACK for at least every second full-sized segment and allows more: two small segments are acknowledged at once, too. Default: 2.

    delay :
        Longest delay of an acknowledgement. Default: "200 ms".

    timer :
        What the delay is counted from. Default: "per-segment".

    quick :
        Acknowledge each of the first n segments of a connection at once. Default: 0.

    slow_start :
        Acknowledgements while the sender is in slow start. Default: "delayed".

    congestion_control :
        Congestion control for ACKs: the sender finds which got lost, or were marked, and doubles the number of segments for which one is sent; `every` is where it begins and ends. With ECN pure ACKs may be marked. Both ends must want it. Default: false.
    """

    every: int
    delay: str
    timer: Literal["per-segment", "free-running"]
    quick: int
    slow_start: Literal["delayed", "every"]
    congestion_control: bool

_EcnClassicRequired = TypedDict(
    "_EcnClassicRequired",
    {
        "kind": Literal["classic"],
    },
)


class EcnClassic(_EcnClassicRequired, total=False):
    """The receiver echoes a mark until the sender says that it has reduced its window (RFC 3168).

    beta :
        Share of the window that is left after a mark, 0.1 to 0.99; RFC 8511 recommends 0.8 for the window of RFC 5681. Without it, what a loss leaves.
    """

    beta: float

_EcnPerSegmentRequired = TypedDict(
    "_EcnPerSegmentRequired",
    {
        "kind": Literal["per-segment"],
    },
)


class EcnPerSegment(_EcnPerSegmentRequired, total=False):
    """The receiver tells of each segment whether it was marked (RFC 8257 §3.2); negotiated as the classic feedback is.

    beta :
        Share of the window that is left after a mark, 0.1 to 0.99; RFC 8511 recommends 0.8 for the window of RFC 5681. Without it, what a loss leaves.
    """

    beta: float

_EcnAccurateRequired = TypedDict(
    "_EcnAccurateRequired",
    {
        "kind": Literal["accurate"],
    },
)


class EcnAccurate(_EcnAccurateRequired, total=False):
    """The receiver counts marks in three header bits (RFC 9768, without its option).

    beta :
        Share of the window that is left after a mark, 0.1 to 0.99; RFC 8511 recommends 0.8 for the window of RFC 5681. Without it, what a loss leaves.
    """

    beta: float

_PacingWindowRequired = TypedDict(
    "_PacingWindowRequired",
    {
        "kind": Literal["window"],
    },
)


class PacingWindow(_PacingWindowRequired, total=False):
    """A window per smoothed round-trip time, times a gain; what leaves before the first sample is not paced (J. Kulik et al. 1999).

    gain_slow_start :
        The gain while the congestion window is below half of the slow start threshold, 0.1 to 100. Default: 2.0.

    gain :
        The gain otherwise, 0.1 to 100. Default: 1.2.

    burst :
        What may leave back to back after a pause. Default: "2 segments".
    """

    gain_slow_start: float
    gain: float
    burst: str

_PacingRateRequired = TypedDict(
    "_PacingRateRequired",
    {
        "kind": Literal["rate"],
        "rate": str,
    },
)


class PacingRate(_PacingRateRequired, total=False):
    """A fixed rate, headers included.

    rate :
        The rate; more than 0.

    burst :
        What may leave back to back after a pause. Default: "2 segments".
    """

    burst: str

_FastOpenOnRequired = TypedDict(
    "_FastOpenOnRequired",
    {
        "kind": Literal["on"],
    },
)


class FastOpenOn(_FastOpenOnRequired, total=False):
    """TCP Fast Open: a SYN with the server's cookie takes data along (RFC 7413).

    cookie :
        Whether the opener has the cookie when the run begins. Default: "none".
    """

    cookie: Literal["none", "cached"]

_TransactionsOnRequired = TypedDict(
    "_TransactionsOnRequired",
    {
        "kind": Literal["on"],
    },
)


class TransactionsOn(_TransactionsOnRequired, total=False):
    """T/TCP: a SYN whose connection count the server has not seen yet takes data along, and a FIN (RFC 1644).

    counts :
        Whether both hosts remember a connection when the run begins. Default: "none".
    """

    counts: Literal["none", "cached"]

_SharingOnRequired = TypedDict(
    "_SharingOnRequired",
    {
        "kind": Literal["on"],
    },
)


class SharingOn(_SharingOnRequired, total=False):
    """What earlier connections between the same two hosts learnt (RFC 9040).

    ssthresh :
        Begin with their slow start threshold. Default: true.

    rtt :
        Begin with a retransmission timeout from their round-trip times. Default: true.

    cwnd :
        How their congestion window is used. Default: "cautious".

    age_max :
        What is older is forgotten; more than 0 s. Default: "3600 s".
    """

    ssthresh: bool
    rtt: bool
    cwnd: Literal["ignore", "cautious", "full"]
    age_max: str

_PacketSizeOptimumRequired = TypedDict(
    "_PacketSizeOptimumRequired",
    {
        "kind": Literal["optimum"],
    },
)


class PacketSizeOptimum(_PacketSizeOptimumRequired, total=False):
    """The size of the best information efficiency at the error rate that the network reports; `smss` before, and where a rate of 0 is reported.

    formula :
        Which formula. Default: "probabilistic".

    gives :
        What the formula gives. Default: "packet".

    unit :
        Whether the rate is taken as one per byte or per bit. It should be what the network estimates. Default: "byte".

    density :
        Error density n: errors that a corrupted packet has. Both formulas divide the rate by it. Default: 1.0.

    header :
        Header H of the formula. The headers on the wire do not follow it. Default: "40 B".

    min :
        Smallest packet. IP and TCP headers are included, and options that every segment has. Default: "80 B".

    max :
        Largest packet. IP and TCP headers are included, and options that every segment has (timestamps: 12 B). `smss` limits the payload as well. Default: "65535 B".
    """

    formula: Literal["deterministic", "probabilistic"]
    gives: Literal["packet", "payload"]
    unit: Literal["bit", "byte"]
    density: float
    header: str
    min: str
    max: str


class PacketSizeKind(TypedDict):
    """A choice by its kind alone."""

    kind: Literal["fixed"]


class TcpProcessingTable(TypedDict):
    """A random time, drawn for each packet.

    uniform :
        Shortest and longest time, the latter excluded.
    """

    uniform: Union[Tuple[str, str], List[str]]


class AutoBuffer(TypedDict, total=False):
    """The size of a receive buffer that is `auto`.

    start :
        At the beginning; at least one segment. Default: "65535 B".

    limit :
        It grows with what a round trip brings, but not beyond this; at most 1073725440 B. Default: "4000000 B".

    growth :
        How much. Default: "twice".

    limit_bdp :
        The limit is this many bandwidth-delay products of the path, if that is more. Default: 0.
    """

    start: str
    limit: str
    growth: Literal["twice", "linux"]
    limit_bdp: int


class AutoSendBuffer(TypedDict, total=False):
    """The size of a send buffer that is `auto`.

    start :
        At the beginning; at least one segment. Default: "64000 B".

    limit :
        It grows to twice the congestion window, but not beyond this. Default: "4000000 B".

    limit_bdp :
        The limit is this many bandwidth-delay products of the path, if that is more. Default: 0.
    """

    start: str
    limit: str
    limit_bdp: int


class Tcp(TypedDict, total=False):
    """The transport of a flow.

    like :
        Which host it is like: what the file leaves open is as there, each value with its source. Default: "linux-6".

    cc :
        Which congestion control moves the window. Default: "newreno".

    smss :
        Largest payload of a segment (SMSS), 40 B to 65415 B. Default: "1460 B".

    recovery :
        Which procedure decides what is lost and what is sent again. Without it, the one that the congestion control was published with.

    best_effort :
        Best-effort transport of SCPS-TP: what is missing for too long is skipped. With recovery `snack`. Default: "off".

    verdict :
        What a loss is taken to mean. Without it, `always-congestion` (RFC 5681), or what the congestion control was published with: `assume-congestion` for `scps`.

    copies :
        Copies of data with low priority, for the verdict `low-priority-copies`.

    feedback :
        What the window that the network advertises says of a loss, before the verdict is asked. Default: "off".

    duplicate_acks :
        Which ACKs count as duplicates. Default: "same-window".

    limited_transmit :
        Send one new segment on each of the first two duplicate ACKs. Default: true.

    limited_retransmit :
        Limited transmit also in the slow start after a timeout, where what it sends may be a retransmission. Default: false.

    early_retransmit :
        Let fewer than three duplicate ACKs prove a loss when fewer than four segments are outstanding and nothing new can be sent. Default: false.

    reduction :
        How the window falls to the slow start threshold in recovery. In proportion needs a recovery that uses SACK. Default: "at-once".

    second_reduction :
        Reaction to the loss of a retransmission, where the recovery finds it without the timer: `rack`, and `sack` with `evidence = "status"`. `snack` lowers the window once in an epoch, as SCPS-TP does. Default: "rfc5681".

    dsack :
        Report segments that arrived twice in the first SACK block (DSACK). Without it, true with recovery `rack` (RFC 8985 adapts its reordering window by DSACK), else false (RFC 2018; RFC 2883 is an extension).

    spurious_detection :
        How the sender finds out that it resent needlessly. Default: "off".

    spurious_response :
        What it undoes then. Default: "restore".

    initial_window :
        Window at the start of data transfer. Default: "rfc6928".

    initial_ssthresh :
        Where slow start ends for the first time; at least two segments. A bdp is the smallest rate on the route times the propagation round trip. Default: "unlimited".

    byte_counting :
        What an ACK counts for. Default: "rfc5681".

    slow_start :
        How slow start grows the window, and what ends it. Default: "standard".

    increase :
        How much congestion avoidance adds to the window in a round trip. Default: "standard".

    slow_start_at_ssthresh :
        Whether a window that equals the slow start threshold, as after fast recovery, is still in slow start and grows by a segment at once. Default: false.

    cwnd_validation :
        What becomes of a window that is not used. Default: "if-used".

    idle_restart :
        Fall back to the restart window after an idle time of one retransmission timeout (RFC 5681 §4.1). Without it, true; false where `cwnd_validation` says itself what an idle time does.

    ssthresh_rounding :
        Keep the slow start threshold to the byte, or round it down to whole segments, with or without the window that a loss leaves. Default: "bytes".

    grow_on_exit :
        Let the ACK that ends fast recovery also grow the window; RFC 5681 and 6582 only deflate it, ns-2 grows it. Default: false.

    ssthresh_base :
        What is halved when the slow start threshold is set. Default: "flight-size".

    give_up :
        When a connection that gets no answer is given up. Default: "100 s".

    keepalive :
        Probes on an idle connection, which is given up if the peer does not answer them. Each end probes. Default: "off".

    acceptable_acks :
        ACKs below SND.UNA that a segment may carry. Default: "rfc9293".

    challenge_acks :
        The number of challenge ACKs: answers to resets and SYNs in the window, and to ACKs that are not acceptable (RFC 5961).

    timestamps :
        Timestamps: 12 bytes in every segment, a round-trip sample from every ACK. Default: false.

    window_scaling :
        Window scaling; without it the advertised window ends at 65535 B. Default: true.

    receive_buffer :
        The receiver's buffer, which bounds the window it advertises; `auto` grows with the path. At most 1073725440 B. A bdp is the smallest rate on the route times the propagation round trip. Default: "unlimited".

    send_buffer :
        The sender's buffer: what the application may have written that is not acknowledged yet; `auto` grows with the congestion window. A bdp is the smallest rate on the route times the propagation round trip. Default: "unlimited".

    handshake :
        Open with SYN and SYN-ACK. Without, the connection starts established and the first data leave at once. Default: true.

    rto :
        The retransmission timer.

    ack :
        When the receiver acknowledges.

    ecn :
        Congestion marks: queues that can mark do so instead of dropping. Default: "off".

    pacing :
        When segments leave, beside what the windows allow. Retransmissions are paced too, acknowledgements are not. Default: "off".

    fast_open :
        Data in the SYN. Default: "off".

    transactions :
        T/TCP: data and FIN in the SYN, by connection counts. Not with Fast Open. Default: "off".

    sharing :
        What a connection takes over from earlier ones. Default: "off".

    nagle :
        Nagle's algorithm: hold small segments back while data are outstanding. Default: false.

    error_reports :
        What a report of a corrupted segment leads to; functions of the network send them. Default: "ignore".

    report_copies :
        How often a segment that was reported is sent each time. It is sent again when all copies were reported: of n copies with the probability p of being corrupted all are with p^n (multicopy retransmission). Default: 1.

    report_resend :
        Retransmission of a reported segment if segments have become smaller since it left (`packet_size`). Default: "whole".

    path_mtu :
        What a report that a segment is too large for a link leads to. Default: "discover".

    packet_size :
        The size of segments. Default: "fixed".

    cwnd_unit :
        What the window is a number of where the segment size follows reports. Default: "bytes".

    processing :
        Time that a host takes before it handles a packet that has arrived, drawn for each one; packets of a link never overtake one another. Of several flows that end at a node the one that may take longest decides. Real hosts take a random time; without it equal senders march in step, and each loses every n-th packet of an overflow.

    auto_buffer :
        The size of the receiver's buffer if that is `auto`.

    auto_send_buffer :
        The size of the sender's buffer if that is `auto`.
    """

    like: Literal["rfc", "linux-6", "linux-6-paced", "ns-2", "windows-11", "freebsd-14"]
    cc: Union[CcBbr1, CcBbr2, CcBbr3, CcBic, CcCompound, CcCopa, CcCubic, CcEnhancedHswa, CcHighspeed, CcHswa, CcHtcp, CcHybla, CcIllinois, CcLedbat, CcLeocc, CcPeach, CcPeachPlus, CcSantaCruz, CcSatcp, CcScalable, CcScps, CcStp, CcSwift, CcVegas, CcVeno, CcWestwood, CcWestwoodNr, CcWestwoodPlus, CcWtcp, CcYeah, CcKind, Literal["tahoe", "tcpmin", "reno", "newreno", "sack", "bbr1", "bbr2", "bbr3", "bic", "compound", "copa", "cubic", "enhanced-hswa", "highspeed", "hswa", "htcp", "hybla", "illinois", "ledbat", "leocc", "peach", "peach-plus", "santa-cruz", "satcp", "scalable", "scps", "stp", "swift", "vegas", "veno", "westwood", "westwood-nr", "westwood-plus", "wtcp", "yeah"]]
    smss: str
    recovery: Union[RecoveryNewreno, RecoverySack, RecoveryRack, RecoverySnack, RecoveryKind, Literal["timeout-only", "fast-retransmit", "reno", "newreno", "sack", "rack", "snack"]]
    best_effort: Union[BestEffortOn, BestEffortKind, Literal["off", "on"]]
    verdict: Union[VerdictKind, Literal["always-congestion", "always-link-error", "assume-congestion", "assume-corruption", "ceten-p", "ceten-a", "low-priority-copies"]]
    copies: Copies
    feedback: Union[FeedbackRefwaPlus, FeedbackXcp, FeedbackRcp, BestEffortKind, Literal["off", "refwa-plus", "xcp", "rcp"]]
    duplicate_acks: Literal["same-window", "any-window"]
    limited_transmit: bool
    limited_retransmit: bool
    early_retransmit: bool
    reduction: Literal["at-once", "prr", "prr-ssrb", "prr-crb"]
    second_reduction: Literal["off", "after-timeout", "rfc5681"]
    dsack: bool
    spurious_detection: Literal["off", "frto", "eifel", "dsack", "any"]
    spurious_response: Literal["rfc4015", "restore", "conservative"]
    initial_window: str
    initial_ssthresh: str
    byte_counting: Union[ByteCountingAbc, ByteCountingKind, Literal["rfc5681", "per-ack", "abc", "lbc", "ubc", "ubc-pure"]]
    slow_start: Union[SlowStartLimited, SlowStartHoe, SlowStartHystart, SlowStartHystartPlusPlus, SlowStartKind, Literal["standard", "limited", "hoe", "hystart", "hystart++"]]
    increase: Union[IncreaseConstantRate, IncreaseByK, SlowStartKind, Literal["standard", "constant-rate", "by-k"]]
    slow_start_at_ssthresh: bool
    cwnd_validation: Literal["off", "if-used", "rfc2861", "rfc7661"]
    idle_restart: bool
    ssthresh_rounding: Literal["bytes", "segments", "window"]
    grow_on_exit: bool
    ssthresh_base: Literal["flight-size", "window"]
    give_up: str
    keepalive: Union[KeepaliveOn, BestEffortKind, Literal["off", "on"]]
    acceptable_acks: Literal["rfc9293", "rfc5961"]
    challenge_acks: ChallengeAcks
    timestamps: bool
    window_scaling: bool
    receive_buffer: str
    send_buffer: str
    handshake: bool
    rto: Rto
    ack: Ack
    ecn: Union[EcnClassic, EcnPerSegment, EcnAccurate, BestEffortKind, Literal["off", "classic", "per-segment", "accurate"]]
    pacing: Union[PacingWindow, PacingRate, BestEffortKind, Literal["off", "window"]]
    fast_open: Union[FastOpenOn, BestEffortKind, Literal["off", "on"]]
    transactions: Union[TransactionsOn, BestEffortKind, Literal["off", "on"]]
    sharing: Union[SharingOn, BestEffortKind, Literal["off", "on"]]
    nagle: bool
    error_reports: Literal["ignore", "resend"]
    report_copies: int
    report_resend: Literal["whole", "packet"]
    path_mtu: Literal["discover", "ignore"]
    packet_size: Union[PacketSizeOptimum, PacketSizeKind, Literal["fixed", "optimum"]]
    cwnd_unit: Literal["bytes", "packets"]
    processing: Union[str, TcpProcessingTable]
    auto_buffer: AutoBuffer
    auto_send_buffer: AutoSendBuffer

_MiddleboxImpairRequired = TypedDict(
    "_MiddleboxImpairRequired",
    {
        "kind": Literal["impair"],
    },
)


class MiddleboxImpair(_MiddleboxImpairRequired, total=False):
    """Duplicates packets and holds some back at random, so that others overtake them.

    duplicate :
        Probability that a packet is sent twice. Default: 0.0.

    reorder :
        Probability that a packet is held back, so that later ones overtake it. Default: 0.0.

    hold :
        How long a packet is held back. Default: "0 s".

    direction :
        Which packets are touched. Default: "both".
    """

    duplicate: Union[str, float]
    reorder: Union[str, float]
    hold: Union[str, TcpProcessingTable]
    direction: Literal["both", "to-receiver", "to-sender"]

_MiddleboxAckFilterRequired = TypedDict(
    "_MiddleboxAckFilterRequired",
    {
        "kind": Literal["ack-filter"],
    },
)


class MiddleboxAckFilter(_MiddleboxAckFilterRequired, total=False):
    """Takes acknowledgements that a later one replaces out of the queue in front of a slow link (RFC 3449 §5.2.1).

    direction :
        Which packets are looked at. Default: "to-sender".

    place :
        Where an acknowledgement waits that has replaced earlier ones. RFC 3449 leaves it open. Default: "first".
    """

    direction: Literal["both", "to-receiver", "to-sender"]
    place: Literal["first", "last"]

_MiddleboxRefwaRequired = TypedDict(
    "_MiddleboxRefwaRequired",
    {
        "kind": Literal["refwa"],
    },
)


class MiddleboxRefwa(_MiddleboxRefwaRequired, total=False):
    """Tells senders by the window of returning acknowledgements how much fits link and path, in proportion to their round trips (Taleb, Kato and Nemoto 2006).

    round_trip :
        From where it knows round-trip times. Default: "oracle".

    buffer :
        How much of the buffer is to be used, beside the path. Default: "half".

    gamma :
        How much of what is free of it is shared at once, 0 to 10. Default: 1.0.

    rise :
        How much of a rise takes effect in an interval; a fall does at once. Default: 0.5.

    interval :
        The shortest interval; the longest round trip otherwise. Default: "100 ms".

    idle :
        A flow that sends nothing for so long does not count. Default: "2 s".

    flows :
        Connections that it knows at most; 0 makes it transparent. Default: 100000.
    """

    round_trip: Literal["oracle", "measured"]
    buffer: Literal["all", "half", "none"]
    gamma: float
    rise: Union[str, float]
    interval: str
    idle: str
    flows: int

_MiddleboxEwaRequired = TypedDict(
    "_MiddleboxEwaRequired",
    {
        "kind": Literal["ewa"],
    },
)


class MiddleboxEwa(_MiddleboxEwaRequired, total=False):
    """Tells senders by the window of returning acknowledgements how much the free room of a queue admits (Kalampoukas, Varma and Ramakrishnan 2002).

    interval :
        How often the mean queue and alpha are brought up to date; a millisecond at least. Default: "10 ms".

    low :
        Alpha rises while the mean queue is below this share of the room. Default: 0.2.

    high :
        Alpha falls while it is above this share. Default: 0.6.

    rise :
        What is added to alpha in an interval. Default: 0.125.

    fall :
        Which share of alpha is taken off in an interval. Default: 0.03125.

    flows :
        Connections that it knows at most; 0 makes it transparent. Default: 100000.
    """

    interval: str
    low: Union[str, float]
    high: Union[str, float]
    rise: Union[str, float]
    fall: Union[str, float]
    flows: int

_MiddleboxAckReconstructRequired = TypedDict(
    "_MiddleboxAckReconstructRequired",
    {
        "kind": Literal["ack-reconstruct"],
    },
)


class MiddleboxAckReconstruct(_MiddleboxAckReconstructRequired, total=False):
    """Replaces an acknowledgement of many segments by several, behind a filter or a slow link (RFC 3449 §5.2.3).

    direction :
        Which packets are looked at. Default: "to-sender".

    every :
        Segments that each acknowledgement is to be of. Default: 2.

    sessions :
        Connections whose acknowledgements it reconstructs at once; those of others pass unchanged. Default: 100000.

    idle :
        State is given up after a time without a packet. Default: "60 s".
    """

    direction: Literal["both", "to-receiver", "to-sender"]
    every: int
    sessions: int
    idle: str


class Config(TypedDict, total=False):
    """The settings of one connection.

    cc :
        Which congestion control moves the window. Default: "newreno".

    smss :
        Largest payload of a segment (SMSS), 40 B to 65415 B. Default: "1460 B".

    recovery :
        Which procedure decides what is lost and what is sent again. Without it, the one that the congestion control was published with.

    best_effort :
        Best-effort transport of SCPS-TP: what is missing for too long is skipped. With recovery `snack`. Default: "off".

    verdict :
        What a loss is taken to mean. Without it, `always-congestion` (RFC 5681), or what the congestion control was published with: `assume-congestion` for `scps`.

    copies :
        Copies of data with low priority, for the verdict `low-priority-copies`.

    feedback :
        What the window that the network advertises says of a loss, before the verdict is asked. Default: "off".

    duplicate_acks :
        Which ACKs count as duplicates. Default: "same-window".

    limited_transmit :
        Send one new segment on each of the first two duplicate ACKs. Default: true.

    limited_retransmit :
        Limited transmit also in the slow start after a timeout, where what it sends may be a retransmission. Default: false.

    early_retransmit :
        Let fewer than three duplicate ACKs prove a loss when fewer than four segments are outstanding and nothing new can be sent. Default: false.

    reduction :
        How the window falls to the slow start threshold in recovery. In proportion needs a recovery that uses SACK. Default: "at-once".

    second_reduction :
        Reaction to the loss of a retransmission, where the recovery finds it without the timer: `rack`, and `sack` with `evidence = "status"`. `snack` lowers the window once in an epoch, as SCPS-TP does. Default: "rfc5681".

    dsack :
        Report segments that arrived twice in the first SACK block (DSACK). Without it, true with recovery `rack` (RFC 8985 adapts its reordering window by DSACK), else false (RFC 2018; RFC 2883 is an extension).

    spurious_detection :
        How the sender finds out that it resent needlessly. Default: "off".

    spurious_response :
        What it undoes then. Default: "restore".

    initial_window :
        Window at the start of data transfer. Default: "rfc6928".

    initial_ssthresh :
        Where slow start ends for the first time; at least two segments. A bdp is the smallest rate on the route times the propagation round trip. Default: "unlimited".

    byte_counting :
        What an ACK counts for. Default: "rfc5681".

    slow_start :
        How slow start grows the window, and what ends it. Default: "standard".

    increase :
        How much congestion avoidance adds to the window in a round trip. Default: "standard".

    slow_start_at_ssthresh :
        Whether a window that equals the slow start threshold, as after fast recovery, is still in slow start and grows by a segment at once. Default: false.

    cwnd_validation :
        What becomes of a window that is not used. Default: "if-used".

    idle_restart :
        Fall back to the restart window after an idle time of one retransmission timeout (RFC 5681 §4.1). Without it, true; false where `cwnd_validation` says itself what an idle time does.

    ssthresh_rounding :
        Keep the slow start threshold to the byte, or round it down to whole segments, with or without the window that a loss leaves. Default: "bytes".

    grow_on_exit :
        Let the ACK that ends fast recovery also grow the window; RFC 5681 and 6582 only deflate it, ns-2 grows it. Default: false.

    ssthresh_base :
        What is halved when the slow start threshold is set. Default: "flight-size".

    give_up :
        When a connection that gets no answer is given up. Default: "100 s".

    keepalive :
        Probes on an idle connection, which is given up if the peer does not answer them. Each end probes. Default: "off".

    acceptable_acks :
        ACKs below SND.UNA that a segment may carry. Default: "rfc9293".

    challenge_acks :
        The number of challenge ACKs: answers to resets and SYNs in the window, and to ACKs that are not acceptable (RFC 5961).

    timestamps :
        Timestamps: 12 bytes in every segment, a round-trip sample from every ACK. Default: false.

    window_scaling :
        Window scaling; without it the advertised window ends at 65535 B. Default: true.

    receive_buffer :
        The receiver's buffer, which bounds the window it advertises; `auto` grows with the path. At most 1073725440 B. A bdp is the smallest rate on the route times the propagation round trip. Default: "unlimited".

    send_buffer :
        The sender's buffer: what the application may have written that is not acknowledged yet; `auto` grows with the congestion window. A bdp is the smallest rate on the route times the propagation round trip. Default: "unlimited".

    handshake :
        Open with SYN and SYN-ACK. Without, the connection starts established and the first data leave at once. Default: true.

    rto :
        The retransmission timer.

    ack :
        When the receiver acknowledges.

    ecn :
        Congestion marks: queues that can mark do so instead of dropping. Default: "off".

    pacing :
        When segments leave, beside what the windows allow. Retransmissions are paced too, acknowledgements are not. Default: "off".

    fast_open :
        Data in the SYN. Default: "off".

    transactions :
        T/TCP: data and FIN in the SYN, by connection counts. Not with Fast Open. Default: "off".

    sharing :
        What a connection takes over from earlier ones. Default: "off".

    nagle :
        Nagle's algorithm: hold small segments back while data are outstanding. Default: false.

    error_reports :
        What a report of a corrupted segment leads to; functions of the network send them. Default: "ignore".

    report_copies :
        How often a segment that was reported is sent each time. It is sent again when all copies were reported: of n copies with the probability p of being corrupted all are with p^n (multicopy retransmission). Default: 1.

    report_resend :
        Retransmission of a reported segment if segments have become smaller since it left (`packet_size`). Default: "whole".

    path_mtu :
        What a report that a segment is too large for a link leads to. Default: "discover".

    packet_size :
        The size of segments. Default: "fixed".

    cwnd_unit :
        What the window is a number of where the segment size follows reports. Default: "bytes".
    """

    cc: Union[CcBbr1, CcBbr2, CcBbr3, CcBic, CcCompound, CcCopa, CcCubic, CcEnhancedHswa, CcHighspeed, CcHswa, CcHtcp, CcHybla, CcIllinois, CcLedbat, CcLeocc, CcPeach, CcPeachPlus, CcSantaCruz, CcSatcp, CcScalable, CcScps, CcStp, CcSwift, CcVegas, CcVeno, CcWestwood, CcWestwoodNr, CcWestwoodPlus, CcWtcp, CcYeah, CcKind, Literal["tahoe", "tcpmin", "reno", "newreno", "sack", "bbr1", "bbr2", "bbr3", "bic", "compound", "copa", "cubic", "enhanced-hswa", "highspeed", "hswa", "htcp", "hybla", "illinois", "ledbat", "leocc", "peach", "peach-plus", "santa-cruz", "satcp", "scalable", "scps", "stp", "swift", "vegas", "veno", "westwood", "westwood-nr", "westwood-plus", "wtcp", "yeah"]]
    smss: str
    recovery: Union[RecoveryNewreno, RecoverySack, RecoveryRack, RecoverySnack, RecoveryKind, Literal["timeout-only", "fast-retransmit", "reno", "newreno", "sack", "rack", "snack"]]
    best_effort: Union[BestEffortOn, BestEffortKind, Literal["off", "on"]]
    verdict: Union[VerdictKind, Literal["always-congestion", "always-link-error", "assume-congestion", "assume-corruption", "ceten-p", "ceten-a", "low-priority-copies"]]
    copies: Copies
    feedback: Union[FeedbackRefwaPlus, FeedbackXcp, FeedbackRcp, BestEffortKind, Literal["off", "refwa-plus", "xcp", "rcp"]]
    duplicate_acks: Literal["same-window", "any-window"]
    limited_transmit: bool
    limited_retransmit: bool
    early_retransmit: bool
    reduction: Literal["at-once", "prr", "prr-ssrb", "prr-crb"]
    second_reduction: Literal["off", "after-timeout", "rfc5681"]
    dsack: bool
    spurious_detection: Literal["off", "frto", "eifel", "dsack", "any"]
    spurious_response: Literal["rfc4015", "restore", "conservative"]
    initial_window: str
    initial_ssthresh: str
    byte_counting: Union[ByteCountingAbc, ByteCountingKind, Literal["rfc5681", "per-ack", "abc", "lbc", "ubc", "ubc-pure"]]
    slow_start: Union[SlowStartLimited, SlowStartHoe, SlowStartHystart, SlowStartHystartPlusPlus, SlowStartKind, Literal["standard", "limited", "hoe", "hystart", "hystart++"]]
    increase: Union[IncreaseConstantRate, IncreaseByK, SlowStartKind, Literal["standard", "constant-rate", "by-k"]]
    slow_start_at_ssthresh: bool
    cwnd_validation: Literal["off", "if-used", "rfc2861", "rfc7661"]
    idle_restart: bool
    ssthresh_rounding: Literal["bytes", "segments", "window"]
    grow_on_exit: bool
    ssthresh_base: Literal["flight-size", "window"]
    give_up: str
    keepalive: Union[KeepaliveOn, BestEffortKind, Literal["off", "on"]]
    acceptable_acks: Literal["rfc9293", "rfc5961"]
    challenge_acks: ChallengeAcks
    timestamps: bool
    window_scaling: bool
    receive_buffer: str
    send_buffer: str
    handshake: bool
    rto: Rto
    ack: Ack
    ecn: Union[EcnClassic, EcnPerSegment, EcnAccurate, BestEffortKind, Literal["off", "classic", "per-segment", "accurate"]]
    pacing: Union[PacingWindow, PacingRate, BestEffortKind, Literal["off", "window"]]
    fast_open: Union[FastOpenOn, BestEffortKind, Literal["off", "on"]]
    transactions: Union[TransactionsOn, BestEffortKind, Literal["off", "on"]]
    sharing: Union[SharingOn, BestEffortKind, Literal["off", "on"]]
    nagle: bool
    error_reports: Literal["ignore", "resend"]
    report_copies: int
    report_resend: Literal["whole", "packet"]
    path_mtu: Literal["discover", "ignore"]
    packet_size: Union[PacketSizeOptimum, PacketSizeKind, Literal["fixed", "optimum"]]
    cwnd_unit: Literal["bytes", "packets"]

_MiddleboxSplitRequired = TypedDict(
    "_MiddleboxSplitRequired",
    {
        "kind": Literal["split"],
    },
)


class MiddleboxSplit(_MiddleboxSplitRequired, total=False):
    """Splits connections: two real ones back to back, each with its own transport (RFC 3135 §2.4).

    accept :
        When the opener is answered. Default: "early".

    buffer :
        Bytes that it keeps for each direction of a connection until the other end has acknowledged them. Default: "6291456 B".

    sessions :
        Connections that it keeps at once; the SYN of another is dropped. Default: 100000.

    half_open :
        Those of them that may not be open on both sides yet. Default: 4096.

    idle :
        State is given up after a time without a packet. Default: "7440 s".

    fails_at :
        All state is lost at this instant, as when the proxy restarts. Without it, never.

    opener :
        Its transport towards the end that opens; what is not written here is as in `[tcp]`.

    listener :
        Its transport towards the other end; what is not written here is as in `[tcp]`.
    """

    accept: Literal["early", "late"]
    buffer: str
    sessions: int
    half_open: int
    idle: str
    fails_at: str
    opener: Config
    listener: Config

_MiddleboxCacheRequired = TypedDict(
    "_MiddleboxCacheRequired",
    {
        "kind": Literal["cache"],
    },
)


class MiddleboxCache(_MiddleboxCacheRequired, total=False):
    """Keeps answers, and gives them itself to those who ask for the same object again (a cache, on board or at a gateway).

    room :
        Bytes of answers that it keeps. Default: "1000000000 B".

    buffer :
        Bytes that it keeps for each direction of a connection until the other end has acknowledged them. Default: "6291456 B".

    sessions :
        Connections that it keeps at once; the SYN of another is dropped. Default: 100000.

    idle :
        State of a connection is given up after a time without a packet. Default: "7440 s".

    opener :
        Its transport towards whoever asks; what is not written here is as in `[tcp]`.

    listener :
        Its transport towards the node that has the object; what is not written here is as in `[tcp]`.
    """

    room: str
    buffer: str
    sessions: int
    idle: str
    opener: Config
    listener: Config

_MiddleboxSpoofRequired = TypedDict(
    "_MiddleboxSpoofRequired",
    {
        "kind": Literal["spoof"],
    },
)


class MiddleboxSpoof(_MiddleboxSpoofRequired, total=False):
    """Acknowledges data early, keeps copies, and repairs what is lost behind it (RFC 3135 §3.1.3).

    buffer :
        Bytes of each direction of a connection that it keeps until the receiver acknowledges them. Default: "6291456 B".

    window :
        Bytes that may be on their way from the proxy to the receiver: the bandwidth-delay product of the hop. Default: "6291456 B".

    direction :
        Which data are acknowledged early. Default: "both".

    sessions :
        Directions of connections that it keeps copies of at once; those of others pass unchanged. Default: 100000.

    idle :
        State is given up after a time without a packet. Default: "7440 s".
    """

    buffer: str
    window: str
    direction: Literal["both", "to-receiver", "to-sender"]
    sessions: int
    idle: str

_MiddleboxSatpepRequired = TypedDict(
    "_MiddleboxSatpepRequired",
    {
        "kind": Literal["satpep"],
        "rate": str,
    },
)


class MiddleboxSatpep(_MiddleboxSatpepRequired, total=False):
    """One of two gateways that split connections and run a protocol of their own between them (Velenis et al. 2002).

    rate :
        The rate of the satellite link in the direction away from here.

    rtt :
        The round trip between the gateways, until it is measured. Default: "600 ms".

    interval :
        The shortest time over which the use of the link is measured; a round trip, if that is longer. Default: "200 ms".

    target :
        The share of the link that is given away. Default: 0.95.

    slow_start :
        Begin with one packet, double from round trip to round trip, and begin again after a timeout. Default: false.

    nack_probe :
        Ask about the packets sent last when nothing is heard for a round trip and 50 ms, instead of waiting for the timeout. Default: true.

    buffer :
        Bytes that it keeps for each direction of a connection. Default: "6291456 B".

    sessions :
        Connections that it keeps at once; the SYN of another is dropped. Default: 100000.

    idle :
        State is given up after a time without a packet. Default: "7440 s".

    terrestrial :
        Its transport towards the end on its side; what is not written here is as in `[tcp]`.
    """

    rtt: str
    interval: str
    target: Union[str, float]
    slow_start: bool
    nack_probe: bool
    buffer: str
    sessions: int
    idle: str
    terrestrial: Config

_MiddleboxSnoopRequired = TypedDict(
    "_MiddleboxSnoopRequired",
    {
        "kind": Literal["snoop"],
    },
)


class MiddleboxSnoop(_MiddleboxSnoopRequired, total=False):
    """Keeps copies of data in front of a link that loses, and repairs what duplicate acknowledgements report (Balakrishnan et al. 1995).

    buffer :
        Bytes of each direction of a connection that it keeps; what does not fit passes without a copy. Default: "6291456 B".

    direction :
        Which data it keeps copies of. Default: "to-receiver".

    timeout_min :
        The shortest time after which it sends a segment again by itself. Default: "20 ms".

    sessions :
        Directions of connections that it keeps copies of at once; those of others pass unchanged. Default: 100000.

    idle :
        State is given up after a time without a packet. Default: "7440 s".
    """

    buffer: str
    direction: Literal["both", "to-receiver", "to-sender"]
    timeout_min: str
    sessions: int
    idle: str

_MiddleboxFreezeRequired = TypedDict(
    "_MiddleboxFreezeRequired",
    {
        "kind": Literal["freeze"],
    },
)


class MiddleboxFreeze(_MiddleboxFreezeRequired, total=False):
    """Holds data and closes senders' windows while the link behind it is down, so that they take that for no congestion (M-TCP; RFC 3135 §3.2.2).

    direction :
        Which data it holds. Default: "to-receiver".

    buffer :
        Bytes of each connection that it holds; more are lost. Default: "6291456 B".

    sessions :
        Connections that it looks after at once; those of others pass unchanged. Default: 100000.

    idle :
        State is given up after a time without a packet. Default: "7440 s".
    """

    direction: Literal["both", "to-receiver", "to-sender"]
    buffer: str
    sessions: int
    idle: str

_MiddleboxBeenRequired = TypedDict(
    "_MiddleboxBeenRequired",
    {
        "kind": Literal["been"],
        "role": Literal["satellite", "gateway"],
    },
)


class MiddleboxBeen(_MiddleboxBeenRequired, total=False):
    """Reports packets that the uplink corrupts to their source, and estimates its error rate (BEEN): a satellite or its gateway.

    role :
        Which part of it.

    window :
        Gateway: records that make an estimate. Default: 10.

    scope :
        Gateway: what shares an estimate. Default: "uplink".

    beta :
        Gateway: the weight of a new estimate in the mean. Default: 0.2.

    ewma_start :
        Gateway: what the mean begins with. Default: "first-sample".

    mle_unit :
        Gateway: in what packets and the error rate are counted. Default: "byte".

    mle_clamp :
        Gateway: take a window in which nothing arrived for one in which half a packet did. Without, its error rate is 1. Default: false.

    cold :
        Gateway: what it says before its first window is full. Default: "literal".

    prior :
        Gateway: the estimate that earlier traffic has left; 0: none. Default: 0.0.

    lifetime :
        Gateway: how long it remembers a packet, and at most twice that. Default: "1 s".

    records :
        Satellite: records on a packet that goes to the gateway. Default: 1.

    records_when_long :
        Satellite: records on a packet where more than eight wait. Default: 4.

    inter_satellite :
        Satellite: keep numbers on packets to satellites that know BEEN too, so that those report what the links between corrupt. Default: false.

    option_bytes :
        Let what is written on packets make them longer, by 8 B each: what goes up at a gateway, what comes down at a satellite. Default: false.
    """

    window: int
    scope: Literal["uplink", "flow"]
    beta: Union[str, float]
    ewma_start: Literal["first-sample", "zero"]
    mle_unit: Literal["byte", "bit"]
    mle_clamp: bool
    cold: Literal["literal", "partial"]
    prior: Union[str, float]
    lifetime: str
    records: int
    records_when_long: int
    inter_satellite: bool
    option_bytes: bool

_MiddleboxElnRequired = TypedDict(
    "_MiddleboxElnRequired",
    {
        "kind": Literal["eln"],
    },
)


class MiddleboxEln(_MiddleboxElnRequired, total=False):
    """Marks duplicate acknowledgements that ask for what was corrupted (ELN).

    option_bytes :
        Let the mark make a packet longer, by 8 B. Default: false.
    """

    option_bytes: bool

_MiddleboxEtenRequired = TypedDict(
    "_MiddleboxEtenRequired",
    {
        "kind": Literal["eten"],
    },
)


class MiddleboxEten(_MiddleboxEtenRequired, total=False):
    """Notifies the source of corrupted packets, backward or forward, or all of the chance to survive (ETEN, CETEN).

    role :
        Which part of it. Default: "hop".

    notice :
        How the source is notified. Default: "backward".

    option_bytes :
        Let what is written on packets make them longer, by 8 B. Default: false.
    """

    role: Literal["hop", "receiver"]
    notice: Literal["backward", "forward", "cumulative"]
    option_bytes: bool

_MiddleboxDpsmRequired = TypedDict(
    "_MiddleboxDpsmRequired",
    {
        "kind": Literal["dpsm"],
    },
)


class MiddleboxDpsm(_MiddleboxDpsmRequired, total=False):
    """Lets senders make packets smaller or larger by what arrives corrupted (DPSM).

    feedback :
        Packets between two decisions. Default: 8.

    up :
        The factor of the size without an error, 1 to 100. Default: 1.25.

    down :
        The factor of the size for each error, 0 to 1. Default: 0.8.

    additive :
        Without an error, add 64 B in place of the factor. Default: false.

    min :
        The smallest payload. Default: "40 B".

    max :
        The largest payload, from which it starts; the sender's `smss`. Default: "1460 B".
    """

    feedback: int
    up: float
    down: float
    additive: bool
    min: str
    max: str

_MiddleboxXcpRequired = TypedDict(
    "_MiddleboxXcpRequired",
    {
        "kind": Literal["xcp"],
    },
)


class MiddleboxXcp(_MiddleboxXcpRequired, total=False):
    """Tells each sender with XCP by how much to change its window (Katabi, Handley and Rohrs 2002).

    alpha :
        Which share of the room that is left is given away in a round trip. Default: 0.4.

    beta :
        Which share of the standing queue is taken back. Default: 0.226.

    gamma :
        Which share of the traffic changes hands at least. Default: 0.1.

    first :
        The interval before any round trip is known. Default: "100 ms".
    """

    alpha: float
    beta: float
    gamma: float
    first: str

_MiddleboxRcpRequired = TypedDict(
    "_MiddleboxRcpRequired",
    {
        "kind": Literal["rcp"],
    },
)


class MiddleboxRcp(_MiddleboxRcpRequired, total=False):
    """Tells all senders with RCP the one rate at which each may send (Dukkipati 2007).

    alpha :
        How much of the room that is left changes the rate. Default: 0.4.

    beta :
        How much the queue does. Default: 0.226.

    interval :
        How often the rate changes at least; as often as the mean round trip if that is shorter. Default: "10 ms".

    start :
        The share of the link's rate that it begins with. Default: 0.05.

    first :
        The mean round trip before any is known. Default: "100 ms".
    """

    alpha: float
    beta: float
    interval: str
    start: Union[str, float]
    first: str

_MiddleboxErasureRequired = TypedDict(
    "_MiddleboxErasureRequired",
    {
        "kind": Literal["erasure"],
        "role": Literal["encoder", "decoder"],
    },
)


class MiddleboxErasure(_MiddleboxErasureRequired, total=False):
    """One of two functions that protect what passes between them by repair packets: an erasure code, k of n or rateless (RFC 5510, RFC 5053).

    role :
        Which end.

    direction :
        Which packets it codes, or decodes. Default: "both".

    code :
        Encoder: the code. Default: "mds".

    k :
        Encoder: packets of a block. Default: 20.

    repair :
        Encoder: repair packets of a full block; with 0 it does nothing. Default: 2.

    wait :
        Encoder: how long a block is open before it is closed as it is. Default: "50 ms".

    overhead :
        Encoder: what a repair packet has beyond the largest packet of its block. Default: "8 B".

    order :
        Decoder: when packets leave it. Default: "at-once".

    timeout :
        Decoder: a block of which nothing has come for so long is given up. Default: "500 ms".

    blocks :
        Decoder: blocks of a pair that it remembers. Default: 64.
    """

    direction: Literal["both", "to-receiver", "to-sender"]
    code: Literal["mds", "rateless"]
    k: int
    repair: int
    wait: str
    overhead: str
    order: Literal["at-once", "in-order"]
    timeout: str
    blocks: int

_MiddleboxCompressRequired = TypedDict(
    "_MiddleboxCompressRequired",
    {
        "kind": Literal["compress"],
        "role": Literal["compressor", "decompressor"],
    },
)


class MiddleboxCompress(_MiddleboxCompressRequired, total=False):
    """One of two functions that make the headers of TCP short on the links between them (RFC 1144, RFC 2507, RFC 6846).

    role :
        Which end.

    direction :
        Which packets it acts on. Default: "both".

    scheme :
        How headers are compressed; the same at both ends. Default: "vj".

    header :
        Compressor: size of a compressed header; 4 B, with `rohc` 8 B.

    contexts :
        Compressor: contexts for each decompressor; with 0 it does nothing. Default: 16.

    window :
        Compressor, with `rohc`: packets in a row whose loss damages nothing, and full headers at the start of a context. Default: 4.

    refresh :
        Compressor, with `rohc`: after so long a header is full again, should no request arrive. Default: "5 s".

    twice :
        Decompressor, with `iphc`: whether it tries a difference once more where it does not fit. Default: true.

    again :
        Decompressor, with `iphc` and `rohc`: for how long it waits for a full header before it asks again. Default: "500 ms".
    """

    direction: Literal["both", "to-receiver", "to-sender"]
    scheme: Literal["vj", "iphc", "rohc"]
    header: str
    contexts: int
    window: int
    refresh: str
    twice: bool
    again: str

_MiddleboxOwnRequired = TypedDict(
    "_MiddleboxOwnRequired",
    {
        "kind": Literal["own"],
        "name": str,
    },
)


class MiddleboxOwn(_MiddleboxOwnRequired, total=False):
    """A function of one's own, which whoever runs the scenario gives: a class in Python, or a type in Rust.

    name :
        What it is called. Whoever runs the scenario gives it: a scenario contains no code.

    code :
        Distinguishes it from others of this name in a resolved scenario; what is written here is not looked at. Default: "".
    """

    code: str


class Node(TypedDict, total=False):
    """A place where links meet.

    kind :
        What happens to corrupted packets here. Default: "router".

    middlebox :
        Functions that see each packet passing through, in order. Default: [].
    """

    kind: Literal["router", "bent-pipe", "processing"]
    middlebox: List[Union[MiddleboxImpair, MiddleboxAckFilter, MiddleboxRefwa, MiddleboxEwa, MiddleboxAckReconstruct, MiddleboxSplit, MiddleboxCache, MiddleboxSpoof, MiddleboxSatpep, MiddleboxSnoop, MiddleboxFreeze, MiddleboxBeen, MiddleboxEln, MiddleboxEten, MiddleboxDpsm, MiddleboxXcp, MiddleboxRcp, MiddleboxErasure, MiddleboxCompress, MiddleboxOwn, Literal["impair", "ack-filter", "refwa", "ewa", "ack-reconstruct", "split", "cache", "spoof", "snoop", "freeze", "eln", "eten", "dpsm", "xcp", "rcp"]]]

_SkyOverGeoRequired = TypedDict(
    "_SkyOverGeoRequired",
    {
        "geo": float,
    },
)


class SkyOverGeo(_SkyOverGeoRequired, total=False):
    """A geostationary satellite.

    geo :
        Degrees east; west is negative.

    inclination :
        Of the orbit, degrees; with one, the satellite moves in a figure of eight once a day. Default: 0.0.
    """

    inclination: float

_SkyOverElementsRequired = TypedDict(
    "_SkyOverElementsRequired",
    {
        "elements": str,
    },
)


class SkyOverElements(_SkyOverElementsRequired, total=False):
    """Satellites that a catalogue has, followed by SGP4.

    elements :
        A file of two-line elements or OMM (JSON, CSV, XML, KVN) beside the scenario or in a folder there.

    bad :
        Treatment of records that cannot be used, and of elements that are older than `elements_age_max`. Default: "refuse".
    """

    bad: Literal["refuse", "skip"]

_OwnShellRequired = TypedDict(
    "_OwnShellRequired",
    {
        "planes": int,
        "per_plane": int,
        "inclination": float,
    },
)


class OwnShell(_OwnShellRequired, total=False):
    """Planes of equal orbits: Walker's i: T/P/F has P `planes`, T / P satellites `per_plane` and F as `phasing`.

    planes :
        Number of planes.

    per_plane :
        Satellites in each.

    altitude_km :
        Height of circular orbits above a sphere of 6378.137 km; of the semi-major axis where they are ellipses. Needed without `mean_motion`.

    mean_motion :
        Revolutions per day, in place of the height.

    inclination :
        Inclination, degrees.

    pattern :
        How far the planes spread. Default: "delta".

    phasing :
        Walker's F: each plane is ahead of the one before it by F 360 deg / T. Default: 0.

    odd_planes :
        Degrees by which every other plane is ahead, instead of `phasing`.

    spacing :
        Degrees between planes. Without it, they are evenly spread.

    node :
        Right ascension of the first plane's node at the start, degrees. Default: 0.0.

    anomaly :
        Mean anomaly of the first satellite at the start, degrees. Default: 0.0.

    eccentricity :
        0 for circles. Default: 0.0.

    perigee :
        Argument of the perigee, degrees. Default: 0.0.

    motion :
        How orbits change. Default: "j2".
    """

    altitude_km: float
    mean_motion: float
    pattern: Literal["delta", "star"]
    phasing: int
    odd_planes: float
    spacing: float
    node: float
    anomaly: float
    eccentricity: float
    perigee: float
    motion: Literal["j2", "kepler", "sgp4"]


class SkyOverShells(TypedDict):
    """A constellation of one's own.

    shells :
        Its shells. Their satellites are used from 25 deg of elevation on and linked by `between_satellites = "grid"` unless other keys say otherwise.
    """

    shells: List[OwnShell]


class ConstellationSelectionTable(TypedDict, total=False):
    """Which satellite a place uses, by kind of place. A rule chooses among the satellites that reach most of the other ends of the place's flows.

    user :
        Places other than gateways. Default: "any".

    gateway :
        Gateways. With a rule a gateway has one antenna. Default: "any".

    place :
        Single places, by name.
    """

    user: Literal["any", "highest", "nearest", "longest", "periodic", "starlink"]
    gateway: Literal["any", "highest", "nearest", "longest", "periodic", "starlink"]
    place: Dict[str, Literal["any", "highest", "nearest", "longest", "periodic", "starlink"]]


class ConstellationBetweenSatellitesTable(TypedDict, total=False):
    """Links between satellites in detail.

    pairs :
        The pairs that are linked, by name, and no others. Without any, +Grid. Default: [].

    offset :
        By how many places the neighbour in the next plane is ahead of the one with the same place. Default: 0.

    seam :
        Whether links cross the seam of a star. Default: false.

    polar_cutoff :
        Degrees of latitude beyond which links between planes are off; 90: nowhere. Without it, as the constellation has it.

    max_km :
        The longest link. Without it, only the Earth limits them.

    above_km :
        How high above the surface the line of sight must stay: 80 km clear most of the atmosphere; ns-2 has 150 km. Default: 80.0.
    """

    pairs: List[Union[Tuple[str, str], List[str]]]
    offset: int
    seam: bool
    polar_cutoff: float
    max_km: float
    above_km: float

_SkyFailureOptional = TypedDict(
    "_SkyFailureOptional",
    {
        "from": str,
    },
    total=False,
)


class SkyFailure(_SkyFailureOptional, total=False):
    """A satellite, gateway or terminal that is out of use with all its links, or the link between two nodes.

    satellite :
        The satellite, as `bentpipe sky` or the links of the resolved scenario name it.

    gateway :
        The gateway.

    terminal :
        The place whose terminal fails: all its links to satellites. Other constellations have other terminals.

    link :
        The two nodes whose link it is: satellites or places. Default: [].

    from :
        From when on. Default: "0 s".

    to :
        Until when. Without it, for the rest of the run.
    """

    satellite: str
    gateway: str
    terminal: str
    link: List[str]
    to: str

_HopRatePointsRequired = TypedDict(
    "_HopRatePointsRequired",
    {
        "points": List[Union[Tuple[str, str], List[str]]],
    },
)


class HopRatePoints(_HopRatePointsRequired, total=False):
    """A bit rate that changes in steps.

    points :
        Pairs of instant and rate, increasing in time, the first at 0 s. Each holds until the next.

    every :
        Start again after this long. Without it, the last point holds.
    """

    every: str

_HopRateFileRequired = TypedDict(
    "_HopRateFileRequired",
    {
        "file": str,
    },
)


class HopRateFile(_HopRateFileRequired, total=False):
    """A bit rate that was measured.

    file :
        A file beside the scenario or in a folder there. The resolved scenario has its content as points.

    format :
        What is in it. Default: "csv".

    column :
        Name of the column to take; in `_bps`, `_kbps`, `_mbps` or `_gbps`. Not needed where there is only one beside the time.

    every :
        Start again after this long. Without it, the last value holds. A Mahimahi trace starts again by itself.
    """

    format: Literal["csv", "mahimahi"]
    column: str
    every: str

_SpreadUniformRequired = TypedDict(
    "_SpreadUniformRequired",
    {
        "kind": Literal["uniform"],
        "to": str,
    },
)

_SpreadUniformOptional = TypedDict(
    "_SpreadUniformOptional",
    {
        "from": str,
    },
    total=False,
)


class SpreadUniform(_SpreadUniformRequired, _SpreadUniformOptional, total=False):
    """All delays of a range alike.

    from :
        Shortest. Default: "0 s".

    to :
        Longest.
    """


class SpreadExponential(TypedDict):
    """Many short delays and few long ones.

    mean :
        Mean.
    """

    kind: Literal["exponential"]
    mean: str


class SpreadQuantiles(TypedDict):
    """Straight lines between measured quantiles. Below the first and above the last there is nothing.

    points :
        Shares of the time, rising, each with the delay that is not exceeded in it: `["95 %", "12 ms"]`.
    """

    kind: Literal["quantiles"]
    points: List[Union[Tuple[Union[str, float], str], List[Union[str, float]]]]

_HopJitterTableRequired = TypedDict(
    "_HopJitterTableRequired",
    {
        "delay": Union[SpreadUniform, SpreadExponential, SpreadQuantiles],
        "every": str,
    },
)


class HopJitterTable(_HopJitterTableRequired, total=False):
    """A delay that varies, beside the propagation delay. A value holds for `every`, then the next one is drawn. Packets never overtake: a packet that would arrive before the one ahead of it arrives together with it.

    delay :
        Distribution of the values.

    every :
        Time for which a value holds.

    offset :
        An instant at which a value ends, counted from the start of the run. Default: "0 s".

    correlation :
        Time after which the correlation of values has fallen to 1/e. Without it, values are independent. Default: "0 s".

    both_ways :
        Whether both directions of the link have the same values, as where a path becomes longer. Otherwise each draws its own. Default: false.
    """

    offset: str
    correlation: str
    both_ways: bool

_HopQueueDropTailRequired = TypedDict(
    "_HopQueueDropTailRequired",
    {
        "kind": Literal["drop-tail"],
    },
)


class HopQueueDropTail(_HopQueueDropTailRequired, total=False):
    """First in, first out; what finds it full is dropped.

    limit :
        How much may wait. Default: "1 bdp".
    """

    limit: str

_HopQueueRedRequired = TypedDict(
    "_HopQueueRedRequired",
    {
        "kind": Literal["red"],
    },
)


class HopQueueRed(_HopQueueRedRequired, total=False):
    """Random early detection: the longer the queue is on average, the more of what arrives is dropped (Floyd and Jacobson 1993).

    limit :
        How much may wait; what exceeds it is dropped. Default: "1 bdp".

    min_th :
        Average length in packets from which on packets are dropped. Default: 5.

    max_th :
        Average length in packets at which the probability of a drop reaches `max_p`. Default: 15.

    max_p :
        Probability of a drop when the average reaches `max_th`. Default: 0.1.

    weight :
        Weight of a new length in the moving average (`w_q`). Default: 0.002.

    gentle :
        From `max_th` to twice that the probability rises to 1; otherwise it is 1 at once. Default: true.

    adaptive :
        `max_p` changes every 0.5 s to keep the average between the thresholds (Floyd, Gummadi and Shenker 2001). Default: false.

    wait :
        No drop until 1 / p packets have passed since the last one, as ns-2 has it; otherwise drops are spread over 1 to 1 / p packets. Default: false.

    byte_mode :
        The average counts bytes, thresholds are times `mean_packet`, and large packets are dropped more often. Default: false.

    mean_packet :
        Size of a packet on average, headers included: how much the average falls while the link is idle, and the unit of the thresholds in byte mode. Default: "500 B".

    ecn :
        Packets of senders that understand it are marked instead of dropped early (RFC 3168). Default: false.
    """

    limit: str
    min_th: int
    max_th: int
    max_p: Union[str, float]
    weight: Union[str, float]
    gentle: bool
    adaptive: bool
    wait: bool
    byte_mode: bool
    mean_packet: str
    ecn: bool

_HopQueueCodelRequired = TypedDict(
    "_HopQueueCodelRequired",
    {
        "kind": Literal["codel"],
    },
)


class HopQueueCodel(_HopQueueCodelRequired, total=False):
    """Controlled delay: drops from the head of the queue when packets have waited too long for an interval (RFC 8289).

    limit :
        How much may wait; what exceeds it is dropped. Default: "1 bdp".

    target :
        Waiting time that may stand. Default: "5 ms".

    interval :
        How long packets must wait longer than that; about the largest round trip, which over a GEO satellite is 600 ms. Default: "100 ms".

    ecn :
        Packets of senders that understand it are marked instead of dropped (RFC 3168). Default: false.
    """

    limit: str
    target: str
    interval: str
    ecn: bool

_HopQueueFqCodelRequired = TypedDict(
    "_HopQueueFqCodelRequired",
    {
        "kind": Literal["fq-codel"],
    },
)


class HopQueueFqCodel(_HopQueueFqCodelRequired, total=False):
    """Flows are hashed to queues that take turns by bytes, each under CoDel; flows that send little go first (RFC 8290).

    limit :
        How much may wait in all queues together; what exceeds it is dropped from the longest. Default: "10240 packets".

    queues :
        Number of queues. Default: 1024.

    quantum :
        Bytes that a queue sends before it is the next one's turn. Default: "1514 B".

    target :
        Waiting time that may stand. Default: "5 ms".

    interval :
        How long packets must wait longer than that; about the largest round trip, which over a GEO satellite is 600 ms. Default: "100 ms".

    ecn :
        Packets of senders that understand it are marked instead of dropped (RFC 3168). Default: true.
    """

    limit: str
    queues: int
    quantum: str
    target: str
    interval: str
    ecn: bool

_HopQueuePieRequired = TypedDict(
    "_HopQueuePieRequired",
    {
        "kind": Literal["pie"],
    },
)


class HopQueuePie(_HopQueuePieRequired, total=False):
    """Drops what arrives with a probability that a controller of the waiting time sets (RFC 8033).

    limit :
        How much may wait; what exceeds it is dropped. Default: "1 bdp".

    target :
        Waiting time to keep. Default: "15 ms".

    update :
        Time between updates of the probability. Default: "15 ms".

    burst :
        For how long packets are let through after a quiet time. Default: "150 ms".

    derandomise :
        Drops are neither too close nor too far apart (RFC 8033 §5.4). Default: true.

    mean_packet :
        Size of a packet on average, headers included: while no more than two of them wait, none is dropped. Default: "1000 B".

    ecn :
        While the probability is below 0.1, packets of senders that understand it are marked instead of dropped (RFC 3168). Default: false.
    """

    limit: str
    target: str
    update: str
    burst: str
    derandomise: bool
    mean_packet: str
    ecn: bool


class Class(TypedDict, total=False):
    """A class of a queue.

    limit :
        How much of it may wait. Default: "1 bdp".
    """

    limit: str

_HopQueuePriorityRequired = TypedDict(
    "_HopQueuePriorityRequired",
    {
        "kind": Literal["priority"],
        "class": List[Class],
    },
)


class HopQueuePriority(_HopQueuePriorityRequired, total=False):
    """Strict priority: a class is served when nothing waits in those before it.

    push_out :
        The limit of the first class is that of all together, and what finds the queue full takes the place of the last packet of the lowest class below its own. Default: false.

    class :
        The classes, the highest first: number 0, 1, ...
    """

    push_out: bool


class WeightedClass(TypedDict, total=False):
    """A class of a queue that shares the link by weight.

    weight :
        Its share of the link, relative to the others. Default: 1.

    limit :
        How much of it may wait. Default: "1 bdp".
    """

    weight: int
    limit: str

_HopQueueWrrRequired = TypedDict(
    "_HopQueueWrrRequired",
    {
        "kind": Literal["wrr"],
        "class": List[WeightedClass],
    },
)


class HopQueueWrr(_HopQueueWrrRequired):
    """Weighted round robin: classes take turns, each with as many packets as its weight.

    class :
        The classes: number 0, 1, ...
    """

_HopQueueDrrRequired = TypedDict(
    "_HopQueueDrrRequired",
    {
        "kind": Literal["drr"],
        "class": List[WeightedClass],
    },
)


class HopQueueDrr(_HopQueueDrrRequired, total=False):
    """Deficit round robin: classes take turns, each with as many bytes as its weight times the quantum (Shreedhar and Varghese 1995).

    quantum :
        Bytes per turn and unit of weight; best not less than the largest packet. Default: "1500 B".

    class :
        The classes: number 0, 1, ...
    """

    quantum: str

_ErrorModelBitRequired = TypedDict(
    "_ErrorModelBitRequired",
    {
        "kind": Literal["bit"],
        "rate": Union[str, float],
    },
)


class ErrorModelBit(_ErrorModelBitRequired, total=False):
    """Each bit of a packet, headers and framing included, is wrong with this probability; one is enough.

    rate :
        Bit error rate.

    effect :
        What becomes of the packets that are hit. Default: "corrupt".
    """

    effect: Literal["corrupt", "lose"]

_ErrorModelByteRequired = TypedDict(
    "_ErrorModelByteRequired",
    {
        "kind": Literal["byte"],
        "rate": Union[str, float],
    },
)


class ErrorModelByte(_ErrorModelByteRequired, total=False):
    """Each byte of a packet, headers and framing included, is wrong with this probability (ns-2: unit byte).

    rate :
        Byte error rate.

    effect :
        What becomes of the packets that are hit. Default: "corrupt".
    """

    effect: Literal["corrupt", "lose"]

_ErrorModelPacketRequired = TypedDict(
    "_ErrorModelPacketRequired",
    {
        "kind": Literal["packet"],
        "rate": Union[str, float],
    },
)


class ErrorModelPacket(_ErrorModelPacketRequired, total=False):
    """Each packet is hit with this probability, whatever its size (ns-2's default unit).

    rate :
        Packet error rate.

    effect :
        What becomes of the packets that are hit. Default: "corrupt".
    """

    effect: Literal["corrupt", "lose"]

_ErrorModelGilbertElliottRequired = TypedDict(
    "_ErrorModelGilbertElliottRequired",
    {
        "kind": Literal["gilbert-elliott"],
        "mean_good": str,
        "mean_bad": str,
    },
)


class ErrorModelGilbertElliott(_ErrorModelGilbertElliottRequired, total=False):
    """Good and bad states that last for exponential times or geometric numbers of packets, with errors in each (Gilbert 1960, Elliott 1963).

    unit :
        What the rates count. Default: "packet".

    mean_good :
        Mean duration of the good state.

    mean_bad :
        Mean duration of the bad state, in time or in packets like that of the good one.

    rate_good :
        Error rate in the good state. Default: 0.0.

    rate_bad :
        Error rate in the bad state. Default: 1.0.

    effect :
        What becomes of the packets that are hit. Default: "corrupt".
    """

    unit: Literal["bit", "byte", "packet"]
    rate_good: Union[str, float]
    rate_bad: Union[str, float]
    effect: Literal["corrupt", "lose"]

_ErrorModelBurstsRequired = TypedDict(
    "_ErrorModelBurstsRequired",
    {
        "kind": Literal["bursts"],
        "mean_loss": Union[str, float],
        "mean_burst": str,
    },
)


class ErrorModelBursts(_ErrorModelBurstsRequired, total=False):
    """Bursts in which every packet is hit, fitted to a measured mean: a Gilbert-Elliott channel without errors in the good state.

    mean_loss :
        Share of the packets that are hit; below 1.

    mean_burst :
        Mean length of a burst, in packets (states change from packet to packet) or in time (by the clock).

    effect :
        What becomes of the packets that are hit. Default: "corrupt".
    """

    effect: Literal["corrupt", "lose"]

_ErrorModelProfileRequired = TypedDict(
    "_ErrorModelProfileRequired",
    {
        "kind": Literal["profile"],
        "points": List[Union[Tuple[str, Union[str, float]], List[str]]],
    },
)


class ErrorModelProfile(_ErrorModelProfileRequired, total=False):
    """Independent errors whose rate changes in steps: errors at set instants, such as handovers.

    unit :
        What the rates count. Default: "packet".

    points :
        Pairs of instant and error rate, increasing in time, the first at 0 s. Each holds until the next.

    every :
        Start again after this long. Without it, the last point holds.

    effect :
        What becomes of the packets that are hit. Default: "corrupt".
    """

    unit: Literal["bit", "byte", "packet"]
    every: str
    effect: Literal["corrupt", "lose"]

_ErrorModelTraceRequired = TypedDict(
    "_ErrorModelTraceRequired",
    {
        "kind": Literal["trace"],
        "file": str,
    },
)


class ErrorModelTrace(_ErrorModelTraceRequired, total=False):
    """Independent errors whose rate was measured: a profile from a CSV file.

    file :
        A file beside the scenario or in a folder there. The resolved scenario has its content as a profile.

    column :
        Name of the column to take, from 0 to 1, or in per cent if it ends in `_pct`. Not needed where there is only one beside the time.

    every :
        Start again after this long. Without it, the last value holds.

    unit :
        What the rates count. Default: "packet".

    effect :
        What becomes of the packets that are hit. Default: "corrupt".
    """

    column: str
    every: str
    unit: Literal["bit", "byte", "packet"]
    effect: Literal["corrupt", "lose"]

_ErrorModelArrivalsRequired = TypedDict(
    "_ErrorModelArrivalsRequired",
    {
        "kind": Literal["arrivals"],
        "list": List[int],
    },
)


class ErrorModelArrivals(_ErrorModelArrivalsRequired, total=False):
    """Exactly these packets: for worked examples.

    list :
        Indices of the packets that are hit, increasing; 0 is the first that the link sends.

    every :
        Start again after this many packets. Without it, the list comes once.

    effect :
        What becomes of the packets that are hit. Default: "corrupt".
    """

    every: int
    effect: Literal["corrupt", "lose"]

_ErrorModelPacketTraceRequired = TypedDict(
    "_ErrorModelPacketTraceRequired",
    {
        "kind": Literal["packet-trace"],
        "file": str,
    },
)


class ErrorModelPacketTrace(_ErrorModelPacketTraceRequired, total=False):
    """The recorded fate of each packet, from a file.

    file :
        A file beside the scenario or in a folder there. The resolved scenario has its content as arrivals.

    format :
        What is in it. Default: "outcomes".

    repeat :
        Whether the file starts again when it has ended; otherwise no more packets are hit. Default: false.

    effect :
        What becomes of the packets that are hit. Default: "corrupt".
    """

    format: Literal["outcomes", "runs"]
    repeat: bool
    effect: Literal["corrupt", "lose"]


class ErrorModelKind(TypedDict):
    """A choice by its kind alone."""

    kind: Literal["none"]

_InterleaveRequired = TypedDict(
    "_InterleaveRequired",
    {
        "span": str,
    },
)


class Interleave(_InterleaveRequired, total=False):
    """A block interleaver with an error-correcting code: a burst hits many codewords a little instead of few fully, for two blocks of delay. It needs errors per bit or byte that do not count packets.

    span :
        How long a block takes to send. Errors are spread over it, and the delay grows by two of it.

    codeword :
        Length of a codeword, check bytes included; at most 255 B. Default: "255 B".

    corrects :
        Wrong bytes that a codeword survives; it has twice as many check bytes. The link's rate is that of packets, without them. Default: "16 B".
    """

    codeword: str
    corrects: str

_CodingConvolutionalEbN0TableRequired = TypedDict(
    "_CodingConvolutionalEbN0TableRequired",
    {
        "points": List[Union[Tuple[str, str], List[str]]],
    },
)


class CodingConvolutionalEbN0Table(_CodingConvolutionalEbN0TableRequired, total=False):
    """A signal that changes in steps.

    points :
        Pairs of instant and level, increasing in time, the first at 0 s. Each holds until the next.

    every :
        Start again after this long. Without it, the last point holds.
    """

    every: str

_CodingConvolutionalRequired = TypedDict(
    "_CodingConvolutionalRequired",
    {
        "kind": Literal["convolutional"],
    },
)


class CodingConvolutional(_CodingConvolutionalRequired, total=False):
    """The convolutional code of rate 1/2 and constraint length 7, decoded softly. Packets have half of the link's rate. It corrects the link's errors per bit, or those that an Eb/N0 brings.

    eb_n0 :
        Energy per bit of packets over noise density. Without it, the link's errors are those of the channel, per bit.

    burst :
        Mean number of bits in a burst of errors that the decoder leaves. Default: 5.
    """

    eb_n0: Union[str, CodingConvolutionalEbN0Table]
    burst: int

_CodingLdpcRequired = TypedDict(
    "_CodingLdpcRequired",
    {
        "kind": Literal["ldpc"],
        "eb_n0": Union[str, CodingConvolutionalEbN0Table],
    },
)


class CodingLdpc(_CodingLdpcRequired, total=False):
    """A low-density parity-check code with blocks of 1024 bits, by a threshold and a slope. Packets have `code_rate` of the link's rate.

    eb_n0 :
        Energy per bit of packets over noise density.

    code_rate :
        Bits of packets in a bit that is sent. Default: 0.5.

    threshold :
        The signal at which half of the blocks are lost. Default: "2.2 dB".

    steepness :
        How steep losses are around it, a in erfc(a (Eb/N0 - threshold)) / 2, per dB. Default: 3.0.
    """

    code_rate: float
    threshold: str
    steepness: float

_AcmRequired = TypedDict(
    "_AcmRequired",
    {
        "feedback_delay": str,
    },
)


class Acm(_AcmRequired, total=False):
    """How modulation and code adapt to the signal: down at once, up when the signal has been strong enough for a while.

    feedback_delay :
        How old a report of the signal is when the sender acts on it: about a round trip of the link.

    every :
        Time between choices. Without it, the feedback delay.

    margin :
        What the reported signal must have beyond a threshold. Default: "1 dB".

    hysteresis :
        What it must have beyond that to go up. Default: "0.3 dB".

    hold :
        In how many choices after one another. Default: 3.
    """

    every: str
    margin: str
    hysteresis: str
    hold: int

_CodingDvbS2Required = TypedDict(
    "_CodingDvbS2Required",
    {
        "kind": Literal["dvb-s2"],
        "es_n0": Union[str, CodingConvolutionalEbN0Table],
    },
)


class CodingDvbS2(_CodingDvbS2Required, total=False):
    """DVB-S2 with normal frames, of one modulation and code (CCM) or adaptive (ACM). The link's rate counts symbols, one for each bit that is written: 10 Mbit/s are 10 Mbaud.

    es_n0 :
        Energy per symbol over noise density.

    modcod :
        Modulation and code, always the same. Without it they adapt, as `acm` says.

    acm :
        How modulation and code adapt. Without it they do not.

    implementation_loss :
        What a real receiver needs beyond the ideal thresholds, often 0.5 dB to 1.7 dB. Default: "0 dB".

    losses :
        How losses depend on the signal. Default: "step".
    """

    modcod: Literal["QPSK 1/4", "QPSK 1/3", "QPSK 2/5", "QPSK 1/2", "QPSK 3/5", "QPSK 2/3", "QPSK 3/4", "QPSK 4/5", "QPSK 5/6", "QPSK 8/9", "8PSK 3/5", "QPSK 9/10", "8PSK 2/3", "8PSK 3/4", "8PSK 5/6", "16APSK 2/3", "8PSK 8/9", "8PSK 9/10", "16APSK 3/4", "16APSK 4/5", "16APSK 5/6", "16APSK 8/9", "16APSK 9/10", "32APSK 3/4", "32APSK 4/5", "32APSK 5/6", "32APSK 8/9", "32APSK 9/10"]
    acm: Acm
    implementation_loss: str
    losses: Literal["step", "slope", "waterfall"]

_ArqRequired = TypedDict(
    "_ArqRequired",
    {
        "retransmissions": int,
    },
)


class Arq(_ArqRequired, total=False):
    """Selective repeat on the hop, below IP: a packet that arrives damaged is asked for at once, and sent again ahead of what waits. One that is damaged each time is given up. Reports of damage take as long back as packets take there, and do not get lost; the queue for copies has no limit (RFC 3366).

    retransmissions :
        How often a packet is sent again at most; 3 is usual on short links, 1 on links over GEO.

    order :
        What becomes of packets behind one that is sent again. Default: "in-order".

    combining :
        Whether a packet is decoded from all of its copies (hybrid ARQ), which needs `coding`. Default: "none".
    """

    order: Literal["in-order", "free"]
    combining: Literal["none", "chase", "incremental"]

_FramingAal5Required = TypedDict(
    "_FramingAal5Required",
    {
        "kind": Literal["aal5"],
    },
)


class FramingAal5(_FramingAal5Required, total=False):
    """ATM with AAL5: header, packet and a trailer of 8 B, padded to whole cells, which carry 48 B in 53 B (ITU-T I.363.5).

    header :
        LLC and SNAP in front of the packet; 0 B where a circuit carries IP alone. Default: "8 B".
    """

    header: str

_FramingGseRequired = TypedDict(
    "_FramingGseRequired",
    {
        "kind": Literal["gse"],
    },
)


class FramingGse(_FramingGseRequired, total=False):
    """GSE of DVB-S2: each packet whole behind a header of 4 B and its label (ETSI TS 102 606).

    label :
        Whose packet it is: 6 B, 3 B, or 0 B where it is for all, or for the one before. Default: "6 B".
    """

    label: str

_FramingFramesRequired = TypedDict(
    "_FramingFramesRequired",
    {
        "kind": Literal["frames"],
    },
)


class FramingFrames(_FramingFramesRequired, total=False):
    """Any other, by its numbers.

    overhead :
        Headers and trailers of a packet. Default: "0 B".

    minimum :
        What a shorter packet is padded to, without overhead. Default: "0 B".

    stuffed :
        Of the 256 values of a byte, those that are sent as two. Data count as random: m bytes take m times this / 256 more, rounded up. Default: 0.

    payload :
        What a cell carries: packet and overhead are padded to whole cells. Default: "1 B".

    cell :
        What a cell takes on the link; as long as its payload, or longer. Default: "1 B".
    """

    overhead: str
    minimum: str
    stuffed: int
    payload: str
    cell: str


class FramingKind(TypedDict):
    """A choice by its kind alone."""

    kind: Literal["none", "ethernet", "mpe", "hdlc"]

_MtuRequired = TypedDict(
    "_MtuRequired",
    {
        "size": str,
    },
)


class Mtu(_MtuRequired, total=False):
    """The largest packet that a link takes.

    size :
        Headers included.

    oversize :
        What becomes of a larger one. Default: "report".
    """

    oversize: Literal["report", "drop", "fragment"]

_HopOutageSpansRequired = TypedDict(
    "_HopOutageSpansRequired",
    {
        "spans": List[Union[Tuple[str, str], List[str]]],
    },
)


class HopOutageSpans(_HopOutageSpansRequired, total=False):
    """A link is down at set times.

    spans :
        Pairs of start and end, increasing, not overlapping.

    every :
        Repeat after this long. Without it, the spans come once.

    queue :
        What happens to packets that wait when the link goes down. Default: "keep".
    """

    every: str
    queue: Literal["keep", "flush"]

_HopOutageMeanUpRequired = TypedDict(
    "_HopOutageMeanUpRequired",
    {
        "mean_up": str,
        "mean_down": str,
    },
)


class HopOutageMeanUp(_HopOutageMeanUpRequired, total=False):
    """A link is up and down for exponential times, from a random stream of its own.

    mean_up :
        Mean time up.

    mean_down :
        Mean time down.

    queue :
        What happens to packets that wait when the link goes down. Default: "keep".
    """

    queue: Literal["keep", "flush"]

_HopOutageFileRequired = TypedDict(
    "_HopOutageFileRequired",
    {
        "file": str,
    },
)


class HopOutageFile(_HopOutageFileRequired, total=False):
    """A link is down when it was in a record.

    file :
        A CSV file beside the scenario or in a folder there, whose first two columns are start and end (`start_s,end_s`), in times of the run.

    every :
        Repeat after this long. Without it, the spans come once.

    queue :
        What happens to packets that wait when the link goes down. Default: "keep".
    """

    every: str
    queue: Literal["keep", "flush"]

_ModemUncodedRequired = TypedDict(
    "_ModemUncodedRequired",
    {
        "kind": Literal["uncoded"],
    },
)


class ModemUncoded(_ModemUncodedRequired, total=False):
    """Without coding: bits are hit with the probability that the modulation has.

    modulation :
        How bits become symbols. Default: "qpsk".
    """

    modulation: Literal["bpsk", "qpsk", "8psk", "16apsk"]

_ModemLdpcRequired = TypedDict(
    "_ModemLdpcRequired",
    {
        "kind": Literal["ldpc"],
    },
)


class ModemLdpc(_ModemLdpcRequired, total=False):
    """By a low-density parity-check code with blocks of 1024 bits. Packets have `code_rate` of the link's rate.

    code_rate :
        Bits of packets in a bit that is sent. Default: 0.5.

    threshold :
        The Eb/N0 at which half of the blocks are lost. Default: "2.2 dB".

    steepness :
        How steep losses are around it, a in erfc(a (Eb/N0 - threshold)) / 2, per dB. Default: 3.0.
    """

    code_rate: float
    threshold: str
    steepness: float

_ModemDvbS2Required = TypedDict(
    "_ModemDvbS2Required",
    {
        "kind": Literal["dvb-s2"],
    },
)


class ModemDvbS2(_ModemDvbS2Required, total=False):
    """DVB-S2, with the radio's `symbol_rate`.

    modcod :
        Modulation and code, always the same. Without it they adapt.

    acm :
        How they adapt. Without it and without `modcod`, with reports that are 40 ms old over a low orbit and 500 ms over a geostationary one.

    implementation_loss :
        What a real receiver needs beyond the ideal thresholds. Default: "1 dB".

    losses :
        How losses depend on the signal. Default: "step".
    """

    modcod: Literal["QPSK 1/4", "QPSK 1/3", "QPSK 2/5", "QPSK 1/2", "QPSK 3/5", "QPSK 2/3", "QPSK 3/4", "QPSK 4/5", "QPSK 5/6", "QPSK 8/9", "8PSK 3/5", "QPSK 9/10", "8PSK 2/3", "8PSK 3/4", "8PSK 5/6", "16APSK 2/3", "8PSK 8/9", "8PSK 9/10", "16APSK 3/4", "16APSK 4/5", "16APSK 5/6", "16APSK 8/9", "16APSK 9/10", "32APSK 3/4", "32APSK 4/5", "32APSK 5/6", "32APSK 8/9", "32APSK 9/10"]
    acm: Acm
    implementation_loss: str
    losses: Literal["step", "slope", "waterfall"]


class ModemKind(TypedDict):
    """A choice by its kind alone."""

    kind: Literal["convolutional"]

_RadioRequired = TypedDict(
    "_RadioRequired",
    {
        "frequency_ghz": float,
        "eirp_dbw": float,
        "g_over_t_db_k": float,
        "modem": Union[ModemUncoded, ModemLdpc, ModemDvbS2, ModemKind, Literal["uncoded", "convolutional", "ldpc", "dvb-s2"]],
    },
)


class Radio(_RadioRequired, total=False):
    """A transmitter, a receiver, and how bits are sent. The link's rate is constant; with `dvb-s2` the symbol rate takes its place.

    frequency_ghz :
        Carrier, GHz.

    eirp_dbw :
        Effective isotropic radiated power, dBW.

    g_over_t_db_k :
        Gain of the receiver over its noise temperature under a clear sky, dB/K.

    noise_k :
        This noise temperature, K. The noise of a receiver on the ground rises as rain and clouds make the sky warmer (ITU-R P.618-14 §3); a satellite sees the warm Earth in any weather. Default: 200.0.

    symbol_rate :
        Symbols per second of `modem = "dvb-s2"`, which needs it in place of a rate: modulation and code decide the bits of a symbol.

    polarisation :
        Polarisation: rain attenuates horizontal waves most, vertical ones least. Default: "circular".

    losses :
        Everything else that the signal loses: pointing, polarisation, feeders. Default: "0 dB".

    c_over_i :
        Carrier over interference (other satellites and beams, the other polarisation), in the bandwidth of the symbols (those of QPSK with `convolutional` and `ldpc`). Without it, there is none.

    antenna_m :
        Diameter of the antenna on the ground, which averages scintillation, m; its efficiency is 0.5. Default: 0.6.

    modem :
        How bits are sent.
    """

    noise_k: float
    symbol_rate: str
    polarisation: Union[str, Literal["horizontal", "vertical", "circular"]]
    losses: str
    c_over_i: str
    antenna_m: float

_DirectionDelayPointsRequired = TypedDict(
    "_DirectionDelayPointsRequired",
    {
        "points": List[Union[Tuple[str, str], List[str]]],
    },
)


class DirectionDelayPoints(_DirectionDelayPointsRequired, total=False):
    """A delay that changes over time.

    points :
        Pairs of instant and delay, increasing in time, the first at 0 s.

    interpolate :
        What happens between points. Default: "hold".

    every :
        Start again after this long. Without it, the last point holds.
    """

    interpolate: Literal["hold", "linear"]
    every: str

_PassRequired = TypedDict(
    "_PassRequired",
    {
        "altitude": str,
        "elevation_min": str,
    },
)


class Pass(_PassRequired, total=False):
    """A circular orbit seen from a station that it crosses overhead, Earth rotation ignored (E. Lutz et al. 2000).

    altitude :
        Altitude of the orbit above the ground, 100 km to 100,000 km.

    elevation_min :
        The satellite is used above this elevation; 0 to 89 degrees.

    hops :
        Slant ranges between the ends of the link: 1 to the satellite, 2 for up and down again. Default: 2.
    """

    hops: int

_DirectionDelayPassRequired = TypedDict(
    "_DirectionDelayPassRequired",
    {
        "pass": Pass,
    },
)


class DirectionDelayPass(_DirectionDelayPassRequired):
    """The delay to a satellite that passes overhead.

    pass :
        The orbit; at the end of each period of visibility the next satellite takes over.
    """

_DirectionDelayFileRequired = TypedDict(
    "_DirectionDelayFileRequired",
    {
        "file": str,
    },
)


class DirectionDelayFile(_DirectionDelayFileRequired, total=False):
    """A delay that was measured.

    file :
        A CSV file beside the scenario or in a folder there. The resolved scenario has its content as points.

    column :
        Name of the column to take, in `_s`, `_ms`, `_us` or `_ns`; a round trip is not halved. Not needed where there is only one beside the time.

    interpolate :
        What happens between rows. Default: "hold".

    every :
        Start again after this long. Without it, the last value holds.
    """

    column: str
    interpolate: Literal["hold", "linear"]
    every: str


class Direction(TypedDict, total=False):
    """One direction of a link: a key here overrides the link's own.

    rate :
        Bit rate of this direction.

    delay :
        Propagation delay of this direction.

    jitter :
        Delays of this direction that vary, beside its propagation delay.

    queue :
        The queue of this direction.

    error :
        What corrupts packets in this direction.

    interleave :
        What spreads errors in this direction.

    coding :
        What protects bits in this direction.

    arq :
        What sends damaged packets again in this direction.

    framing :
        What a packet occupies in this direction beside its own bytes.

    mtu :
        The largest packet that the link takes.

    outage :
        When this direction is down.
    """

    rate: Union[str, HopRatePoints, HopRateFile]
    delay: Union[str, DirectionDelayPoints, DirectionDelayPass, DirectionDelayFile]
    jitter: Union[HopJitterTable, List[HopJitterTable]]
    queue: Union[str, HopQueueDropTail, HopQueueRed, HopQueueCodel, HopQueueFqCodel, HopQueuePie, HopQueuePriority, HopQueueWrr, HopQueueDrr, Literal["drop-tail", "red", "codel", "fq-codel", "pie"]]
    error: Union[ErrorModelBit, ErrorModelByte, ErrorModelPacket, ErrorModelGilbertElliott, ErrorModelBursts, ErrorModelProfile, ErrorModelTrace, ErrorModelArrivals, ErrorModelPacketTrace, ErrorModelKind, Literal["none"]]
    interleave: Interleave
    coding: Union[CodingConvolutional, CodingLdpc, CodingDvbS2, Literal["convolutional"]]
    arq: Arq
    framing: Union[FramingAal5, FramingGse, FramingFrames, FramingKind, Literal["none", "aal5", "ethernet", "gse", "mpe", "hdlc", "frames"]]
    mtu: Mtu
    outage: Union[HopOutageSpans, HopOutageMeanUp, HopOutageFile]


class Hop(TypedDict, total=False):
    """What links of a kind have in common: all keys of a link but its ends, its delay and its outages by geometry.

    rate :
        Bit rate, constant or over time.

    jitter :
        Delays that vary, beside the propagation delay; several add up.

    queue :
        The queue in front of the link.

    error :
        What corrupts packets.

    interleave :
        What spreads errors.

    coding :
        What protects bits.

    arq :
        What sends damaged packets again.

    framing :
        What a packet occupies beside its own bytes.

    mtu :
        The largest packet that the links take.

    outage :
        When the link carries nothing, besides.

    up :
        The radio link upwards, or towards the second name of a link: with it, errors and coding follow from distance, air and rain.

    down :
        The radio link downwards, or towards the first name of a link.

    forward :
        What differs upwards, or towards the second name of a link.

    reverse :
        What differs downwards, or towards the first name of a link.
    """

    rate: Union[str, HopRatePoints, HopRateFile]
    jitter: Union[HopJitterTable, List[HopJitterTable]]
    queue: Union[str, HopQueueDropTail, HopQueueRed, HopQueueCodel, HopQueueFqCodel, HopQueuePie, HopQueuePriority, HopQueueWrr, HopQueueDrr, Literal["drop-tail", "red", "codel", "fq-codel", "pie"]]
    error: Union[ErrorModelBit, ErrorModelByte, ErrorModelPacket, ErrorModelGilbertElliott, ErrorModelBursts, ErrorModelProfile, ErrorModelTrace, ErrorModelArrivals, ErrorModelPacketTrace, ErrorModelKind, Literal["none"]]
    interleave: Interleave
    coding: Union[CodingConvolutional, CodingLdpc, CodingDvbS2, Literal["convolutional"]]
    arq: Arq
    framing: Union[FramingAal5, FramingGse, FramingFrames, FramingKind, Literal["none", "aal5", "ethernet", "gse", "mpe", "hdlc", "frames"]]
    mtu: Mtu
    outage: Union[HopOutageSpans, HopOutageMeanUp, HopOutageFile]
    up: Radio
    down: Radio
    forward: Direction
    reverse: Direction


class Constellation(TypedDict, total=False):
    """One of several constellations. Its keys replace those of `[sky]`.

    over :
        The satellites, as in `[sky]`, but no list. Without it, the constellation that has the name of the table.

    selection :
        Rule of a place for its satellite.

    elevation_min :
        Least elevation of satellites in use.

    range_max_km :
        Largest distance of satellites in use in km, in place of an elevation.

    motion :
        Motion of the satellites of a constellation by name.

    mean_motion :
        Revolutions per day of a constellation by name with one shell.

    odd_planes :
        Phase of every other plane of a constellation by name with one shell, degrees.

    between_satellites :
        Links between satellites.

    gateway :
        Gateways of this constellation. Fibres join them with each other, not with those of other constellations.

    relay :
        The way of packets from gateway to gateway.

    make_before_break :
        Overlap at a handover between its satellites.

    break_before_make :
        Interruption at a handover between its satellites.

    failure :
        Satellites, gateways, terminals and links out of use, with their times.

    waiting :
        Rule for packets that wait for a satellite's link to a place when that goes to another satellite.

    in_flight :
        Rule for packets on that link.

    shared :
        Whether the places that a satellite serves share its rate.

    user :
        Links between places and its satellites.

    feeder :
        Links between gateways and its satellites.

    inter_satellite :
        Links between its satellites.

    fibre :
        Links between its gateways.

    payload :
        Treatment of the signal by its satellites, for links that have a radio.

    on_board :
        Treatment of corrupted packets by its satellites.

    middlebox :
        Functions at its satellites that see each packet passing through, in order.
    """

    over: Union[str, SkyOverGeo, SkyOverElements, SkyOverShells, List[str]]
    selection: Union[ConstellationSelectionTable, Literal["any", "highest", "nearest", "longest", "periodic", "starlink"]]
    elevation_min: str
    range_max_km: float
    motion: Literal["j2", "kepler", "sgp4"]
    mean_motion: float
    odd_planes: float
    between_satellites: Union[ConstellationBetweenSatellitesTable, Literal["none", "grid", "grid-and-seam"]]
    gateway: List[str]
    relay: Literal["fibre", "ground"]
    make_before_break: str
    break_before_make: str
    failure: List[SkyFailure]
    waiting: Literal["lost", "rerouted", "kept", "moved"]
    in_flight: Literal["lost", "delivered"]
    shared: bool
    user: Hop
    feeder: Hop
    inter_satellite: Hop
    fibre: Hop
    payload: Literal["regenerative", "transparent"]
    on_board: Literal["router", "bent-pipe", "processing"]
    middlebox: List[Union[MiddleboxImpair, MiddleboxAckFilter, MiddleboxRefwa, MiddleboxEwa, MiddleboxAckReconstruct, MiddleboxSplit, MiddleboxCache, MiddleboxSpoof, MiddleboxSatpep, MiddleboxSnoop, MiddleboxFreeze, MiddleboxBeen, MiddleboxEln, MiddleboxEten, MiddleboxDpsm, MiddleboxXcp, MiddleboxRcp, MiddleboxErasure, MiddleboxCompress, MiddleboxOwn, Literal["impair", "ack-filter", "refwa", "ewa", "ack-reconstruct", "split", "cache", "spoof", "snoop", "freeze", "eln", "eten", "dpsm", "xcp", "rcp"]]]

_RainExceededRequired = TypedDict(
    "_RainExceededRequired",
    {
        "kind": Literal["exceeded"],
    },
)


class RainExceeded(_RainExceededRequired, total=False):
    """As heavy as it is exceeded in a share of an average year: what a link of that availability has to bear.

    percent :
        Of the year, per cent. Default: 0.1.
    """

    percent: float

_RainSeriesRequired = TypedDict(
    "_RainSeriesRequired",
    {
        "kind": Literal["series"],
    },
)


class RainSeries(_RainSeriesRequired, total=False):
    """As it comes and goes over each place: log-normal, changing by 2e-4 per second (Maseng and Bakken 1981).

    rainy_percent :
        Per cent of the year in which it rains. Default: 5.0.
    """

    rainy_percent: float

_GaugeRequired = TypedDict(
    "_GaugeRequired",
    {
        "file": str,
    },
)


class Gauge(_GaugeRequired, total=False):
    """Rain over a place: a CSV file whose first column is the time and whose first row is the start of the run. A row holds until the next one; the last one stays.

    file :
        The file, beside the scenario or in a folder there.

    column :
        The column, where there are several: a rate of rain if its name ends in `_mm_h`, an attenuation if it ends in `_db`. A rate becomes attenuation by P.838-3 over the effective path of P.618-13 at that rate.

    begin :
        How far into the series the run begins. Default: "0 s".

    every :
        The series starts again every so often.

    frequency_ghz :
        The carrier at which an attenuation was measured, GHz; links with another one have it scaled (P.618-13 §2.2.1.3.1, 7 to 55 GHz). Without it, all links of the place have it as it is.
    """

    column: str
    begin: str
    every: str
    frequency_ghz: float


class RainFile(TypedDict):
    """As it was measured, from files.

    place :
        The series of each place, by its name. Over other places it does not rain.
    """

    kind: Literal["file"]
    place: Dict[str, Gauge]


class Clouds(TypedDict, total=False):
    """Clouds over all places.

    percent :
        Per cent of the year. Without it, the percentage of the rain, but at least 5 % (`P.618-14` §2.5) or 1 % (`P.618-13`); 1 % without rain.
    """

    percent: float


class Scintillation(TypedDict, total=False):
    """Scintillation over all places. With rain and clouds it adds up as sqrt((rain + clouds)² + scintillation²).

    percent :
        Of the year, per cent. Default: 1.0.
    """

    percent: float

_DisjointRequired = TypedDict(
    "_DisjointRequired",
    {
        "paths": int,
    },
)


class Disjoint(_DisjointRequired, total=False):
    """Several paths between the same two places that share nothing and whose delays have the least sum (Suurballe 1974). With `change = "broken"` all of them stay until one breaks.

    paths :
        How many.

    apart :
        What they do not share. Default: "satellites".

    flow :
        Which of them a flow takes, by the name of the flow: 1 is the shortest at that instant. All other flows take the first.
    """

    apart: Literal["satellites", "links"]
    flow: Dict[str, int]

_WayPointRequired = TypedDict(
    "_WayPointRequired",
    {
        "time": str,
        "latitude": float,
        "longitude": float,
    },
)


class WayPoint(_WayPointRequired, total=False):
    """A point that a ship, aircraft or vehicle passes.

    time :
        When, counted from the start of the run.

    latitude :
        Degrees north.

    longitude :
        Degrees east.

    height_km :
        Above the ellipsoid, km. Default: 0.0.
    """

    height_km: float


class Position(TypedDict, total=False):
    """Where a place is: at coordinates, or on its way.

    latitude :
        Degrees north.

    longitude :
        Degrees east.

    height_km :
        Above the ellipsoid, km. Default: 0.0.

    climate :
        The city whose air and rain it has. A place that is a city has its own.

    over :
        The constellations that the place uses, of the list in `sky.over`. Without it, all. A city needs no coordinates beside it. Default: [].

    way :
        For what moves: where it is when. It goes along great circles at constant speed, and waits at both ends. Default: [].
    """

    latitude: float
    longitude: float
    height_km: float
    climate: str
    over: List[str]
    way: List[WayPoint]

_SkyRequired = TypedDict(
    "_SkyRequired",
    {
        "over": Union[str, SkyOverGeo, SkyOverElements, SkyOverShells, List[str]],
    },
)


class Sky(_SkyRequired, total=False):
    """The sky over the scenario: nodes that have the name of a place are on the ground there, and what flows between places goes over the satellites that are in view. Before the run it becomes links whose delays follow the geometry, and routes that change in `[[at]]`; that is what the resolved scenario shows.

    over :
        The satellites: a constellation by name (`bentpipe list constellations`), a slot over the equator, a file of elements, or a list of constellations. Each flow uses the first of a list that has a path.

    constellation :
        Constellations of a list in `over`, by name. A name without a table is that of a constellation (`bentpipe list constellations`).

    back_after :
        Time for which an earlier constellation of the list must have a path before a flow goes back to it. Default: "0 s".

    start :
        When the run begins, in UTC, as `2026-06-14T12:00:00Z`; a date of TOML will do, too. Without it, a constellation begins at 2000-01-01, elements at the median of their epochs (of each object the newest). Replications begin at other instants (`day`).

    elements_age_max :
        Elements of a file are refused if they are farther than this from any instant of the run. Starlink is thousands of km off its elements after 90 days. Default: "90 d".

    step :
        How often paths are looked at. Every change stands at a multiple of it. Default: "1 s".

    selection :
        Which satellite a place uses. One word is for all places but gateways, which use any. Default: "any".

    metric :
        Which of several paths is taken. Default: "delay".

    change :
        When another path is taken. Default: "better".

    elevation_min :
        Satellites are used above this elevation. Without it, that of the constellation; 25 deg for elements, 5 deg for a slot.

    range_max_km :
        Satellites are used up to this distance in km instead, whatever their elevation.

    motion :
        Motion of the satellites of a constellation by name. Without it, that of its source.

    mean_motion :
        Revolutions per day of a constellation by name with one shell, in place of its height.

    odd_planes :
        Phase of every other plane of a constellation by name with one shell, degrees, in place of its phasing.

    between_satellites :
        Links between satellites. Without it, those of the constellation.

    gateway :
        Gateways, by name of place: where a path may leave the sky, on by fibre to the other gateways. Satellites with links between them go on using these. Satellites without such links are bent pipes if there are gateways: all packets go down to a gateway. A gateway at the end of a flow uses any satellite in view. Default: [].

    relay :
        The way of packets from gateway to gateway. Default: "fibre".

    stretch :
        How much longer a fibre between gateways is than the great circle; light takes 4.9 us per km in it. Default: 1.5.

    seed :
        Chooses the lots of `selection = "starlink"` and the rain: another seed is another day. Replications have other seeds (`day`). Default: 1.

    day :
        The day of the sky. Day 0 is that of `start` and `seed`; day k begins at an instant drawn from the 24 hours after `start`, and has `seed` + k. Without this key, a run has day 0 and replication k of an experiment has day k; with it, all replications share the day. Measured rain, failures and moving places are the same on all days.

    rain :
        Rain on links that have a `radio`. Default: "none".

    recommendation :
        Edition of ITU-R P.618, which decides the gases and clouds that come with rare rain. Default: "P.618-14".

    clouds :
        Clouds on links that have a `radio`, as they are exceeded in a share of an average year (ITU-R P.840-8). Without it, there are none.

    scintillation :
        Scintillation on links that have a `radio`, as a fade that is exceeded in a share of an average year (ITU-R P.618). Without it, there is none.

    hop_delay :
        What each satellite and gateway on the way adds to a delay when paths are chosen. Default: "0 s".

    make_before_break :
        How long a place keeps the link to a satellite that it leaves for another.

    break_before_make :
        How long a place has no satellite when it leaves one for another: with `waiting = "kept"` packets wait for the next one, otherwise there is no route in between. With neither key, both happen at once.

    failure :
        What is out of use, and when. Paths avoid it from that instant on; what is on its links or waits for them is lost with cause `handover`. Default: [].

    disjoint :
        Several paths at once that share nothing. Without it, there is one, the best.

    waiting :
        What becomes of packets that wait for a satellite's link to a place when that goes to another satellite. Without it, they are lost at satellites that have links to each other. Bent pipes have no queue: the packets really wait at the sender on the ground. For these the default is `moved`, and packets that wait for the link up are rerouted.

    in_flight :
        What becomes of packets on that link. Default: "lost".

    shared :
        Whether the places that a satellite serves share its rate, up and down, or have a link each. Default: false.

    place :
        Places besides cities (`bentpipe list places`), by name.

    user :
        Links between places and satellites; forward is up. Without a rate, 20 Mbit/s up and 100 Mbit/s down.

    feeder :
        Links between gateways and satellites; forward is up. Without a rate, 1 Gbit/s.

    inter_satellite :
        Links between satellites. Without a rate, 10 Gbit/s.

    fibre :
        Links between gateways. Without a rate, 10 Gbit/s.

    payload :
        What satellites do with the signal of links that have a radio. Default: "regenerative".

    on_board :
        What happens to corrupted packets at a satellite. Default: "router".

    middlebox :
        Functions at every satellite that see each packet passing through, in order. Default: [].
    """

    constellation: Dict[str, Constellation]
    back_after: str
    start: str
    elements_age_max: str
    step: str
    selection: Union[ConstellationSelectionTable, Literal["any", "highest", "nearest", "longest", "periodic", "starlink"]]
    metric: Literal["delay", "hops"]
    change: Literal["better", "broken"]
    elevation_min: str
    range_max_km: float
    motion: Literal["j2", "kepler", "sgp4"]
    mean_motion: float
    odd_planes: float
    between_satellites: Union[ConstellationBetweenSatellitesTable, Literal["none", "grid", "grid-and-seam"]]
    gateway: List[str]
    relay: Literal["fibre", "ground"]
    stretch: float
    seed: int
    day: int
    rain: Union[RainExceeded, RainSeries, RainFile, ErrorModelKind, Literal["none", "exceeded", "series"]]
    recommendation: Literal["P.618-14", "P.618-13"]
    clouds: Clouds
    scintillation: Scintillation
    hop_delay: str
    make_before_break: str
    break_before_make: str
    failure: List[SkyFailure]
    disjoint: Disjoint
    waiting: Literal["lost", "rerouted", "kept", "moved"]
    in_flight: Literal["lost", "delivered"]
    shared: bool
    place: Dict[str, Position]
    user: Hop
    feeder: Hop
    inter_satellite: Hop
    fibre: Hop
    payload: Literal["regenerative", "transparent"]
    on_board: Literal["router", "bent-pipe", "processing"]
    middlebox: List[Union[MiddleboxImpair, MiddleboxAckFilter, MiddleboxRefwa, MiddleboxEwa, MiddleboxAckReconstruct, MiddleboxSplit, MiddleboxCache, MiddleboxSpoof, MiddleboxSatpep, MiddleboxSnoop, MiddleboxFreeze, MiddleboxBeen, MiddleboxEln, MiddleboxEten, MiddleboxDpsm, MiddleboxXcp, MiddleboxRcp, MiddleboxErasure, MiddleboxCompress, MiddleboxOwn, Literal["impair", "ack-filter", "refwa", "ewa", "ack-reconstruct", "split", "cache", "spoof", "snoop", "freeze", "eln", "eten", "dpsm", "xcp", "rcp"]]]

_LinkRequired = TypedDict(
    "_LinkRequired",
    {
        "from": str,
        "to": str,
    },
)


class Link(_LinkRequired, total=False):
    """A link between two nodes: forward is `from` to `to`, reverse the way back.

    from :
        The node at one end. May contain `{n}` if there is a `count`.

    to :
        The node at the other end. May contain `{n}` if there is a `count`.

    count :
        Make this many links from the entry, with 1, 2, ... for `{n}` in `from`, `to` and the name (appended if it has none).

    rate :
        Bit rate, constant or over time. Required, here or for each direction.

    delay :
        Propagation delay one way, constant or over time. Required, here or for each direction.

    jitter :
        Delays that vary, beside the propagation delay; several add up. Without it, there are none.

    queue :
        The queue in front of the link. What is being sent does not count. A bdp is this link's largest rate, without what framing takes of full packets, times the largest propagation round trip of the flows that cross it; at least one full packet. Default: "1 bdp".

    error :
        What corrupts packets. Default: "none".

    interleave :
        Spreads errors over time, and corrects some. Without it, nothing does.

    coding :
        What protects bits, at the cost of rate. Without it, nothing does.

    arq :
        What sends damaged packets again on this link. Without it, nothing does.

    framing :
        What a packet occupies beside its own bytes: headers, trailers, padding, cells. With `coding`, these are bytes that the code protects. Default: "none".

    mtu :
        The largest packet that the link takes; any without.

    outage :
        When the link carries nothing. Without it, it is never down.

    forward :
        What differs from `from` to `to`.

    reverse :
        What differs from `to` to `from`.
    """

    count: int
    rate: Union[str, HopRatePoints, HopRateFile]
    delay: Union[str, DirectionDelayPoints, DirectionDelayPass, DirectionDelayFile]
    jitter: Union[HopJitterTable, List[HopJitterTable]]
    queue: Union[str, HopQueueDropTail, HopQueueRed, HopQueueCodel, HopQueueFqCodel, HopQueuePie, HopQueuePriority, HopQueueWrr, HopQueueDrr, Literal["drop-tail", "red", "codel", "fq-codel", "pie"]]
    error: Union[ErrorModelBit, ErrorModelByte, ErrorModelPacket, ErrorModelGilbertElliott, ErrorModelBursts, ErrorModelProfile, ErrorModelTrace, ErrorModelArrivals, ErrorModelPacketTrace, ErrorModelKind, Literal["none"]]
    interleave: Interleave
    coding: Union[CodingConvolutional, CodingLdpc, CodingDvbS2, Literal["convolutional"]]
    arq: Arq
    framing: Union[FramingAal5, FramingGse, FramingFrames, FramingKind, Literal["none", "aal5", "ethernet", "gse", "mpe", "hdlc", "frames"]]
    mtu: Mtu
    outage: Union[HopOutageSpans, HopOutageMeanUp, HopOutageFile]
    forward: Direction
    reverse: Direction


class AppFile(TypedDict):
    """A number of bytes, then close.

    size :
        Bytes of application data, at least 1.
    """

    kind: Literal["file"]
    size: str


class AppBulkSizeExponential(TypedDict):
    """Exponential.

    mean :
        Mean.
    """

    kind: Literal["exponential"]
    mean: str


class AppBulkSizePareto(TypedDict):
    """Pareto: a few are very large.

    shape :
        The smaller, the heavier the tail; above 1, so that there is a mean. At 2 and below the variance is infinite.

    min :
        The least.
    """

    kind: Literal["pareto"]
    shape: float
    min: str


class AppBulkSizeBoundedPareto(TypedDict):
    """Pareto between two bounds.

    shape :
        The smaller, the heavier the tail.

    min :
        The least.

    max :
        The most.
    """

    kind: Literal["bounded-pareto"]
    shape: float
    min: str
    max: str


class AppBulkSizeLognormal(TypedDict):
    """Lognormal.

    mean :
        Mean.

    sd :
        Standard deviation.
    """

    kind: Literal["lognormal"]
    mean: str
    sd: str


class AppBulkPauseExponential(TypedDict):
    """Exponential.

    mean :
        Mean.
    """

    kind: Literal["exponential"]
    mean: str


class AppBulkPausePareto(TypedDict):
    """Pareto.

    shape :
        The smaller, the heavier the tail; above 1, so that there is a mean.

    mean :
        Mean.
    """

    kind: Literal["pareto"]
    shape: float
    mean: str

_AppBulkRequired = TypedDict(
    "_AppBulkRequired",
    {
        "kind": Literal["bulk"],
        "size": Union[str, AppBulkSizeExponential, AppBulkSizePareto, AppBulkSizeBoundedPareto, AppBulkSizeLognormal],
        "pause": Union[str, AppBulkPauseExponential, AppBulkPausePareto],
    },
)


class AppBulk(_AppBulkRequired, total=False):
    """Transfers with pauses between them, on one connection or a new one each time.

    size :
        Bytes of each transfer.

    pause :
        Time from the last byte acknowledged to the next transfer.

    reconnect :
        Whether each transfer has a new connection, or all share one that is idle in the pauses. Default: false.

    count :
        Number of transfers. Without it, until the run ends.
    """

    reconnect: bool
    count: int

_AppArrivalsRequired = TypedDict(
    "_AppArrivalsRequired",
    {
        "kind": Literal["arrivals"],
        "size": Union[str, AppBulkSizeExponential, AppBulkSizePareto, AppBulkSizeBoundedPareto, AppBulkSizeLognormal],
    },
)


class AppArrivals(_AppArrivalsRequired, total=False):
    """Transfers that arrive as a Poisson process, each on a connection of its own. How often is said by `load` and `link`, or by `interval`.

    size :
        Bytes of each transfer.

    load :
        Share of the link's largest rate that first transmissions take, on average.

    link :
        The link and direction that `load` is of, such as `sat.forward`; it must be on the flow's route.

    load_headers :
        Whether `load` counts headers, and the framing of the link. Default: true.

    interval :
        Mean time between arrivals, instead of `load` and `link`.

    overload :
        Whether the arrivals may offer a link as much as it carries or more. They then pile up without limit, and every number depends on when the run ends. Default: false.

    count :
        Number of arrivals. Without it, until the run ends.
    """

    load: str
    link: str
    load_headers: bool
    interval: str
    overload: bool
    count: int

_AppRecordsRequired = TypedDict(
    "_AppRecordsRequired",
    {
        "kind": Literal["records"],
        "size": Union[str, AppBulkSizeExponential, AppBulkSizePareto, AppBulkSizeBoundedPareto, AppBulkSizeLognormal],
        "interval": Union[str, AppBulkPauseExponential, AppBulkPausePareto],
    },
)


class AppRecords(_AppRecordsRequired, total=False):
    """Records that the sending node writes on one connection, each at its time. What counts of each is how long it takes until all of it has arrived in order; one of which best-effort transport (`tcp.best_effort`) skips a part is lost.

    size :
        Bytes of each record.

    interval :
        Time from one record to the next, whatever became of it.

    count :
        Number of records. Without it, until the run ends.
    """

    count: int


class Catalogue(TypedDict, total=False):
    """Objects of the answering node, the same for all flows that ask it for them: a cache on the way may have one already.

    objects :
        How many there are. Default: 100.

    zipf :
        Exponent of Zipf's law: the kth is asked for as often as 1/k^zipf says, 0 being equally often. Proxies saw 0.64 to 0.83 (Breslau et al. 1999). Without it, one after the other, as in a course.

    first :
        Number of the first one: flows with other numbers ask for other objects. Default: 1.
    """

    objects: int
    zipf: float
    first: int

_AppRequestResponseRequired = TypedDict(
    "_AppRequestResponseRequired",
    {
        "kind": Literal["request-response"],
        "response": Union[str, AppBulkSizeExponential, AppBulkSizePareto, AppBulkSizeBoundedPareto, AppBulkSizeLognormal],
    },
)


class AppRequestResponse(_AppRequestResponseRequired, total=False):
    """The sending node asks, the other answers, again and again. Both directions of one connection carry data.

    request :
        Bytes of each request. Default: "350 B".

    response :
        Bytes of each response.

    wait :
        Time from the last byte of a request to the response. Default: "0 s".

    think :
        Time from the last byte of a response to the next request. Default: "0 s".

    reconnect :
        Whether each exchange has a new connection, or all share one. Default: false.

    catalogue :
        Objects that other flows ask for too: they are the same for all flows to this node. Without it, each response is one that nobody else asks for.

    count :
        Number of exchanges. Without it, until the run ends.
    """

    request: Union[str, AppBulkSizeExponential, AppBulkSizePareto, AppBulkSizeBoundedPareto, AppBulkSizeLognormal]
    wait: Union[str, AppBulkPauseExponential, AppBulkPausePareto]
    think: Union[str, AppBulkPauseExponential, AppBulkPausePareto]
    reconnect: bool
    catalogue: Catalogue
    count: int

_AppPageRequired = TypedDict(
    "_AppPageRequired",
    {
        "kind": Literal["page"],
    },
)


class AppPage(_AppPageRequired, total=False):
    """Pages of a main object and embedded ones, fetched by the sending node from the other over new connections for each page. What is not given is drawn from the model of 3GPP2 C.R1002-0.

    main :
        Bytes of the main object. Without it, lognormal with mean 10710 B.

    object :
        Bytes of each embedded object. Without it, lognormal with mean 7758 B.

    objects :
        Embedded objects of each page. Without it, drawn: 5.6 on average.

    multiplexed :
        Whether there is one connection instead, on which all requests go out at once and objects come in order. Default: false.

    page_scale :
        Factor of the size of all objects. Default: 1.0.

    request :
        Bytes of each request. Default: "350 B".

    tls_rtts :
        Round trips that securing a connection takes before its first request: as many exchanges of the size of a request, both ways. Default: 0.

    parse :
        Time from the main object to the requests for the embedded ones.

    reading :
        Time from the last object of a page to the next page.

    connections :
        Connections at the same time. Each has one object on its way and asks for the next when it is complete. Default: 6.

    catalogue :
        Pages that other flows ask for too, with their objects: they are the same for all flows to this node. Without it, nobody else asks for them.

    count :
        Number of pages. Without it, until the run ends.
    """

    main: Union[str, AppBulkSizeExponential, AppBulkSizePareto, AppBulkSizeBoundedPareto, AppBulkSizeLognormal]
    object: Union[str, AppBulkSizeExponential, AppBulkSizePareto, AppBulkSizeBoundedPareto, AppBulkSizeLognormal]
    objects: int
    multiplexed: bool
    page_scale: float
    request: str
    tls_rtts: int
    parse: Union[str, AppBulkPauseExponential, AppBulkPausePareto]
    reading: Union[str, AppBulkPauseExponential, AppBulkPausePareto]
    connections: int
    catalogue: Catalogue
    count: int

_AppCbrRequired = TypedDict(
    "_AppCbrRequired",
    {
        "kind": Literal["cbr"],
        "rate": str,
    },
)


class AppCbr(_AppCbrRequired, total=False):
    """Datagrams at equal distances, without congestion control. Each has 28 B of headers (IPv4 and UDP) besides its payload.

    rate :
        Payload per time.

    jitter :
        Each datagram is sent up to twice this much later than its turn, uniformly; at most half the distance. Default: "0 s".

    size :
        Payload bytes of each datagram, 1 B to 65507 B. Default: "1200 B".
    """

    jitter: str
    size: str

_AppPoissonRequired = TypedDict(
    "_AppPoissonRequired",
    {
        "kind": Literal["poisson"],
        "rate": str,
    },
)


class AppPoisson(_AppPoissonRequired, total=False):
    """Datagrams as a Poisson process, without congestion control.

    rate :
        Mean payload per time.

    size :
        Payload bytes of each datagram, 1 B to 65507 B. Default: "1200 B".
    """

    size: str

_AppOnOffRequired = TypedDict(
    "_AppOnOffRequired",
    {
        "kind": Literal["on-off"],
        "peak": str,
        "on": Union[str, AppBulkPauseExponential, AppBulkPausePareto],
        "off": Union[str, AppBulkPauseExponential, AppBulkPausePareto],
    },
)


class AppOnOff(_AppOnOffRequired, total=False):
    """Datagrams at equal distances in periods that alternate with silence, without congestion control. Many with Pareto periods of shape a make a self-similar sum with Hurst parameter (3 - a)/2.

    peak :
        Payload per time while on.

    on :
        How long it is on.

    off :
        How long it is off.

    size :
        Payload bytes of each datagram, 1 B to 65507 B. Default: "1200 B".
    """

    size: str


class AppKind(TypedDict):
    """A choice by its kind alone."""

    kind: Literal["greedy", "port"]

_ReaderRequired = TypedDict(
    "_ReaderRequired",
    {
        "rate": str,
    },
)


class Reader(_ReaderRequired, total=False):
    """An application that reads more slowly than data may arrive: windows close, and open again.

    rate :
        How much it reads on average, as long as there is something.

    every :
        Time between two reads; each takes what `rate` gives in this time. Default: "10 ms".
    """

    every: str


class FlowStartTable(TypedDict):
    """A random instant.

    uniform :
        Earliest and latest instant, the latest excluded; drawn for each flow.
    """

    uniform: Union[Tuple[str, str], List[str]]

_FlowRequired = TypedDict(
    "_FlowRequired",
    {
        "from": str,
        "to": str,
    },
)

_FlowOptional = TypedDict(
    "_FlowOptional",
    {
        "class": int,
    },
    total=False,
)


class Flow(_FlowRequired, _FlowOptional, total=False):
    """An application, and the connections or datagrams that it sends by.

    from :
        The sending node; where there are questions and answers, the one that asks. May contain `{n}` if there is a `count`.

    to :
        The receiving node. May contain `{n}` if there is a `count`.

    count :
        Make this many flows from the entry, with 1, 2, ... for `{n}` in `from`, `to`, routes and the name (appended if it has none).

    app :
        What it sends. Default: "greedy".

    reader :
        How the application that receives the data reads them. Without it, at once.

    start :
        When it begins. Default: "0 s".

    class :
        Its class in queues that tell classes apart, for packets in both directions; with strict priority 0 is the highest. Default: 0.

    route :
        The way there: nodes from `from` to `to`, or names of links where two links join the same nodes. Without it, the way of shortest delay at the start of the run.

    reverse_route :
        The way back, from `to` to `from`. Without it, the way of shortest delay.

    tcp :
        What differs from `[tcp]`, key by key.
    """

    count: int
    app: Union[AppFile, AppBulk, AppArrivals, AppRecords, AppRequestResponse, AppPage, AppCbr, AppPoisson, AppOnOff, AppKind, Literal["greedy", "page", "port"]]
    reader: Reader
    start: Union[str, FlowStartTable]
    route: List[str]
    reverse_route: List[str]
    tcp: Tcp

_InstallRequired = TypedDict(
    "_InstallRequired",
    {
        "flow": str,
    },
)


class Install(_InstallRequired, total=False):
    """The routes of a flow from now on; those of a direction that is not written stay.

    flow :
        The flow. The name of an entry with `count` is that of all its flows.

    route :
        The way there, written as that of a flow: its first name is the node where it begins, which may be any on the way, and it ends at `to`. Nodes that are not on it keep what they know. May contain `{n}`. Where the first name is that of a link, it begins at `from`.

    reverse_route :
        The way back, which ends at `from`.
    """

    route: List[str]
    reverse_route: List[str]

_HandoverRequired = TypedDict(
    "_HandoverRequired",
    {
        "from": str,
        "to": str,
    },
)


class Handover(_HandoverRequired, total=False):
    """Every route that passes `from` at that instant passes `to` instead. With neither `make_before_break` nor `break_before_make` both happen at once.

    from :
        A node, such as a satellite, or a link, such as a beam.

    to :
        A node that has links to the same neighbours, or a link that joins the same two nodes.

    make_before_break :
        How long the old links stay up after the new ones take over.

    break_before_make :
        How long after the old links go down the new ones come up. With `waiting = "lost"` there is no route in between; otherwise packets wait for the new links.
    """

    make_before_break: str
    break_before_make: str

_AtRequired = TypedDict(
    "_AtRequired",
    {
        "time": str,
    },
)


class At(_AtRequired, total=False):
    """What changes at an instant of the run. Links come up first, then routes are withdrawn, then installed, then links go down. Several tables may have the same time.

    time :
        When; at most 200 days. What is after the end of the run does not happen.

    up :
        Links that come back: a name for both directions, or `LINK.forward` or `LINK.reverse` for one. Default: [].

    down :
        Links that are taken away, named in the same way. Default: [].

    waiting :
        What becomes of packets that wait for a link that goes down here, or come while it is away. Default: "lost".

    in_flight :
        What becomes of packets that a link that goes down here has sent, and that have not arrived. Default: "lost".

    install :
        Routes that nodes learn. Default: [].

    withdraw :
        Flows whose packets have no route any more, until one is installed: a name for both directions, or `FLOW.forward` or `FLOW.reverse` for one. The name of an entry with `count` is that of all its flows. Default: [].

    handover :
        What passes one node or link, and then another. It is short for the changes above. Default: [].
    """

    up: List[str]
    down: List[str]
    waiting: Literal["lost", "rerouted", "kept", "moved"]
    in_flight: Literal["lost", "delivered"]
    install: List[Install]
    withdraw: List[str]
    handover: List[Handover]


class Record(TypedDict, total=False):
    """Time series to keep.

    series :
        Which series are kept. Default: [].

    interval :
        Time between samples of links and of rates. Default: "100 ms".

    rows_max :
        Rows of each series kept at most; what is beyond is counted, not kept. Default: 1000000.

    transfers_max :
        Rows of the table of transfers kept at most; what is beyond is counted, and the statistics are of all. Default: 100000.
    """

    series: List[Literal["cwnd_bytes", "ssthresh_bytes", "srtt_s", "rto_s", "flight_size_bytes", "receive_window_bytes", "delivery_rate_bps", "limited_by", "pacing_rate_bps", "goodput_bps", "queue_bytes", "queue_packets", "carried_bps", "events", "decisions", "losses", "critical_path"]]
    interval: str
    rows_max: int
    transfers_max: int


class Until(TypedDict, total=False):
    """When a point has been run often enough.

    metric :
        Which metric; see `bentpipe list metrics`. Default: "goodput".

    half_width :
        Largest half width of the mean's 95 % interval, as a share of the mean. Default: 0.02.
    """

    metric: str
    half_width: Union[str, float]


class Sweep(TypedDict, total=False):
    """What `bentpipe sweep` runs: this scenario with other values at some of its keys, each combination several times.

    replications :
        Runs of each point of the grid. Run k has the scenario's seed + k, so that all points meet the same channels. With `until`, the fewest. Default: 10.

    replications_max :
        Runs of a point at most, where `until` is not met. Default: 100.

    until :
        Go on with a point until its mean is known this well.

    metrics :
        What is reported, in this order; see `bentpipe list metrics`. The store has all of them. Default: ["goodput"].

    against :
        A congestion control or case that varies: every other one is compared with it. Without it, the best with every other one.

    tables :
        Tables of each run that are kept besides its metrics. Default: [].

    vary :
        Keys of the scenario, each with its values: a list, or a range such as `{ from = 1e-5, to = 1e-1, count = 9, scale = "log" }` or `{ from = "1 Mbit/s", to = "9 Mbit/s", step = "2 Mbit/s" }`. Every value is combined with every value of the other keys. The key `case` takes names of the scenario's cases.

    together :
        Tables like `vary` whose keys go together: first values with first values, second with second. Default: [].
    """

    replications: int
    replications_max: int
    until: Until
    metrics: List[str]
    against: str
    tables: List[Literal["flows", "links", "drops", "completions", "transfers", "datagrams"]]
    vary: Dict[str, object]
    together: List[Dict[str, object]]

_ScenarioDictRequired = TypedDict(
    "_ScenarioDictRequired",
    {
        "duration": str,
        "link": Dict[str, Link],
        "flow": Dict[str, Flow],
    },
)


class ScenarioDict(_ScenarioDictRequired, total=False):
    """A bentpipe scenario: an experiment with TCP over links that lose, delay and vary.

    title :
        One line for tables and figures. Default: "".

    duration :
        Simulated time after which the run ends; at most 200 days.

    seed :
        Seed of all random streams: the same seed gives the same channel to every sender that is compared. Default: 1.

    tcp :
        The transport at both ends of every flow; each key may be repeated for one flow under `[flow.NAME.tcp]`.

    node :
        Properties of nodes. A node exists because a link names it; a table is needed only to change it.

    sky :
        The sky over the nodes that are places on Earth.

    link :
        The links, by name. Each carries both directions.

    flow :
        The connections, by name.

    forwarding :
        Which route a packet takes where routes change while it is on its way. Default: "hop-by-hop".

    at :
        What changes during the run. Default: [].

    record :
        Which time series are kept.

    case :
        Alternatives that `bentpipe compare` compares, by name. Each is a part of a scenario that overrides the rest, such as `[case.prr]` with `tcp.reduction = "prr"`.

    sweep :
        A grid of experiments, for `bentpipe sweep`.
    """

    title: str
    seed: int
    tcp: Tcp
    node: Dict[str, Node]
    sky: Sky
    forwarding: Literal["hop-by-hop", "source-route"]
    at: List[At]
    record: Record
    case: Dict[str, Dict[str, object]]
    sweep: Sweep
