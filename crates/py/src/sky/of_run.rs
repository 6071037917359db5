//! Sky of a scenario: its constellations, and the paths of its flows during a run.

use super::instants::Instants;
use super::PySky;
use bentpipe_orbit::sky::catalogue::Census;
use bentpipe_orbit::sky::places::{Place, Site};
use bentpipe_sim::scenario::{ConstellationOfRun, SkyOfRun};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

/// Returns `constellations` (`name`, `sky`, `step_s` and the `paths` of all pairs), `pairs` (`ends`, `flows` and the
/// constellations in `uses`) and `duration_s`.
pub(crate) fn of_run(py: Python<'_>, sky: SkyOfRun) -> PyResult<Bound<'_, PyDict>> {
    let (constellations, pairs) = (PyList::empty(py), PyList::empty(py));
    for constellation in sky.constellations {
        constellations.append(one(py, constellation)?)?;
    }
    for pair in sky.pairs {
        let found = PyDict::new(py);
        found.set_item("ends", pair.ends.to_vec())?;
        found.set_item("flows", pair.flows)?;
        found.set_item("uses", pair.uses)?;
        pairs.append(found)?;
    }
    let found = PyDict::new(py);
    found.set_item("constellations", constellations)?;
    found.set_item("pairs", pairs)?;
    found.set_item("duration_s", sky.duration_s)?;
    Ok(found)
}

fn one(py: Python<'_>, constellation: ConstellationOfRun) -> PyResult<Bound<'_, PyDict>> {
    let ConstellationOfRun { name, sky, zigzags, span, paths } = constellation;
    let tables = PyList::empty(py);
    for route in paths {
        tables.append(Instants::new(&sky, span, route).table(py)?)?;
    }
    // Name, degrees north and east and height at the start, whether it is a gateway, and whether it moves.
    let about = |place: &Place| {
        let at = place.site.at(0.0);
        let moves = matches!(place.site, Site::Moving(_));
        (place.name.clone(), at.latitude_deg, at.longitude_deg, at.height_km, place.relay, moves)
    };
    let places: Vec<_> = sky.places.iter().map(about).collect();
    let found = PyDict::new(py);
    found.set_item("name", name)?;
    found.set_item("step_s", span.step_s)?;
    found.set_item("places", places)?;
    found.set_item("paths", tables)?;
    found.set_item("sky", PySky { sky, zigzags, census: Census::default() })?;
    Ok(found)
}
