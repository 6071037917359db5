"""Other libraries read results without loss: Arrow, pandas, DuckDB, xarray, and figures of the caller."""

import json

import numpy as np
import polars as pl
import pytest

import bentpipe as bp
from bentpipe.errors import BentpipeError


@pytest.fixture(scope="module")
def swept(lossy):
    """Return a sweep over a grid of two keys. A third key varies together with the second."""
    return bp.sweep(
        bp.loads(lossy),
        {"tcp.cc": ["cubic", "reno"]},
        together=[{"link.l.delay": ["5 ms", "10 ms", "20 ms"], "link.l.rate": ["1 Mbit/s", "2 Mbit/s", "3 Mbit/s"]}],
        replications=2,
        metric="goodput,rtt",
        progress=False,
    )


def test_each_result_is_a_stream_of_arrow(swept, lossy):
    pyarrow = pytest.importorskip("pyarrow")
    for result in (swept, bp.run(bp.loads(lossy), progress=False)):
        table = pyarrow.table(result)
        assert pl.from_arrow(table).equals(result.table, null_equal=True)
        assert pl.DataFrame(result).equals(result.table, null_equal=True)
        assert table.to_pandas()["metric"].tolist() == result.table["metric"].to_list()


def test_duckdb_reads_a_result_by_name(swept):
    duckdb = pytest.importorskip("duckdb")
    found = duckdb.sql("select max(mean) from swept where metric = 'goodput'").fetchall()
    assert found == [(swept.table.filter(metric="goodput")["mean"].max(),)]


def test_an_array_has_a_dimension_for_each_key_that_varies_alone(swept):
    xr = pytest.importorskip("xarray")
    found = swept.to_xarray()
    assert dict(found.sizes) == {"tcp.cc": 2, "link.l.delay": 3, "replication": 2}
    assert found["link.l.rate"].dims == ("link.l.delay",)
    assert found["link.l.rate"].values.tolist() == ["1 Mbit/s", "2 Mbit/s", "3 Mbit/s"]
    for row in swept.runs.iter_rows(named=True):
        at = {key: row[key] for key in ("tcp.cc", "link.l.delay", "replication")}
        assert found.goodput.sel(at).item() == row["goodput_bps"]
    means = found.goodput.mean("replication").sel({"tcp.cc": "reno", "link.l.delay": "10 ms"})
    (point,) = swept.points.filter((pl.col("tcp.cc") == "reno") & (pl.col("link.l.delay") == "10 ms"))["point"]
    estimate = swept.estimates("goodput")[point]
    assert means.item() == pytest.approx(estimate.value)
    assert found.goodput.attrs["unit"] == "bit/s"
    assert "command" not in found.attrs
    assert (found.attrs["seed"], json.loads(found.attrs["metrics"])) == (1, ["goodput", "rtt"])
    # All of it survives a file.
    again = xr.Dataset.from_dict(json.loads(json.dumps(found.to_dict())))
    xr.testing.assert_equal(again, found)


def test_an_array_knows_the_command_of_its_file(written):
    pytest.importorskip("xarray")
    found = bp.sweep(written, {"link.l.delay": ["5 ms", "10 ms"]}, replications=2, progress=False)
    assert found.to_xarray().attrs["command"] == found.command()
    assert "'link.l.delay=5 ms,10 ms'" in found.command()


def test_a_table_becomes_that_of_pandas_without_other_packages(swept):
    pandas = pytest.importorskip("pandas")
    if not hasattr(pandas.DataFrame, "from_arrow"):
        pytest.skip("pandas reads streams of Arrow from version 3 on")
    found = pandas.DataFrame.from_arrow(swept)
    assert list(found.columns) == swept.table.columns
    assert found["mean"].tolist() == pytest.approx(swept.table["mean"].to_list())


def test_runs_that_are_missing_are_not_a_number(swept, monkeypatch):
    pytest.importorskip("xarray")
    values = {point: found.copy() for point, found in swept.values("goodput").items()}
    values[0][1] = np.nan
    monkeypatch.setattr(type(swept), "values", lambda self, metric: values)
    found = swept.to_xarray().goodput
    assert np.isnan(found).sum() == 1
    assert np.isnan(found.sel({"tcp.cc": "cubic", "link.l.delay": "5 ms", "replication": 1}))


def test_without_xarray_the_error_names_the_package(swept, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "xarray", None)
    with pytest.raises(BentpipeError, match=r"pip install 'bentpipe\[xarray\]'"):
        swept.to_xarray()


@pytest.mark.parametrize("chart", ["lines", "map"])
def test_a_figure_takes_the_place_of_axes(lossy, chart):
    from matplotlib.figure import Figure

    grid = bp.sweep(
        bp.loads(lossy),
        {"link.l.delay": ["5 ms", "10 ms"], "link.l.rate": ["1 Mbit/s", "2 Mbit/s"]},
        replications=2,
        progress=False,
    )
    whole = Figure(layout="constrained")
    first, second = whole.subplots(1, 2)
    first.plot([1, 2])
    size = tuple(whole.get_size_inches())
    part = grid.plot(chart, axes=second, title="Mine")
    assert part in whole.subfigs
    assert second not in whole.axes
    assert first in whole.axes
    assert part.axes
    assert part.get_suptitle() == "Mine"
    assert tuple(whole.get_size_inches()) == size
    whole.canvas.draw()
    # The whole drawing is in the right half, the place of the axes.
    assert part.bbox.x0 >= 0.45 * whole.bbox.width
    assert all(axes.bbox.x0 >= part.bbox.x0 for axes in part.axes)
    # The next figure is separate.
    assert grid.plot(chart).subfigs == []


def test_axes_without_a_place_are_refused(swept):
    from matplotlib.figure import Figure

    with pytest.raises(BentpipeError, match="expected axes of a grid of matplotlib"):
        swept.plot(axes=Figure().add_axes((0, 0, 1, 1)))
    with pytest.raises(BentpipeError, match="expected axes of a grid of matplotlib"):
        swept.plot(axes="left")
    with pytest.raises(BentpipeError, match="leave size out"):
        swept.plot(axes=Figure().subplots(), size=(3, 3))


def test_an_estimate_is_a_number_in_a_text_and_words_in_a_notebook(swept):
    found = swept.estimates("goodput")[0]
    assert f"{found:.6e}" == f"{found.value:.6e}"
    assert f"{found}" == str(found)
    assert str(found).startswith(found._repr_html_().partition("</b>")[0].removeprefix("<b>"))
    assert f"{found._replace(mean=None):.3g}" == "-"
