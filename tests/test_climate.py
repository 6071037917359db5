"""Air and rain at any place: those of ITU-R's maps, as the reference implementation finds them."""

import math
import random

import pytest

import bentpipe as bp
from bentpipe.sky.scenes import Scene

POINTS = 1000
RAY = {"frequency_ghz": 20.0, "elevation_deg": 35.0, "tilt_deg": 45.0, "antenna_m": 1.2}
PERCENT = 1.0


def attenuations(scene, latitude, longitude):
    """Gases, clouds and rain at a place, dB, by the core."""
    radio = (RAY["frequency_ghz"], 50.0, 10.0, 0.0, None, None)
    way = (("a place", (latitude, longitude, 0.0)), radio, RAY["elevation_deg"], PERCENT)
    air = (True, RAY["antenna_m"], RAY["tilt_deg"], False)
    lines = scene.core.budget([way], 1e6, 35786.0, air)[0]
    return {name.split()[0]: -value for name, value, _ in lines}


def ground_km(heights, latitude, longitude):
    """The height of the ground, from the package's map, whose points are a twelfth of a degree apart.

    A naive bicubic interpolation of ITU-R P.1144. The package's own takes them as 0.08333333 degrees apart.
    """

    def weight(d):
        d = abs(d)
        return 1.5 * d**3 - 2.5 * d**2 + 1 if d <= 1 else -0.5 * d**3 + 2.5 * d**2 - 4 * d + 2 if d <= 2 else 0

    row, column = (90.125 - latitude) * 12, (longitude + 180.125) * 12
    rows, columns = ([math.floor(at) + k for k in (-1, 0, 1, 2)] for at in (row, column))
    return max(sum(weight(row - r) * weight(column - c) * heights[r][c] for r in rows for c in columns) / 1000, 1e-9)


def test_any_place_has_the_attenuation_of_the_reference_implementation():
    itur = pytest.importorskip("itur", reason="the reference implementation, the package itur, is not installed")
    import numpy as np
    from itur.utils import dataset_dir

    heights = np.load(f"{dataset_dir}1511/v2_topo.npz")["arr_0"]
    dice = random.Random(618)
    latitudes = [math.degrees(math.asin(dice.uniform(-1, 1))) for _ in range(POINTS)]
    longitudes = [dice.uniform(-180, 180) for _ in range(POINTS)]
    ground = [ground_km(heights, *at) for at in zip(latitudes, longitudes, strict=True)]
    at, models = (np.array(latitudes), np.array(longitudes)), itur.models
    package = models.itu1511.topographic_altitude(*at).value
    assert max(abs(a - b) for a, b in zip(ground, package, strict=True)) < 5e-4
    hs, f, el = np.array(ground), RAY["frequency_ghz"], RAY["elevation_deg"]
    temperature = models.itu1510.surface_mean_temperature(*at).value
    vapour = models.itu836.total_water_vapour_content(*at, PERCENT, hs).value
    density = models.itu836.surface_water_vapour_density(*at, 50, hs).value
    pressure = 1013.25 * (1 - 6.5 * hs / 288.15) ** 5.2559
    rate = models.itu837.rainfall_rate(*at, 0.01).value
    reference = {
        "gases": models.itu676.gaseous_attenuation_slant_path(
            f, el, density, pressure, temperature, V_t=vapour, h=hs, mode="approx"
        ).value,
        "clouds": models.itu840.cloud_attenuation(*at, el, f, PERCENT).value,
        "rain": models.itu618.rain_attenuation(*at, f, el, hs=hs, p=PERCENT, R001=rate, tau=RAY["tilt_deg"]).value,
    }
    scene = Scene.from_places("geo:0E", ("Lagos",), start=None, elevation_min=None, bad="refuse")
    worst = dict.fromkeys(reference, 0.0)
    for number, (latitude, longitude) in enumerate(zip(latitudes, longitudes, strict=True)):
        ours = attenuations(scene, latitude, longitude)
        for name, values in reference.items():
            expected = float(values[number])
            worst[name] = max(worst[name], abs(ours[name] - expected) / (1e-6 * expected + 1e-6))
    assert max(worst.values()) < 1, worst


def test_a_budget_is_that_of_the_maps_at_any_place():
    given = {"over": "geo:25W", "frequency": 20, "eirp": 50, "g_over_t": 10, "percent": 0.01}
    rain = {}
    for place in ("5N 25W", "20N 25W"):
        found = bp.sky.budget(place, **given)
        line = found.lines.filter(line="rain", percent=0.01)
        rain[place] = -line["value"][0]
    # The doldrums, and the trades off Africa.
    assert rain["5N 25W"] > 10 + rain["20N 25W"]
    # An aircraft flies above the rain.
    high = bp.sky.budget((5.0, -25.0, 11.0), **given)
    assert high.lines.filter(line="rain", percent=0.01)["value"][0] == 0
