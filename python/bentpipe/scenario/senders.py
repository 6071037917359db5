"""Congestion controls as typed dictionaries. Generated from the schema; do not edit."""

from __future__ import annotations

from typing import Literal, TypedDict, Union

_CcBbr1Required = TypedDict("_CcBbr1Required", {"kind": Literal["bbr1"]})


class CcBbr1(_CcBbr1Required, total=False):
    """Window and pace from a model of the path: bandwidth and round-trip time (BBR v1, Cardwell et al. 2016; Linux).

    quantum :
        Data that is handed down in one quantum. Default: "offload"; "segment" (rfc, ns-2, windows-11, freebsd-14).

    policer :
        Whether it detects policers. Default: true.

    rwnd_limited_is_app_limited :
        Whether samples at the limit of the receiver's window can only raise the bandwidth. Default: false.

    leo :
        Whether the sender is notified of path reconfigurations. Losses then do not count for half a second, the least round-trip time is measured again, and the bandwidth is kept two cycles longer. Default: false.

    period :
        Time between reconfigurations; 0: no reconfigurations. Default: "15 s".

    offset :
        Time of the first reconfiguration in the simulation. Default: "0 s".
    """

    quantum: Literal["segment", "offload"]
    policer: bool
    rwnd_limited_is_app_limited: bool
    leo: bool
    period: str
    offset: str

_CcBbr2Required = TypedDict("_CcBbr2Required", {"kind": Literal["bbr2"]})


class CcBbr2(_CcBbr2Required, total=False):
    """BBR that keeps losses below 2 % (BBR v2, alpha release of 2019).

    loss_threshold :
        Share of the data in flight whose loss sets a bound. Default: 0.02.

    beta :
        Smallest share of a bound that a loss leaves. Default: 0.7.

    headroom :
        Share of the long-term bound that is left free between probes. Default: 0.15.

    up_ends :
        End of Up without losses. Default: "queue".

    quantum :
        Data that is handed down in one quantum. Default: "offload"; "segment" (rfc, ns-2, windows-11, freebsd-14).

    rwnd_limited_is_app_limited :
        Whether samples at the limit of the receiver's window can only raise the bandwidth. Default: false.

    leo :
        Whether the sender is notified of path reconfigurations. Losses then do not count for half a second, the least round-trip time is measured again, and the bandwidth is kept two cycles longer. Default: false.

    period :
        Time between reconfigurations; 0: no reconfigurations. Default: "15 s".

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

_CcBbr3Required = TypedDict("_CcBbr3Required", {"kind": Literal["bbr3"]})


class CcBbr3(_CcBbr3Required, total=False):
    """BBR of the IETF's working group: bounds on the data in flight, probes that make room first (draft-ietf-ccwg-bbr).

    profile :
        Edition of BBR v3. Default: "draft".

    loss_threshold :
        Share of the data in flight whose loss sets a bound. Default: 0.02.

    beta :
        Smallest share of a bound that a loss leaves. Default: 0.7.

    headroom :
        Share of the long-term bound that is left free between probes. Default: 0.15.

    quantum :
        Data that is handed down in one quantum. Default: "offload"; "segment" (rfc, ns-2, windows-11, freebsd-14).

    rwnd_limited_is_app_limited :
        Whether samples at the limit of the receiver's window can only raise the bandwidth. Default: false.

    leo :
        Whether the sender is notified of path reconfigurations. Losses then do not count for half a second, the least round-trip time is measured again, and the bandwidth is kept two cycles longer. Default: false.

    period :
        Time between reconfigurations; 0: no reconfigurations. Default: "15 s".

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

_CcBicRequired = TypedDict("_CcBicRequired", {"kind": Literal["bic"]})


class CcBic(_CcBicRequired, total=False):
    """Binary search for the window at the last loss (Xu, Harfoush and Rhee 2004).

    form :
        Form of the search. Default: "linux".

    low_window :
        Window up to which it grows as Reno, segments. Default: 14.

    smax :
        Largest increase per round trip, segments. Default: 16.0.

    smin :
        Smallest increase per round trip, segments, in the paper's form. Default: 0.01.

    divisor :
        Divisor of the distance: the part covered per round trip, in Linux's form. Default: 4.

    smooth_part :
        Round trips for that many segments near the maximum, in Linux's form. Default: 20.

    whole_steps :
        Whether the step is a whole number of segments, in Linux's form. Default: true.

    step_factor :
        Factor of all steps above the low window. 1.9375 is the behaviour of Linux 2.6 with an ACK for each segment: its estimate of segments per ACK starts at two and, in whole numbers, does not fall below 31/16. Default: 1.0.

    beta :
        Share of the window after a loss, in thousandths. Default: 0.8.

    fast_convergence :
        Whether a loss below the window of the last loss reduces the maximum further, to make room for new flows. Default: true.

    first_growth :
        Smallest increase per round trip before the first loss, as a share of the window. Default: 0.05.

    reset_on_rto :
        Whether a timeout clears the maximum. Default: true.
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

_CcCompoundRequired = TypedDict("_CcCompoundRequired", {"kind": Literal["compound"]})

_CcCompoundOptional = TypedDict("_CcCompoundOptional", {"lambda": float}, total=False)


class CcCompound(_CcCompoundRequired, _CcCompoundOptional, total=False):
    """Reno's window plus a delay-based window (Tan, Song, Zhang and Sridharan 2006).

    alpha :
        α: factor of the power of the window, segments per round trip. Default: 0.125.

    beta :
        Share of the window that a loss takes. Default: 0.5.

    k :
        k: exponent of the window in the increase. Default: 0.75.

    zeta :
        ζ: segments removed for each segment queued. Default: 1.0.

    gamma :
        γ: queued segments at which the delay-based window starts to shrink. Default: 30.0.

    gamma_tuning :
        Whether γ is tuned by the queue of Reno's part before losses. Default: true.

    gamma_min :
        Smallest γ of the tuning, segments. Default: 5.0.

    gamma_max :
        Largest γ of the tuning, segments. Default: 30.0.

    lambda :
        λ: share of its error that γ moves by. Default: 0.25.

    low_window :
        Window below which it is Reno, segments. Default: 38.

    below_low_window :
        Fate of the delay-based window below that. Default: "drop".

    base_rtt_window :
        Memory of the least round-trip time; 0: the whole connection. 10 s suits low orbits. Default: "0 s".
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

_CcCopaRequired = TypedDict("_CcCopaRequired", {"kind": Literal["copa"]})


class CcCopa(_CcCopaRequired, total=False):
    """About two segments queued, by a rate inversely proportional to the queueing delay (Arun and Balakrishnan 2018).

    delta :
        δ of the default mode: 1/δ segments wait in the queue. Default: 0.5.

    competitive :
        Whether flows that fill the queue are answered with a smaller δ. Default: true.

    competitive_step :
        Increase of 1/δ per round trip of competitive mode. Default: 1.0.

    empty_share :
        Share of the greatest delay below which the queue counts as empty. Default: 0.1.

    empty_within :
        Round trips in which the queue must be empty once. Otherwise the mode is competitive. Default: 5.

    rtt_max_rounds :
        Memory of the greatest delay, round trips. Default: 4.

    rtt_min_window :
        Memory of the least round-trip time. Default: "10 s".

    standing_share :
        Period over which RTTstanding is the minimum, as a share of the smoothed round-trip time. Default: 0.5.

    steady_rounds :
        Round trips in one direction before v doubles. Default: 3.

    reset_at_once :
        Whether v is 1 at the first ACK that asks for the other direction. Otherwise it is 1 after a window in that direction. Default: true.

    pacing_gain :
        Pacing, in windows per standing round-trip time. Default: 2.0.

    min_window :
        Smallest window except after a timeout, segments. Default: 2.
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

_CcCubicRequired = TypedDict("_CcCubicRequired", {"kind": Literal["cubic"]})


class CcCubic(_CcCubicRequired, total=False):
    """A cubic function of the time since the last loss (RFC 9438).

    c :
        Steepness of the function, C, segments/s³. Default: 0.4.

    beta :
        Share of the window after a loss, in thousandths. Default: 0.7.

    fast_convergence :
        Whether a loss below the window of the last loss lowers the plateau further, to make room for new flows. Default: true.

    reno_friendly :
        Whether the window grows at least as fast as Reno's. Default: true.

    growth :
        Unit of growth: each unit moves the window towards its target. Default: "segment".

    after_rto :
        Start of the first congestion avoidance after a timeout. Default: "reset"; "rfc" (rfc, ns-2, windows-11, freebsd-14).

    first_growth :
        Smallest increase per round trip until the first loss, as a share of the window. Default: 0.05; 0.0 (rfc, ns-2, windows-11, freebsd-14).
    """

    c: float
    beta: float
    fast_convergence: bool
    reno_friendly: bool
    growth: Literal["segment", "ack"]
    after_rto: Literal["rfc", "reset"]
    first_growth: float

_CcDctcpRequired = TypedDict("_CcDctcpRequired", {"kind": Literal["dctcp"]})


class CcDctcp(_CcDctcpRequired, total=False):
    """Reduces the window by the share of marked packets; for networks with short marking thresholds (RFC 8257).

    gain :
        Weight of a round in `alpha` (g). Default: 0.0625.

    alpha_start :
        `alpha` before the first round with marks. Default: 1.0.
    """

    gain: float
    alpha_start: float

_CcEnhancedHswaRequired = TypedDict("_CcEnhancedHswaRequired", {"kind": Literal["enhanced-hswa"]})


class CcEnhancedHswa(_CcEnhancedHswaRequired, total=False):
    """HSWA's increment, and a window from the estimated bandwidth, also before a loss (Pandya and Shaikh).

    error_rate :
        p: error rate of the satellite link. Default: 1e-6.

    least_error_rate :
        Smallest error rate that counts, so that the increment is finite. Default: 1e-10.

    a :
        A: segments per halving of the error rate. Default: 10.0.

    per :
        Unit of time or data per increment. Default: "rtt".

    cwnd_lim :
        cwnd_lim: the largest window, segments; 0: the window that the receiver advertises. Default: 0.

    third_case_from :
        TD at which the increment becomes 0, as a multiple of BaseTD. Default: 2.0.

    epsilon :
        Largest excess of TD over BaseTD that counts as equal, as a share of BaseTD. A large value removes the delay from the rule. Default: 0.01.

    avg_rtt :
        Mean of the round-trip times. Default: "all".

    from_start :
        Whether the rule replaces the first slow start. Default: false.

    delta :
        δ: largest excess of a round trip over the mean, as a share of the mean. Default: 0.05.

    rto :
        Window after a timeout. Default: "hold".

    link_rate :
        C: rate of the link, bit/s, for f; 0: f is 1. Default: 0.0.

    tau :
        Time constant τ of the filter: 1 / τ is its cut-off frequency. Default: "500 ms".

    connections :
        n: connections that share the link, known from an oracle. Each grows by an nth of the increment. Default: 1.

    queue_target :
        Queueing delay at which the increment becomes 0. Below it the increment falls with the delay. A loss with a longer delay halves the window. 0: no target. Default: "0 s".

    measures_errors :
        Whether the error rate is measured instead of `error_rate`: lost over sent bytes of the connection, a mean over the last thousand segments. Default: false.

    virtual_samples :
        Virtual samples m: while nothing arrives, a sample of zero is taken every τ / m; 0: no virtual samples. Default: 2.
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

_CcHighspeedRequired = TypedDict("_CcHighspeedRequired", {"kind": Literal["highspeed"]})


class CcHighspeed(_CcHighspeedRequired, total=False):
    """More per ACK and a smaller reduction per loss, the larger the window is (RFC 3649).

    low_window :
        Window up to which it is Reno, segments. Default: 38.

    low_p :
        Loss rate per segment at which the average window is `low_window`. Default: 0.001.

    high_window :
        Window at which a loss takes `high_decrease`, segments. Default: 83000.

    high_p :
        Loss rate per segment at which the average window is `high_window`. Default: 1e-7.

    high_decrease :
        Share that a loss takes from a window of `high_window` or more. Default: 0.1.

    parameters :
        Source of increase and decrease. The table uses no other number than `low_window`. Default: "formula".

    at_least_reno :
        Whether it adds at least one segment per round trip where the formula gives less, just above `low_window`. Default: true.

    timeout_halves :
        Whether a timeout halves the threshold. Otherwise a timeout takes the share of a loss. Default: false.
    """

    low_window: int
    low_p: float
    high_window: int
    high_p: float
    high_decrease: float
    parameters: Literal["formula", "row_below", "row_above"]
    at_least_reno: bool
    timeout_halves: bool

_CcHswaRequired = TypedDict("_CcHswaRequired", {"kind": Literal["hswa"]})


class CcHswa(_CcHswaRequired, total=False):
    """An increment by the error rate of the satellite link, smaller as the round trip lengthens (Ge 2009).

    error_rate :
        p: error rate of the satellite link. Default: 1e-6.

    least_error_rate :
        Smallest error rate that counts, so that the increment is finite. Default: 1e-10.

    a :
        A: segments per halving of the error rate. Default: 10.0.

    per :
        Unit of time or data per increment. Default: "rtt".

    cwnd_lim :
        cwnd_lim: the largest window, segments; 0: the window that the receiver advertises. Default: 0.

    third_case_from :
        TD at which the increment becomes 0, as a multiple of BaseTD. Default: 2.0.

    epsilon :
        Largest excess of TD over BaseTD that counts as equal, as a share of BaseTD. A large value removes the delay from the rule. Default: 0.01.

    avg_rtt :
        Mean of the round-trip times. Default: "all".

    from_start :
        Whether the rule replaces the first slow start. Default: false.
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

_CcHtcpRequired = TypedDict("_CcHtcpRequired", {"kind": Literal["htcp"]})


class CcHtcp(_CcHtcpRequired, total=False):
    """Growth by the time since congestion, and a reduction that empties the queue (Leith and Shorten 2004).

    low_speed :
        Δ_L: time after congestion in which it grows like Reno. Default: "1 s".

    rtt_scaling :
        Whether the increase is scaled by the least round-trip time over 100 ms, within 0.1 and 2. Default: true.

    adaptive_backoff :
        Whether a loss takes the window that empties the queue. Otherwise a loss always takes 1 - beta_min. Default: true.

    bandwidth_switch :
        Whether a loss takes 1 - beta_min after the throughput has changed. Default: true.

    bandwidth_change :
        Relative change of the throughput that counts as changed. Default: 0.2.

    beta_min :
        Smallest share of the window after a loss. Default: 0.5.

    beta_max :
        Largest share of the window after a loss. Default: 0.8.

    adaptive_above :
        Least round-trip time up to which the backoff is not adaptive. Default: "10 ms".

    rtt_max_fade :
        Share of the greatest queueing delay that is remembered after congestion. Default: 0.95.

    rtt_max_step :
        Largest step of the greatest round-trip time for one sample. Default: "20 ms".

    rtt_max_rise :
        Reaction to a sample that exceeds that step. Default: "clip".
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

_CcHyblaRequired = TypedDict("_CcHyblaRequired", {"kind": Literal["hybla"]})


class CcHybla(_CcHyblaRequired, total=False):
    """Reno's growth on a path of 25 ms, for paths of any length (Caini and Firrincieli 2004).

    rtt0 :
        Round-trip time of the reference path (RTT0). Default: "25 ms".

    rtt :
        Round-trip time that is compared with RTT0. Default: "minimum".

    eighths :
        Whether ρ is a multiple of 1/8. Default: false.

    exponent_max :
        The largest ρ in the exponent of slow start. Default: 16.0.

    needs_ssthresh :
        Whether slow start is the standard's without a threshold. Default: false; true (rfc, ns-2, windows-11, freebsd-14).

    initial_window :
        The initial window. Default: "rho".

    scaled_ssthresh :
        Whether the initial threshold is multiplied by ρ. Default: false.

    rho_after_timeout :
        Whether a timeout leaves ρ segments. Otherwise it leaves one. Default: false.

    reno_after_timeout :
        Whether it grows as Reno until the data sent before a timeout is acknowledged. Default: true.
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

_CcIllinoisRequired = TypedDict("_CcIllinoisRequired", {"kind": Literal["illinois"]})


class CcIllinois(_CcIllinoisRequired, total=False):
    """Increase and decrease by the queueing delay, on loss (Liu, Başar and Srikant 2006).

    alpha_max :
        Increase with a short queue, segments per round trip. Default: 10.0.

    alpha_min :
        Increase at the greatest delay, segments per round trip. Default: 0.3.

    beta_min :
        Share of the window that a loss takes with a short queue. Default: 0.125.

    beta_max :
        Share of the window that a loss takes near the greatest delay. Default: 0.5.

    alpha_delay :
        d1: share of the greatest queueing delay up to which the increase is alpha_max. Default: 0.01.

    beta_delay_low :
        d2: share of the greatest queueing delay up to which a loss takes beta_min. Default: 0.1.

    beta_delay_high :
        d3: share of the greatest queueing delay above which a loss takes beta_max. Default: 0.8.

    theta :
        θ: round trips with a short queue before the increase is alpha_max again. Default: 5.

    in_a_row :
        Whether those round trips must be consecutive. Otherwise a long queue in between does not clear the count. Default: true.

    low_window :
        Window below which it is Reno, segments. Default: 15.

    max_rtt_window :
        Memory of the greatest round-trip time; 0: the whole connection. 10 s suits low orbits. Default: "0 s".

    base_rtt_window :
        Memory of the least round-trip time; 0: the whole connection. 10 s suits low orbits. Default: "0 s".
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

_CcLedbatRequired = TypedDict("_CcLedbatRequired", {"kind": Literal["ledbat"]})


class CcLedbat(_CcLedbatRequired, total=False):
    """Keeps a queueing delay of 100 ms and yields to flows that queue more (RFC 6817).

    target :
        Target of the queueing delay. Default: "100 ms".

    gain :
        Gain of the window, segments per round trip with an empty queue. Default: 1.0.

    allowed_increase :
        Largest excess of the window over the data in flight, segments. Default: 1.0.

    base_history :
        Number of least delays that are kept. The smallest of them is the delay of the empty path. Default: 10.

    base_interval :
        Period of each of them. Default: "60 s".

    current_filter :
        Number of last samples whose minimum is the current delay. Default: 4.

    initial_window :
        Initial window, segments, if the connection's is not smaller. Default: 2.

    min_window :
        Smallest window except after a timeout, segments. Default: 2.

    slow_start_until :
        Share of the target that may be queued in slow start, below the threshold; 0: no slow start. Default: 0.0.

    delay :
        Delay that is measured. Default: "one-way".
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

_CcLeoccRequired = TypedDict("_CcLeoccRequired", {"kind": Literal["leocc"]})


class CcLeocc(_CcLeoccRequired, total=False):
    """BBR that probes the path again after each satellite reconfiguration (Lai et al. 2025).

    reallocation :
        Source of the instants of reconfigurations. Default: "announced".

    period :
        Time between two reallocations of the satellites. Default: "15 s".

    offset :
        Time of the first reallocation, from the start of the run. Default: "12 s".

    jump :
        Change of the least round-trip time that reveals a reallocation, between neighbours among 150 parts of the period. Default: "6 ms".

    trigger :
        Time between the start of ProbeRtt and the instant. Default: "100 ms".

    high_gain :
        Gain of Startup, and of the window in Drain. Default: 2.885.

    drain_gain :
        Gain of the pace in Drain. Default: 0.347.

    cwnd_gain :
        Gain of the window in DynamicCruise. Default: 2.0.

    probe_gain :
        First gain of the pace in DynamicCruise. Default: 1.25.

    fluctuation_gain :
        First gain of the pace while the round-trip time fluctuates. Default: 1.05.

    yield_gain :
        Second gain of the pace in DynamicCruise. Default: 0.75.

    probe_rtt :
        Time in which ProbeRtt keeps the window small. Default: "200 ms".

    probe_rtt_gain :
        Gain of the window in ProbeRtt. Default: 0.5.

    min_window :
        Smallest window except after a timeout, segments. Default: 4.

    min_rtt_window :
        Time without a lower round-trip time before ProbeRtt measures it. Default: "20 s".

    min_rtt_fluctuation :
        Excess over the least round-trip time that counts as fluctuation. Default: "10 ms".

    delta_thresh :
        Fall of the round-trip time in ProbeRtt that shows a new path. Default: "45 ms".

    bw_rounds :
        Round trips whose greatest rate is the bandwidth. Default: 10.

    kalman_q :
        Q of both filters: the variance of a step of the state. Default: 4.0.

    kalman_r :
        R of both filters: the variance of a sample. Default: 4.0.

    kalman_p0 :
        Initial P of both filters. Default: 25.0.

    bandwidth_after :
        Initial bandwidth after a reconfiguration without a fall of the round-trip time. Default: "latest".
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

_CcPeachRequired = TypedDict("_CcPeachRequired", {"kind": Literal["peach"]})


class CcPeach(_CcPeachRequired, total=False):
    """Dummy segments of low priority find room in two round trips, at the start and after a loss (Akyildiz, Morabito and Palazzo 2001).

    probe_max :
        Largest window that Sudden Start probes for, segments. A smaller receiver's window takes precedence. Default: 1024.

    probe_again :
        Window that Sudden Start probes for after a timeout or an idle time, within the same limits. Default: "known".

    inflate :
        Whether duplicate ACKs inflate the window in recovery, as in Reno. Default: false.

    receiver_knows :
        Whether the receiver knows dummy segments. Otherwise Peach is Reno. Default: true.
    """

    probe_max: int
    probe_again: Literal["known", "all"]
    inflate: bool
    receiver_knows: bool

_CcPeachPlusRequired = TypedDict("_CcPeachPlusRequired", {"kind": Literal["peach-plus"]})


class CcPeachPlus(_CcPeachPlusRequired, total=False):
    """Peach whose dummy segments carry unacknowledged data (Akyildiz, Zhang and Fang 2002).

    probe_max :
        Largest window that Jump Start probes for, segments. A smaller receiver's window takes precedence. Default: 1024.

    probe_again :
        Window that Jump Start probes for after a timeout or an idle time, within the same limits. Default: "known".

    repair :
        Whether dummies carry the oldest unacknowledged data. Otherwise they carry the data sent last, as Peach's. Default: true.

    receiver_knows :
        Whether the receiver knows dummy segments. Otherwise Peach+ is Reno. Default: true.
    """

    probe_max: int
    probe_again: Literal["known", "all"]
    repair: bool
    receiver_knows: bool

_CcPragueRequired = TypedDict("_CcPragueRequired", {"kind": Literal["prague"]})


class CcPrague(_CcPragueRequired, total=False):
    """Reduces the window by the share of marked packets, for queues of about a millisecond (L4S, RFC 9330).

    gain :
        Weight of a round in `alpha`. Default: 0.0625.

    reference_rtt :
        Round-trip time to which shorter ones are scaled; 0: no scaling. Default: "25 ms".

    transition :
        Rounds after slow start before scaling begins. Default: 500.

    alpha_start :
        `alpha` before the first round with marks: with 1 the first mark halves the window. Default: 1.0.

    scaling :
        Scaling of short round trips. Default: "rate".

    growth :
        Growth in congestion avoidance. Default: "reno".
    """

    gain: float
    reference_rtt: str
    transition: int
    alpha_start: float
    scaling: Literal["rate", "none"]
    growth: Literal["reno", "faster"]

_CcSantaCruzRequired = TypedDict("_CcSantaCruzRequired", {"kind": Literal["santa-cruz"]})


class CcSantaCruz(_CcSantaCruzRequired, total=False):
    """Five segments queued, measured by relative delays of the forward path (Parsa and Garcia-Luna-Aceves 1999).

    operating_point :
        Target of segments waiting at the bottleneck. Default: 5.0.

    delta :
        Deviation from the target at which the window stays, segments. Default: 0.5.

    delay :
        Delay that is measured. Default: "one-way".
    """

    operating_point: float
    delta: float
    delay: Literal["one-way", "round-trip"]

_CcSatcpRequired = TypedDict("_CcSatcpRequired", {"kind": Literal["satcp"]})


class CcSatcp(_CcSatcpRequired, total=False):
    """CUBIC that attributes losses to a handover while one is due (Cao and Zhang 2023).

    reallocation :
        Source of the times of handovers. Default: "announced".

    period :
        Time between two reallocations of the satellites. Default: "15 s".

    offset :
        Time of the first reallocation, from the start of the run. Default: "12 s".

    jump :
        Change of the least round-trip time that reveals a reallocation, between neighbours among 150 parts of the period. Default: "6 ms".

    early :
        Time between setting the bit and the handover. Default: "500 ms".

    lasting :
        Time for which the bit is set. Default: "2.3 s".

    keep_window :
        Whether losses and marks under the bit keep the window. Default: true.

    keep_state :
        Whether timeouts under the bit keep the state of CUBIC and slow start, and ssthresh at the window. Default: true.

    k_divisor :
        Divisor of K under the bit. Default: 9.0.

    c :
        Steepness of CUBIC's function, C, segments/s³. Default: 0.4.

    beta :
        Share of the window after a loss while the bit is not set. Default: 0.7.

    fast_convergence :
        Whether a loss below the window of the last loss lowers the plateau further, to make room for new flows. Default: true.

    reno_friendly :
        Whether the window grows at least as fast as Reno's. Default: true.

    growth :
        Unit of growth: each unit moves the window towards its target. Default: "segment".

    after_rto :
        Start of the first congestion avoidance after a timeout while the bit is not set. Default: "rfc".
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

_CcScalableRequired = TypedDict("_CcScalableRequired", {"kind": Literal["scalable"]})


class CcScalable(_CcScalableRequired, total=False):
    """A fixed share of the window for each ACK and off for each loss (Kelly 2003).

    increase :
        Segments that each ACK of a segment adds to the window. Default: 0.01.

    decrease :
        Share of the window that a loss takes. Default: 0.125.

    low_window :
        Window up to which it is Reno, segments. Default: 16.

    halve_low :
        Whether a loss halves a window up to `low_window`, as in Reno. Otherwise a loss takes `decrease`. Default: true.
    """

    increase: float
    decrease: float
    low_window: int
    halve_low: bool

_CcScpsRequired = TypedDict("_CcScpsRequired", {"kind": Literal["scps"]})


class CcScps(_CcScpsRequired, total=False):
    """Reno's window, Vegas or no congestion control, with a rate, for SCPS-TP (CCSDS 714.0-B).

    congestion :
        Congestion control of the route. Default: "vj".

    rate :
        Rate of the route, headers and ACKs included; 0 bit/s: no rate control. Default: "0 bit/s".

    tick :
        Tick of the clock: unit of the depth of the bucket. Default: "10 ms".

    depth :
        Ticks of the rate that may leave back to back after a pause. Default: 5.
    """

    congestion: Literal["vj", "vegas", "none"]
    rate: str
    tick: str
    depth: int

_CcStpRequired = TypedDict("_CcStpRequired", {"kind": Literal["stp"]})


class CcStp(_CcStpRequired, total=False):
    """Polls the receiver for ACKs; between polls it reports only losses (Henderson and Katz 1999).

    polls :
        Polls per round trip. Default: 3.

    gain_slow_start :
        Pace in slow start, windows per round trip. Default: 2.0.

    gain :
        Pace after slow start, windows per round trip. Default: 1.25.
    """

    polls: int
    gain_slow_start: float
    gain: float

_CcSwiftRequired = TypedDict("_CcSwiftRequired", {"kind": Literal["swift"]})


class CcSwift(_CcSwiftRequired, total=False):
    """Opens the window in two round trips, and again after a loss that the ACKs do not attribute to a queue (Leung and Yeung 2004).

    probe_max :
        Largest window that Speedy Start probes for, segments. A smaller receiver's window takes precedence. Default: 1024.

    many_losses :
        Losses in a window that mean congestion. Default: 3.

    rtt_rise :
        Multiple of the smallest round-trip time above which a round-trip time means congestion. Default: 1.25.

    expand :
        Whether there is a window expanding period. Otherwise recovery is Reno's. Default: true.
    """

    probe_max: int
    many_losses: int
    rtt_rise: float
    expand: bool

_CcVegasRequired = TypedDict("_CcVegasRequired", {"kind": Literal["vegas"]})


class CcVegas(_CcVegasRequired, total=False):
    """Two to four segments queued, measured by the round-trip time (Brakmo 1995).

    alpha :
        Queued segments below which the window grows. Default: 2.0.

    beta :
        Queued segments above which the window shrinks. Default: 4.0.

    gamma :
        Queued segments above which slow start ends. Default: 1.0.

    diff :
        Quantity that is compared with the three thresholds. Default: "paper".

    double_every :
        Round trips of slow start per doubling of the window. Default: 2.

    adjust_every :
        Round trips of congestion avoidance per change of the window. Default: 1.

    decrease :
        Share of the window that a loss takes. Default: 0.5.

    base_rtt_window :
        Memory of the smallest round-trip time; 0: the whole connection. Default: "0 s".
    """

    alpha: float
    beta: float
    gamma: float
    diff: Literal["paper", "linux"]
    double_every: int
    adjust_every: int
    decrease: float
    base_rtt_window: str

_CcVenoRequired = TypedDict("_CcVenoRequired", {"kind": Literal["veno"]})


class CcVeno(_CcVenoRequired, total=False):
    """Reno with a smaller reduction per loss if few segments are queued (Fu 2003).

    beta :
        Queued segments below which a loss is random. Default: 3.0.

    random_decrease :
        Share of the window that a random loss takes. Default: 0.2.

    rtt :
        Round-trip time that counts. Default: "round".

    rto :
        Slow-start threshold after a timeout. Default: "paper".

    pace :
        Growth at half the pace. Default: "ack".

    forget_base_rtt :
        Whether a loss resets the smallest round-trip time. Default: false.

    base_rtt_window :
        Memory of the smallest round-trip time; 0: the whole connection. Default: "0 s".
    """

    beta: float
    random_decrease: float
    rtt: Literal["round", "ack"]
    rto: Literal["paper", "linux"]
    pace: Literal["ack", "window"]
    forget_base_rtt: bool
    base_rtt_window: str

_CcWestwoodRequired = TypedDict("_CcWestwoodRequired", {"kind": Literal["westwood"]})


class CcWestwood(_CcWestwoodRequired, total=False):
    """Reno that reduces the window to the estimated bandwidth-delay product instead of half (Mascolo 2001).

    tau :
        Time constant τ of the filter: 1 / τ is its cut-off frequency. Default: "500 ms".

    virtual_samples :
        Virtual samples m: while nothing arrives, a sample of zero is taken every τ / m; 0: no virtual samples. Default: 2.

    cut :
        Time of the reduction after a loss. Default: "at-loss".

    forget_min_rtt :
        Whether a timeout resets the least round-trip time. Default: false.

    estimate_factor :
        Factor applied to the bandwidth estimate, to study wrong estimates. Default: 1.0.
    """

    tau: str
    virtual_samples: int
    cut: Literal["at-loss", "at-exit"]
    forget_min_rtt: bool
    estimate_factor: float

_CcWestwoodNrRequired = TypedDict("_CcWestwoodNrRequired", {"kind": Literal["westwood-nr"]})


class CcWestwoodNr(_CcWestwoodNrRequired, total=False):
    """Westwood with NewReno's recovery through partial ACKs (Casetti 2002).

    tau :
        Time constant τ of the filter: 1 / τ is its cut-off frequency. Default: "500 ms".

    virtual_samples :
        Virtual samples m: while nothing arrives, a sample of zero is taken every τ / m; 0: no virtual samples. Default: 2.

    cut :
        Time of the reduction after a loss. Default: "at-loss".

    forget_min_rtt :
        Whether a timeout resets the least round-trip time. Default: false.

    estimate_factor :
        Factor applied to the bandwidth estimate, to study wrong estimates. Default: 1.0.
    """

    tau: str
    virtual_samples: int
    cut: Literal["at-loss", "at-exit"]
    forget_min_rtt: bool
    estimate_factor: float

_CcWestwoodPlusRequired = TypedDict("_CcWestwoodPlusRequired", {"kind": Literal["westwood-plus"]})


class CcWestwoodPlus(_CcWestwoodPlusRequired, total=False):
    """Westwood with one bandwidth sample per round trip, robust to compressed ACKs (Grieco and Mascolo 2004).

    smoothing :
        Filter that smooths the samples. Default: "linux".

    shortest_sample :
        Shortest time of a sample. Longer samples take a round trip. Default: "50 ms".

    cut :
        Time of the reduction after a loss. Default: "at-exit".

    forget_min_rtt :
        Whether a timeout resets the least round-trip time. Default: true.

    estimate_factor :
        Factor applied to the bandwidth estimate, to study wrong estimates. Default: 1.0.
    """

    smoothing: Literal["linux", "mean-of-two"]
    shortest_sample: str
    cut: Literal["at-loss", "at-exit"]
    forget_min_rtt: bool
    estimate_factor: float

_CcWtcpRequired = TypedDict("_CcWtcpRequired", {"kind": Literal["wtcp"]})


class CcWtcp(_CcWtcpRequired, total=False):
    """A rate from the spacing of arrivals and departures; only unusual losses count (Sinha et al. 2002).

    increase :
        Segments added per round trip. Default: 1.0.

    high :
        Excess of the spacing ratio that counts as wider spacing. Default: 0.02.

    weight :
        Weight of the latest ratio in its average. Default: 0.25.

    decrease :
        Share of the arrival rate after wider spacing. Default: 0.9.

    loss_decrease :
        Share of the rate after more losses than usual. Default: 0.5.

    deviations :
        Mean deviations above the average at which the losses of a round trip count. Default: 4.0.

    least_period :
        Shortest time over which spacings are compared. Default: "50 ms".
    """

    increase: float
    high: float
    weight: float
    decrease: float
    loss_decrease: float
    deviations: float
    least_period: str

_CcYeahRequired = TypedDict("_CcYeahRequired", {"kind": Literal["yeah"]})


class CcYeah(_CcYeahRequired, total=False):
    """Scalable TCP's growth while the queue is short, otherwise Reno's; long queues are drained (Baiocchi 2007).

    alpha :
        alpha: largest queue, segments. Default: 80.0.

    gamma :
        gamma: divisor of the queue above alpha that is drained per round trip. Default: 1.0.

    delta :
        delta: smallest share of the window that a loss takes. Default: 0.125.

    epsilon :
        epsilon: largest share of the window that is drained. Default: 0.5.

    phi :
        phi: divisor of the base round-trip time: the largest queueing delay. Default: 8.

    rho :
        rho: consecutive slow rounds after which a loss halves the window. Default: 16.

    zeta :
        zeta: fast rounds after which the estimate of Reno's window is reset. Default: 50.

    increase :
        Segments added per ACK of a segment in fast mode. Default: 0.01.

    base_rtt_window :
        Memory of the smallest round-trip time; 0: the whole connection. Default: "0 s".
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
