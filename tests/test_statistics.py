"""Statistics against manual calculations, documented examples, and the coverage of intervals."""

import numpy as np
import polars as pl
import pytest
from scipy import special
from scipy.stats import fisher_exact

import bentpipe as bp
from bentpipe.errors import BentpipeError
from bentpipe.experiment.results.comparison import Comparison
from bentpipe.metric import COLUMNS, METRICS, find_metric
from bentpipe.statistics import estimates, student
from bentpipe.statistics.comparing import Difference, differences, sentence, statement
from bentpipe.statistics.correction import adjust_p, benjamini_hochberg
from bentpipe.statistics.effects import Effect, cliff, hedges, hedges_paired
from bentpipe.statistics.estimates import Interval, estimate, least, median, ratio_of_means, ratio_of_medians, sign_test
from bentpipe.statistics.judgement import Judgement
from bentpipe.statistics.samples import Sample
from bentpipe.statistics.steady import batch_means, levels, steady
from bentpipe.statistics.warmup import cut_early, mser

GOODPUT = METRICS["goodput"]
NAN = np.nan


def numbers(*values):
    return np.array(values, dtype=float)


def coverage(intervals, truth):
    return np.mean([found.low <= truth <= found.high for found in intervals])


def paired_samples(rng, count):
    """Draw two cases with means 12 and 10, and the common effect of the channel on both."""
    channel = rng.normal(size=count)
    return 12 + channel + rng.normal(size=count), 10 + channel + rng.normal(size=count)


# Distributions


# scipy loses digits for very small values: with one degree of freedom the exact share is 1/2 + atan(t) / pi.
FREEDOMS = [0.7, 1, 2, 3, 4, 9, 30, 99, 500, 10_000]
VALUES = [-1000, -40, -5, -2, -0.5, -0.01, 0, 0.3, 1, 5, 40]
SHARES = [1e-12, 1e-6, 0.001, 0.025, 0.25, 0.4, 0.5, 0.6, 0.9, 0.975, 0.99999]


@pytest.mark.parametrize("freedom", FREEDOMS)
def test_students_distribution_is_that_of_scipy(freedom):
    found = [student.cumulate(freedom, t) for t in VALUES]
    np.testing.assert_allclose(found, special.stdtr(freedom, VALUES), rtol=1e-10, atol=1e-290)
    quantiles = [student.find_quantile(freedom, share) for share in SHARES]
    np.testing.assert_allclose(quantiles, special.stdtrit(freedom, SHARES), rtol=1e-10)


def test_a_confidence_of_nearly_one_has_an_infinite_interval():
    confidence = 0.9999999999999999
    assert (1 + confidence) / 2 == 1
    assert student.find_quantile(4, 1.0) == -student.find_quantile(4, 0.0) == np.inf
    found = estimate(numbers(1, 2, 4), confidence)
    assert (found.low, found.high) == (-np.inf, np.inf)


def test_signs_have_the_binomial_distribution():
    for signs in (1, 10, 1001, 1_000_000):
        for most in (0, signs // 3, signs):
            share = student.cumulate_signs(most, signs)
            np.testing.assert_allclose(share, special.bdtr(most, signs, 0.5), rtol=1e-9)


@pytest.mark.parametrize("counts", [(10, 10, 4, 10), (3, 50, 9, 40), (0, 5, 0, 7), (400, 1000, 480, 1000)])
def test_fishers_test_is_that_of_scipy(counts):
    done, due, other, other_due = counts
    exact = fisher_exact([[done, due - done], [other, other_due - other]]).pvalue
    np.testing.assert_allclose(estimates.fisher(*counts), exact, rtol=1e-9)


# Intervals


def test_student_intervals_cover_what_they_promise():
    rng = np.random.default_rng(1)
    assert 0.94 < coverage([estimate(rng.normal(3, 2, 10), 0.95) for _ in range(20_000)], 3) < 0.96
    assert 0.89 < coverage([estimate(rng.normal(3, 2, 10), 0.9) for _ in range(20_000)], 3) < 0.91


@pytest.mark.parametrize(
    ("interval", "truth"),
    [
        (lambda rng: median(rng.normal(3, 2, 10), 0.95), 3),
        (lambda rng: median(rng.exponential(size=10), 0.95), np.log(2)),
        (lambda rng: ratio_of_means(*paired_samples(rng, 10), 0.95), 1.2),
        (lambda rng: ratio_of_medians(*paired_samples(rng, 10), 0.95), 1.2),
        (lambda rng: ratio_of_means(rng.normal(12, 2, 10), rng.normal(10, 1, 10), 0.95, is_paired=False), 1.2),
    ],
    ids=["median", "skewed", "means", "medians", "unpaired"],
)
def test_bootstrap_intervals_cover_what_they_promise(monkeypatch, interval, truth):
    monkeypatch.setattr(estimates, "RESAMPLES", 999)
    rng = np.random.default_rng(2)
    assert 0.93 < coverage([interval(rng) for _ in range(800)], truth) < 0.97


def test_bootstrap_intervals_repeat_byte_for_byte():
    one, other = paired_samples(np.random.default_rng(3), 12)
    first = median(one, 0.95), ratio_of_means(one, other, 0.95)
    np.random.default_rng(4).normal(size=100)
    assert (median(one, 0.95), ratio_of_means(one, other, 0.95)) == first
    # Independent of the batches of the resampling.
    assert median(np.append(one, NAN), 0.95) == first[0]


def test_a_bootstrap_interval_of_many_values_is_that_of_the_normal_distribution():
    values = np.random.default_rng(5).normal(10, 1, 2000)
    found = ratio_of_means(values, np.full(2000, 2.0), 0.95)
    half = 1.96 * np.std(values) / 2000**0.5 / 2
    assert found.value == pytest.approx(np.mean(values) / 2)
    assert found.high - found.value == pytest.approx(half, rel=0.05)
    assert found.value - found.low == pytest.approx(half, rel=0.05)


def test_the_fewest_values_for_an_interval_of_the_median():
    # 2^(1 - n) is at most 0.05 from n = 6 on, at most 0.01 from n = 8, at most 0.5 from n = 2.
    assert [least(confidence) for confidence in (0.95, 0.99, 0.5)] == [6, 8, 2]
    five = median(numbers(1, 2, 3, 4, 5), 0.95)
    assert five[:4] == (5, 3, None, None)
    assert five.p == 2 / 2**5
    six = median(numbers(1, 2, 3, 4, 5, 6), 0.95)
    assert 1 <= six.low < 3 < 4 < six.high <= 6
    assert six.p == 2 / 2**6


def test_medians_of_little():
    assert median(numbers(), 0.95) == Interval(0, None, None, None, None)
    assert median(numbers(NAN, 7), 0.95) == Interval(1, 7, None, None, None)
    assert median(np.full(4, 0.1), 0.95) == Interval(4, 0.1, 0.1, 0.1, 0)
    assert median(np.zeros(4), 0.95) == Interval(4, 0, 0, 0, 1)


def test_a_median_among_equal_values_has_an_interval():
    # The median is the same without any one value: there is no acceleration.
    found = median(numbers(1, 2, 2, 2, 2, 2, 3, 3), 0.95)
    assert found.low <= 2 <= found.high
    assert np.isfinite([found.low, found.high]).all()


def test_sign_test_by_hand():
    # 9 of 10 on one side: 2 (1 + 10) / 2^10. The zero does not count.
    assert sign_test(numbers(1, 2, 3, 4, 5, 6, 7, 8, 9, -1, 0)) == pytest.approx(22 / 1024)
    assert sign_test(numbers(1, -1)) == 1
    assert sign_test(np.zeros(3)) == 1


def test_pairs_are_resampled_together():
    # The channel decides nearly everything. The ratio is nearly 1.2 in each pair.
    channel = np.array([1, 5, 20, 2, 9, 40, 3, 15, 7, 30], dtype=float)
    one = 1.2 * channel * (1 + 0.01 * np.array([1, -1, 1, -1, 1, -1, 1, -1, 1, -1]))
    apart = ratio_of_means(one, channel, 0.95, is_paired=False)
    together = ratio_of_means(one, channel, 0.95)
    assert together.high - together.low < 0.05 < 1 < apart.high - apart.low
    assert together.low < 1.2 < together.high


def test_ratios_of_little():
    assert ratio_of_means(numbers(3, 6, 9), numbers(1, 2, 3), 0.95) == Interval(3, 3, 3, 3, None)
    assert ratio_of_means(numbers(3), numbers(2), 0.95) == Interval(1, 1.5, None, None, None)
    assert ratio_of_means(numbers(3, NAN), numbers(NAN, 2), 0.95) == Interval(0, None, None, None, None)
    assert ratio_of_means(numbers(1, 2), numbers(0, 0), 0.95) == Interval(2, None, None, None, None)
    assert ratio_of_medians(numbers(4, 4), numbers(2, 2, 2), 0.95, is_paired=False) == Interval(2, 2, 2, 2, None)
    # A divisor that may be zero gives no bounds.
    found = ratio_of_means(np.arange(8.0), numbers(-1, 2, 3, 4, 5, 6, 7, 8), 0.95)
    assert found.value is not None
    assert found.low is found.high is None


# Effects


def test_effects_by_hand():
    # Differences 1 to 5: 3 / sqrt(2.5), times Γ(2) / (sqrt(2) Γ(1.5)) = 0.797885.
    kind, value, magnitude = hedges_paired(numbers(11, 22, 33, 44, 55), numbers(10, 20, 30, 40, 50))
    assert (kind, magnitude) == ("Hedges' g_z", "large")
    assert value == pytest.approx(3 / 2.5**0.5 * 0.797885, abs=1e-5)
    # Means 4 and 2, variances 4 and 1: 2 / sqrt(2.5), with 4 degrees of freedom as well.
    assert hedges(numbers(2, 4, 6), numbers(1, 2, 3)).value == pytest.approx(2 / 2.5**0.5 * 0.797885, abs=1e-5)
    # Of nine pairs, one is larger, two are equal, six are smaller.
    assert cliff(numbers(1, 2, 3), numbers(2, 3, 4)).value == pytest.approx((1 - 6) / 9)
    assert cliff(numbers(5, 6, NAN), numbers(1, 2)) == ("Cliff's delta", 1, "large")


def test_the_correction_for_small_samples_is_near_its_usual_approximation():
    # Hedges 1981, eq. (6e) against 1 - 3 / (4 m - 1).
    rng = np.random.default_rng(6)
    one, other = rng.normal(1, 1, 15), rng.normal(0, 1, 12)
    pooled = np.sqrt((14 * np.var(one, ddof=1) + 11 * np.var(other, ddof=1)) / 25)
    wanted = (one.mean() - other.mean()) / pooled * (1 - 3 / (4 * 25 - 1))
    assert hedges(one, other).value == pytest.approx(wanted, rel=1e-3)


def test_the_corrected_effect_is_unbiased():
    rng = np.random.default_rng(7)
    found = [hedges_paired(rng.normal(0.5, 1, 5), np.zeros(5)).value for _ in range(20_000)]
    assert np.mean(found) == pytest.approx(0.5, abs=0.01)


def test_effects_without_spread_or_values():
    assert hedges_paired(numbers(1, 2, 3), numbers(1, 2, 3)) == ("Hedges' g_z", 0, "negligible")
    assert hedges_paired(numbers(2, 3, 4), numbers(1, 2, 3)) == ("Hedges' g_z", None, None)
    assert hedges_paired(numbers(2, 5), numbers(1, 2)).value is None
    assert hedges(numbers(1), numbers(1, 2)).value is None
    assert hedges(numbers(2, 2, 2), numbers(1, 1, 1)).value is None
    assert cliff(numbers(), numbers(1)).value is None


@pytest.mark.parametrize(
    ("delta", "word"), [(0.1, "negligible"), (0.2, "small"), (0.4, "medium"), (0.5, "large"), (-0.6, "large")]
)
def test_magnitudes_in_words(delta, word):
    # A shift by s of the values 0 to 99 makes delta nearly 1 - (1 - s / 100)².
    values = np.arange(100.0)
    shifted = values + np.sign(delta) * (1 - np.sqrt(1 - abs(delta))) * 100
    assert cliff(shifted, values).value == pytest.approx(delta, abs=0.02)
    assert cliff(shifted, values).magnitude == word


# Corrections


def test_benjamini_hochberg_as_documented():
    # The example of 1995, as in the documentation of scipy.stats.false_discovery_control.
    p = [0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459]
    p += [0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.000]
    wanted = [0.0015, 0.003, 0.0095, 0.035625, 0.0603, 0.06385714, 0.06385714, 0.0645, 0.0765]
    wanted += [0.486, 0.58118182, 0.714875, 0.75323077, 0.81321429, 1]
    assert benjamini_hochberg(p) == pytest.approx(wanted)
    assert benjamini_hochberg([None, 0.04, None, 0.01]) == [None, 0.04, None, 0.02]
    assert benjamini_hochberg([None]) == [None]


def test_corrections_by_name():
    p = [0.01, 0.04, None, 0.03]
    assert adjust_p(p, "holm") == pytest.approx([0.03, 0.06, None, 0.06])
    assert adjust_p(p, "bh") == pytest.approx([0.03, 0.04, None, 0.04])
    assert adjust_p(p, "none") == p


# Warm-up


def test_mser_by_hand():
    # Without the 9, ten values have the sum of squares 2.5: 2.5 / 10² = 0.025. Without the next value: 20/9 / 9² =
    # 0.0274.
    found = mser(np.arange(11.0), numbers(9, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2), batch=1)
    assert found == (1, 1.5, 1, 10, "")


def test_mser_finds_a_known_transient():
    rng = np.random.default_rng(8)
    times = 0.1 * np.arange(1, 2001)
    # As in slow start: from 0 to 100 in 300 values.
    values = np.minimum(times / 30, 1) * 100 + rng.normal(0, 5, 2000)
    found = mser(times, values)
    assert 250 <= found.removed <= 350
    assert found.cut_s == pytest.approx(0.1 * (found.removed + 1))
    assert found.mean == pytest.approx(100, abs=0.5)
    assert values.mean() < 93


def by_definition(values):
    """Return the cut of MSER-5 among those that leave a quarter and five batches, by two passes over each remainder."""
    means = values.reshape(-1, 5).mean(axis=1)
    rests = [means[cut:] for cut in range(len(means)) if len(means) - cut >= max(5, len(means) / 4)]
    return 5 * int(np.argmin([np.sum((rest - rest.mean()) ** 2) / len(rest) ** 2 for rest in rests]))


def noise(rng, count, last=0.0):
    """Return values that are each half of the value before, plus noise: their standard deviation is 1."""
    values = []
    for new in rng.normal(0, 0.75**0.5, count):
        values.append(last := 0.5 * last + new)
    return np.array(values)


def test_mser_is_its_definition():
    rng = np.random.default_rng(11)
    for count in (60, 200, 1000):
        for _ in range(20):
            values = noise(rng, count) - 5 * np.exp(-np.arange(count) / rng.uniform(1, 100))
            found, cut = mser(np.arange(1.0 * count), values), by_definition(values)
            assert found.removed == cut
            assert (found.mean is None) == (2 * cut >= count)


def test_mser_covers_the_truth_after_a_known_transient():
    rng = np.random.default_rng(12)
    times, found = np.arange(2000.0), []
    for _ in range(200):
        found.append(steady(times, 100 + noise(rng, 2000) - 20 * np.exp(-times / 50)))
    # 20 falls below a tenth of the standard deviation after 265 values.
    assert all(100 <= each.removed <= 500 for each in found)
    assert 0.9 < np.mean([each.low <= 100 <= each.high for each in found]) < 0.98


def test_mser_is_not_misled_by_a_flat_end():
    # As in a goodput that repeats: the last values are equal, and would have no spread.
    values = np.tile(np.repeat([9.0, 10.0, 11.0], 40), 10)
    values[:20] = 0
    assert mser(np.arange(1200.0), values).removed == 20


@pytest.mark.parametrize("count", [100, 1000])
def test_mser_refuses_a_series_that_changes_late_or_always(count):
    rng, times = np.random.default_rng(13), np.arange(1.0 * count)
    for values in (20 * times / count, 10 * (times > 0.6 * count), 10 * (times > 0.7 * count)):
        assert mser(times, values + noise(rng, count)).mean is None


def test_mser_leaves_a_steady_series_nearly_whole():
    rng = np.random.default_rng(9)
    removed = [mser(np.arange(1000.0), rng.normal(size=1000)).removed for _ in range(50)]
    assert np.median(removed) < 100


def test_mser_refuses_what_never_settles():
    found = mser(np.arange(200.0), np.arange(200.0))
    assert found.mean is found.cut_s is None
    assert "settles only in the second half" in found.refusal
    assert "at least 50 are needed" in mser(np.arange(49.0), np.ones(49)).refusal


def test_mser_of_a_constant_series_keeps_all():
    assert mser(np.arange(60.0), np.full(60, 0.1)).removed == 0


def test_a_fixed_warm_up():
    # Values have the times of their intervals' ends: the value at 2 s is about the time before.
    assert cut_early(numbers(1, 2, 3, 4), numbers(9, 9, 1, 2), 2) == (3, 1.5, 2, 2, "")
    assert cut_early(numbers(1, 2), numbers(1, 2), 2) == (None, None, 2, 0, "there is nothing after 2 s")


def test_batch_means_by_hand():
    # Batches 1 to 10: mean 5.5, s = 3.027650, t(9, 0.975) = 2.262157. Always rising: 57.75 / 82.5.
    found, correlation, note = batch_means(np.repeat(np.arange(1.0, 11), 2), 0.95)
    assert found.mean == 5.5
    assert found.half_width == pytest.approx(2.262157 * 3.027650 / 10**0.5, abs=1e-5)
    assert correlation == pytest.approx(0.7)
    assert "too narrow" in note


def test_batch_means_cover_what_they_promise_where_single_values_do_not():
    rng = np.random.default_rng(10)
    count, hits, naive, noted = 400, [], [], 0
    for _ in range(count):
        # Each value is 0.9 of the value before, plus noise: the correlation lasts about ten values.
        values = np.empty(2000)
        last = rng.normal() / (1 - 0.81) ** 0.5
        for place, new in enumerate(rng.normal(size=2000)):
            values[place] = last = 0.9 * last + new
        found, _, note = batch_means(values, 0.95)
        hits.append(found)
        naive.append(estimate(values, 0.95))
        noted += bool(note)
    assert 0.92 < coverage(hits, 0) < 0.97
    assert coverage(naive, 0) < 0.5
    assert noted / count < 0.15


def test_steady_of_little():
    short = steady(np.arange(1.0, 11), np.arange(10.0), after=2)
    assert (short.mean, short.low, short.kept) == (5.5, None, 8)
    assert "too few" in short.note
    assert steady(np.empty(0), np.empty(0)).mean is None
    assert steady(np.empty(0), np.empty(0), after=0).mean is None


def test_a_value_that_holds_is_averaged_over_time():
    # 2 until 1.5, then 4: in the second interval half of each.
    times, values = levels(numbers(0, 1.5), numbers(2, 4), 1, 3)
    assert times.tolist() == [1, 2, 3]
    assert values.tolist() == [2, 3, 4]
    # The first value is at 0.7, so the interval from 1 on is the first known interval.
    assert levels(numbers(0.7), numbers(5), 1, 3.2)[0].tolist() == [2, 3]
    assert levels(np.empty(0), np.empty(0), 1, 3)[0].size == 0
    assert levels(numbers(2.5), numbers(5), 1, 3)[0].size == 0


def test_the_steady_part_of_a_run(small):
    scenario = bp.load(small, {"duration": "120 s"})
    result = bp.run(scenario, series=["goodput_bps", "cwnd_bytes", "queue_bytes"])
    found = result.steady("goodput_bps", flow="bulk")
    rows = result.series("goodput_bps", flow="bulk").filter(pl.col("time_s") >= found.from_s)
    assert found.low < found.mean < found.high
    assert found.to_s == 120
    assert found.mean == pytest.approx(rows["goodput_bps"].mean(), rel=0.01)
    after = result.steady("goodput_bps", flow="bulk", after=20)
    assert after.from_s == pytest.approx(20.1)
    assert after.removed == 200
    # By time, not by row: the window changes often when it is large.
    window = result.steady("cwnd_bytes", flow="bulk", after=20)
    assert 0 < window.mean < result.series("cwnd_bytes", flow="bulk")["cwnd_bytes"].max()
    assert result.steady("queue_bytes", link="down.forward", after=20, confidence=0.5).mean > 0


def test_the_steady_part_of_the_documented_runs():
    # docs/concepts/statistics.md, section Warm-up.
    found = bp.run(bp.load("geo", {"duration": "600 s"}), series=["goodput_bps"]).steady("goodput_bps")
    assert (found.from_s, round(found.mean / 1e6, 1), found.note) == (4.1, 18.9, "")
    first, second = (
        bp.run(bp.load("leo", {"duration": "600 s"}), seed=seed, series=["goodput_bps"]) for seed in (1, 2)
    )
    assert "only in the second half" in first.steady("goodput_bps").note
    found = second.steady("goodput_bps")
    assert (found.from_s, round(found.mean / 1e6, 1), found.note) == (6.6, 96.4, "")
    growing = bp.load("geo", {"duration": "600 s", "tcp.cc": "ledbat"})
    assert "only in the second half" in bp.run(growing, series=["goodput_bps"]).steady("goodput_bps").note


def test_the_steady_part_ends_with_the_flow(small):
    result = bp.run(bp.load(small), series=["goodput_bps"])
    row = result.flows.row(by_predicate=pl.col("flow") == "file", named=True)
    found = result.steady("goodput_bps", flow="file", after=0)
    assert row["start_s"] < found.from_s < row["start_s"] + 0.3
    assert found.to_s <= row["start_s"] + row["completion_s"] + 1e-9
    assert found.mean == pytest.approx(200_000 * 8 / row["completion_s"], rel=0.1)


def test_what_has_no_steady_part_is_said(small):
    result = bp.run(bp.load(small), series=["goodput_bps"])
    for asked, text in (
        ({}, "of several flows"),
        ({"flow": "bluk"}, "did you mean 'bulk'"),
        ({"flow": "bulk", "after": "meser"}, "expected 'mser' or a number"),
        ({"flow": "bulk", "after": -1}, "at least 0"),
        ({"flow": "bulk", "after": NAN}, "at least 0"),
        ({"flow": "bulk", "confidence": 95}, "did you mean 95 %"),
    ):
        with pytest.raises(BentpipeError, match=text):
            result.steady("goodput_bps", **asked)
    with pytest.raises(BentpipeError, match="not a series that was recorded"):
        result.steady("cwnd_bytes", flow="bulk")


def test_quantiles_of_histograms_are_not_more_certain_than_half_a_bin():
    runs = pl.DataFrame({"replication": range(10), COLUMNS["rtt"]: [0.545] * 10})
    columns = {name: runs[name].to_numpy().astype(float) for name in runs.columns}
    rtt, goodput = METRICS["rtt"], METRICS["goodput"]
    found = Sample.from_columns(rtt, columns).estimate(of=rtt)
    # Bins are 1/64 wide in relation to the beginning of their octave, or less.
    assert found.high - found.low == pytest.approx(2 * 0.545 / 128)
    assert Sample.from_values(numbers(*[0.545] * 10)).estimate(of=goodput).half_width == 0
    # A difference below half a bin is not shown, also if it is equal in all replications.
    for apart, is_shown in ((0.004, False), (0.005, True)):
        one = numbers(*[0.545 + apart] * 10) + np.arange(10) * 1e-9
        (judged,) = differences([(one, numbers(*[0.545] * 10))], metric=rtt)
        assert judged.is_shown == is_shown
        assert (judged.low <= 0 <= judged.high) != is_shown


@pytest.mark.parametrize("correction", ["holm", "bh", "none"])
@pytest.mark.parametrize("statistic", ["mean"])
def test_corrected_intervals_agree_with_their_tests(correction, statistic):
    rng = np.random.default_rng(5)
    judgement = Judgement(statistic, correction=correction)
    shown = 0
    for _ in range(200):
        pairs = [(rng.normal(effect, 1, 8), rng.normal(0, 1, 8)) for effect in (0, 1, 1.5, 2)]
        for each in differences(pairs, judgement):
            low, high = each.corrected
            assert (low <= 0 <= high) != each.is_shown
            assert low <= each.low + 1e-12
            assert high >= each.high - 1e-12
            shown += bool(each.is_shown)
    assert 100 < shown < 700


def test_differences_of_times_are_at_most_all_of_the_time():
    # 97 % less, s of a tenth of the base: Student's interval has more than 100 %.
    other = numbers(1.0, 1.2, 0.8)
    (found,) = differences([(other * 0 + numbers(0.03, 0.035, 0.025), other)])
    assert found.percent(found.low) == -100
    assert statement("a", "b", found, METRICS["completion"]).startswith(
        "a is faster than b in completion: 97 % (49 to 100 %)"
    )


# Sentences


def difference(percent, half_width=None, *, shown=True, count=10, statistic="mean", high=None):
    low, high = (None, None) if half_width is None else (percent - half_width, high or percent + half_width)
    effect = Effect("Hedges' g_z", None, None)
    return Difference(statistic, count, percent, low, high, 100.0, None, None, effect, shown)


NOTHING = difference(1, 3, shown=False)
MISSING = difference(None, shown=None, count=0)


def said(by_condition, **options):
    return sentence("westwood", "newreno", by_condition, GOODPUT, **options)


def test_several_conditions_in_one_sentence():
    assert (
        said({"1e-2": difference(31, 40), "1e-5": NOTHING})
        == "westwood gets 31 % (±40 %) more goodput than newreno at 1e-2; no difference can be shown at 1e-5"
    )
    assert said({"1e-6": NOTHING, "1e-5": NOTHING}) == (
        "no difference in goodput can be shown between westwood and newreno at 1e-6 and 1e-5"
    )


def test_conditions_with_equal_outcomes_are_named_together():
    conditions = {
        "1e-6": NOTHING,
        "1e-5": NOTHING,
        "1e-4": NOTHING,
        "1e-3": difference(-5, 1),
        "2e-3": difference(31, 4),
        "5e-3": difference(12, 2),
        "1e-2": difference(31, 4),
        "2e-2": NOTHING,
        "1e-1": MISSING,
    }
    assert said(conditions) == (
        "westwood gets 5.0 % (±1.0 %) less goodput than newreno at 1e-3; "
        "31.0 % (±4.0 %) more at 2e-3 and 1e-2 and 12.0 % (±2.0 %) at 5e-3; "
        "no difference can be shown at 1e-6 to 1e-4 and 2e-2; no replication has a goodput of both at 1e-1"
    )
    assert said({"red": NOTHING, "codel": NOTHING, "pie": NOTHING}, preposition="with").endswith(
        "with red, codel and pie"
    )
    assert said({"1e-1": MISSING}) == "westwood and newreno cannot be compared: no replication has a goodput of both"


@pytest.mark.parametrize(
    ("metric", "percent", "words"),
    [
        ("completion", -93, "a is faster than b in completion: 93.0 % (±4.0 %) less time"),
        ("rtt", 40, "a is slower than b in rtt: 40.0 % (±4.0 %) more time"),
        ("fct", 200, "a is slower than b in fct: 3.00 times (+200.0 s, ±4.0 s) the time"),
        ("goodput", 99, "a gets 99.0 % (±4.0 %) more goodput than b"),
        ("goodput", 100, "a gets 2.00 times (+100.0 bit/s, ±4.0 bit/s) the goodput of b"),
        ("lost", 200, "a is at 3.00 times (+200.0, ±4.0) that of b in lost"),
        ("lost", -50, "a is 50.0 % (±4.0 %) below b in lost"),
        ("app_limited", 20, "a is 20.0 % (±4.0 %) above b in app_limited"),
    ],
)
def test_times_are_faster_and_rates_are_more(metric, percent, words):
    assert statement("a", "b", difference(percent, 4), find_metric(metric)) == words


def test_directions_of_several_conditions_in_words():
    conditions = {"x": difference(-5, 1), "y": difference(31, 4), "z": difference(200, 10)}
    assert sentence("a", "b", conditions, find_metric("completion")) == (
        "a is faster than b in completion: 5.0 % (±1.0 %) less time at x; slower: 31.0 % (±4.0 %) more time at y; "
        "slower: 3.00 times (+200 s, ±10 s) the time at z"
    )
    assert sentence("a", "b", conditions, GOODPUT) == (
        "a gets 5.0 % (±1.0 %) less goodput than b at x; 31.0 % (±4.0 %) more at y; "
        "3.00 times (+200 bit/s, ±10 bit/s) as much at z"
    )


def test_medians_in_words():
    # Not symmetric, so the sentence has both ends.
    found = difference(31, 3, statistic="median", high=39)
    assert statement("a", "b", found, GOODPUT) == "a gets 31.0 % (28.0 to 39.0 %) more goodput (median) than b"
    below = difference(-31, 8, statistic="median", high=-28)
    assert statement("a", "b", below, GOODPUT) == "a gets 31.0 % (28.0 to 39.0 %) less goodput (median) than b"
    few = difference(31, statistic="median", count=3)
    assert (
        statement("a", "b", few, GOODPUT) == "a gets 31.0 % (too few runs for an interval) more goodput (median) than b"
    )


def test_conditions_are_corrected_together():
    rng = np.random.default_rng(11)
    samples = [(rng.normal(10 + shift, 1, 8), rng.normal(10, 1, 8)) for shift in (0, 0.5, 1, 5)]
    alone = [differences([pair])[0] for pair in samples]
    together = differences(samples)
    assert [each.p for each in together] == [each.p for each in alone]
    assert together[3].p_adjusted == pytest.approx(4 * alone[3].p)
    assert [each.is_shown for each in together] == [each.p_adjusted < 0.05 for each in together]
    assert [together[0].is_shown, together[3].is_shown] == [False, True]
    assert differences(samples, Judgement(correction="none"))[3].p_adjusted == alone[3].p
    assert differences(samples, Judgement("median"))[3].effect.kind == "Cliff's delta"


# Comparisons


def by_hand(small, statistic="mean", correction="holm", **values):
    runs = [
        {"of": cc, "replication": k, "seed": 3 + k} | dict.fromkeys(COLUMNS.values(), 1.0) | {"goodput_bps": v}
        for cc, column in values.items()
        for k, v in enumerate(column)
    ]
    return Comparison(
        bp.load(small), tuple(values), pl.DataFrame(runs), "goodput", "1", Judgement(statistic, 0.95, correction)
    )


def test_medians_are_not_moved_by_one_run(small):
    # One replication of `a` failed: in the means it hides the difference that the medians show.
    a, b = [110, 121, 109, 120, 111, 119, 110, 120, 0.0], [100, 110, 100, 110, 100, 110, 100, 110, 100]
    means, medians = by_hand(small, a=a, b=b), by_hand(small, "median", a=a, b=b)
    assert means.statements == ["no difference in goodput can be shown between b and a"]
    (text,) = medians.statements
    assert text.startswith("a gets 10.0 % (")
    assert text.endswith("more goodput (median) than b")
    row = medians.differences.row(0, named=True)
    assert row["median"] == 10
    assert row["median_pct"] == 10
    assert row["low_pct"] < 10 < row["high_pct"]
    # 8 of 9 above.
    assert row["p"] == pytest.approx(20 / 512)
    assert (row["effect"], row["magnitude"]) == (cliff(numbers(*a), numbers(*b)).value, "large")
    assert medians.estimate("a", "goodput").value == 111
    assert "median" in medians.table.columns
    assert "medians of 9 replications" in medians.plot().get_suptitle()


def test_too_few_replications_for_medians_are_said(small):
    comparison = by_hand(small, "median", a=[2, 4, 6, 8.0], b=[1, 2, 3, 5.0])
    assert comparison.statements == [
        "too few replications: medians need at least 6 for intervals of 95 %",
        "no difference in goodput (median) can be shown between a and b",
    ]


def test_the_correction_can_be_chosen(small):
    rng = np.random.default_rng(12)
    values = {name: rng.normal(100 + shift, 3, 10) for name, shift in (("a", 0), ("b", 4), ("c", 5), ("d", 9))}
    found = {
        name: by_hand(small, "mean", name, **values).differences.filter(pl.col("metric") == "goodput")
        for name in ("holm", "bh", "none")
    }
    assert found["none"]["p_adjusted"].equals(found["none"]["p"])
    assert (found["bh"]["p_adjusted"] <= found["holm"]["p_adjusted"]).all()
    assert (found["bh"]["p_adjusted"] >= found["bh"]["p"]).all()
    assert found["none"]["is_shown"].sum() >= found["bh"]["is_shown"].sum() >= found["holm"]["is_shown"].sum() > 0


def test_differences_have_effect_sizes(small):
    row = by_hand(small, a=[11, 22, 33, 44, 55], b=[10, 20, 30, 40, 50]).differences.row(0, named=True)
    assert row["effect"] == pytest.approx(3 / 2.5**0.5 * 0.797885, abs=1e-5)
    assert row["magnitude"] == "large"
    assert row["low_pct"] == pytest.approx(100 * row["low"] / 30)


def test_comparisons_by_other_names_are_refused(small):
    with pytest.raises(BentpipeError, match="did you mean 'median'"):
        bp.compare(small, "reno", statistic="medain")
    with pytest.raises(BentpipeError, match=r"(?s)not a correction.*holm, bh, none"):
        bp.compare(small, "reno", correction="bonferroni")


def test_a_comparison_by_medians_is_kept_as_one(small, tmp_path):
    comparison = bp.compare(small, ["reno", "tahoe"], replications=6, statistic="median", correction="bh", jobs=1)
    assert comparison.to_dict()["provenance"]["statistic"] == "median"
    assert comparison.to_dict()["provenance"]["correction"] == "bh"
    again = bp.compare(small, ["reno", "tahoe"], replications=6, statistic="median", correction="bh", jobs=3)
    assert comparison.to_dict() == again.to_dict()
    comparison.save(tmp_path / "a")
    assert "median_pct" in pl.read_parquet(tmp_path / "a" / "differences.parquet").columns
