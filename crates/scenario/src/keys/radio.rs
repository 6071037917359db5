//! Radio links and the air on their path.

use super::way::WayPoint;
use bentpipe_model::spec::{Acm, Losses, Modcod};
use bentpipe_units::settings::{Angle, Baud, Level};
use bentpipe_units::{either, kinds, settings, words, Duration};
use std::collections::BTreeMap;

settings! {
    /// Clouds over all places.
    #[derive(Clone, Debug, PartialEq)]
    pub(crate) struct Clouds {
        /// Percentage of an average year in which clouds exceed the assumed attenuation. Default: the percentage of the
        /// rain, but at least 5 % (`P.618-14` §2.5) or 1 % (`P.618-13`); without rain, 1 %.
        percent: Option<f64>, [1.0, 50.0];
    }
}

words! {
    /// Edition of ITU-R P.618. Both editions have the same rain, scintillation and sum of all parts.
    pub(crate) enum Recommendation {
        /// Edition of August 2023: rarer rain comes with the gases and clouds that are exceeded in 5 % of the year.
        "P.618-14" => P618_14,
        /// Edition of December 2017: rarer rain comes with the gases and clouds that are exceeded in 1 % of the year.
        "P.618-13" => P618_13,
    }
}

settings! {
    /// Scintillation over all places. The sum with rain and clouds is sqrt((rain + clouds)² + scintillation²).
    #[derive(Clone, Debug, PartialEq)]
    pub(crate) struct Scintillation {
        /// Percentage of an average year in which scintillation exceeds the assumed fade.
        percent: f64 = 1.0, [0.001, 50.0];
    }
}

settings! {
    /// Transmitter, receiver and modem of a radio link. The link's rate must be constant. With `dvb-s2`, the symbol
    /// rate replaces it. In a medium, the radio provides only `es_n0`.
    #[derive(Clone, Debug, PartialEq)]
    pub(crate) struct Radio {
        /// Carrier frequency in GHz.
        frequency_ghz: f64, [1.0, 350.0];
        /// Effective isotropic radiated power in dBW.
        eirp_dbw: f64, [-100.0, 200.0];
        /// Gain of the receiver over its noise temperature (G/T) under a clear sky, in dB/K.
        g_over_t_db_k: f64, [-100.0, 200.0];
        /// Noise temperature of the receiver under a clear sky, in K. On the ground it rises with rain and clouds,
        /// which make the sky warmer (ITU-R P.618-14 §3). A satellite sees the warm Earth in any weather.
        noise_k: f64 = 200.0, [10.0, 100_000.0], "reading: a small terminal";
        /// Symbol rate of `modem = "dvb-s2"`, required there in place of a bit rate. Modulation and code define the
        /// bits per symbol.
        symbol_rate: Option<Baud>;
        /// Polarisation. Rain attenuates horizontal waves most and vertical waves least.
        polarisation: Polarisation = Polarisation::Kind(PolarisationKind::Circular);
        /// Other losses of the signal in dB: pointing, polarisation, feeders.
        losses: Level = Level(0.0);
        /// Carrier-to-interference ratio in dB, for interference from other satellites, beams and polarisations. Its
        /// bandwidth is that of the symbols (of QPSK symbols with `convolutional` and `ldpc`). Default: no
        /// interference.
        c_over_i: Option<Level>;
        /// Diameter of the ground antenna in m, which averages scintillation. Its efficiency is 0.5.
        antenna_m: f64 = 0.6, [0.0, 100.0];
        /// Modem: modulation and code. Required, except in a medium and on a link that contributes only its noise.
        modem: Option<Modem>;
    }
}

either! {
    /// Polarisation of a radio link.
    #[derive(Clone, Debug, PartialEq)]
    pub(crate) enum Polarisation {
        /// Polarisation by name.
        Kind(PolarisationKind);
        /// Linear polarisation, tilted to the horizontal by this angle, at most 90 deg.
        Tilt(Angle);
    }
}

impl Polarisation {
    /// Returns the tilt to the horizontal in degrees. Circular polarisation counts as 45 (P.838-3).
    pub(crate) fn tilt_deg(&self) -> f64 {
        match self {
            Self::Kind(PolarisationKind::Horizontal) => 0.0,
            Self::Kind(PolarisationKind::Vertical) => 90.0,
            Self::Kind(PolarisationKind::Circular) => 45.0,
            Self::Tilt(angle) => angle.0,
        }
    }
}

words! {
    /// Polarisation by name.
    pub(crate) enum PolarisationKind {
        /// Linear, parallel to the ground.
        "horizontal" => Horizontal,
        /// Linear, in the plane of the ray and the vertical.
        "vertical" => Vertical,
        /// Circular.
        "circular" => Circular,
    }
}

kinds! {
    /// Modem: modulation and code.
    #[derive(Clone, Debug, PartialEq)]
    pub(crate) enum Modem as "Modem", "a modem" {
        /// No code: bits have the error probability of the modulation.
        "uncoded" => Uncoded {
            /// Modulation of the carrier.
            modulation: Modulation = Modulation::Qpsk;
        };
        /// Convolutional code of rate 1/2. Packets get half of the link's rate.
        "convolutional" => Convolutional;
        /// Low-density parity-check code with blocks of 1024 bits. Packets get `code_rate` of the link's rate.
        "ldpc" => Ldpc {
            /// Code rate: bits of packets per transmitted bit.
            code_rate: f64 = 0.5, [0.05, 1.0];
            /// Eb/N0 in dB at which half of the blocks are lost.
            threshold: Level = Level(2.2), "reading: for code_rate 0.5, not compared with the curves of CCSDS";
            /// Steepness of the losses around the threshold in 1/dB: a in erfc(a (Eb/N0 - threshold)) / 2.
            steepness: f64 = 3.0, [0.1, 100.0], "reading: not compared with the curves of CCSDS";
        };
        /// DVB-S2 modem with the radio's `symbol_rate`.
        "dvb-s2" => DvbS2 {
            /// Fixed modulation and code. Default: adaptive (`acm`).
            modcod: Option<Modcod>;
            /// Adaptation of modulation and code (ACM). Default without `modcod`: reports that are 40 ms old over a low
            /// orbit and 500 ms old over a geostationary orbit.
            acm: Option<Acm>;
            /// Loss of a real receiver against the ideal thresholds, in dB.
            implementation_loss: Level = Level(1.0), "ETSI TR 102 376-1";
            /// Block losses as a function of the signal.
            losses: Losses = Losses::Step;
        };
    }
}

words! {
    /// Modulation, Gray-coded.
    pub(crate) enum Modulation {
        /// 1 bit per symbol.
        "bpsk" => Bpsk,
        /// 2 bits per symbol.
        "qpsk" => Qpsk,
        /// 3 bits per symbol.
        "8psk" => Psk8,
        /// 4 bits per symbol, on two rings.
        "16apsk" => Apsk16,
    }
}

kinds! {
    /// Rain on radio links, by ITU-R P.618-13.
    #[derive(Clone, Debug, PartialEq)]
    pub(crate) enum Rain as "Rain", "a model of rain" {
        /// No rain.
        "none" => Off;
        /// Constant rain that is exceeded in a given share of an average year: the rain that a link of that
        /// availability must bear.
        "exceeded" => Exceeded {
            /// Percentage of an average year in which rain exceeds this intensity.
            percent: f64 = 0.1, [0.001, 5.0];
        };
        /// Rain that comes and goes over each place: a log-normal process that changes by 2e-4 per second (Maseng and
        /// Bakken 1981).
        "series" => Series {
            /// Percentage of the year in which it rains.
            rainy_percent: f64 = 5.0, [0.01, 99.0], "reading: P.837 has it by place";
        };
        /// Rain cell that passes over places. Its rain rate falls exponentially with the distance from the centre
        /// (EXCELL, Capsoni et al. 1987).
        "cell" => Cell {
            /// Rain rate at the centre in mm/h.
            rate_mm_h: f64, [0.0, 500.0];
            /// Distance in km at which the rain rate has fallen to 1/e.
            radius_km: f64, [0.1, 1000.0];
            /// Way of the centre, like that of a moving place.
            way: Vec<WayPoint>, [1];
        };
        /// Measured rain from files.
        "file" => Files {
            /// Rain series by name of the place. Other places have no rain.
            place: BTreeMap<String, Gauge>;
        };
    }
}

settings! {
    /// Rain over a place: a CSV file whose first column is the time, with the start of the run in the first row. Each
    /// row holds until the next row; the last row holds to the end.
    #[derive(Clone, Debug, PartialEq)]
    pub(crate) struct Gauge {
        /// CSV file beside the scenario or in a folder there.
        file: String;
        /// Name of the column: a rain rate if it ends in `_mm_h`, an attenuation if it ends in `_db`. A rain rate
        /// becomes attenuation by P.838-3 over the effective path of P.618-13 at that rate. Default: the only column
        /// beside the time.
        column: Option<String>;
        /// Time in the series at which the run begins.
        begin: Duration = Duration::ZERO;
        /// Period after which the series repeats. Default: no repetition.
        every: Option<Duration>;
        /// Carrier frequency of a measured attenuation in GHz. The attenuation is scaled to other carriers (P.618-13
        /// §2.2.1.3.1, 7 to 55 GHz). Default: every link of the place has the measured attenuation.
        frequency_ghz: Option<f64>, [7.0, 55.0];
    }
}
