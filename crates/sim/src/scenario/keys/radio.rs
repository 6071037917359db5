//! Radio links, and the air that they cross.

use crate::spec::{Acm, Losses, Modcod};
use bentpipe_units::settings::{Angle, Baud, Level};
use bentpipe_units::{either, kinds, settings, words, Duration};
use std::collections::BTreeMap;

settings! {
    /// Clouds over all places.
    #[derive(Clone, Debug, PartialEq)]
    pub(crate) struct Clouds {
        /// Per cent of the year. Without it, the percentage of the rain, but at least 5 % (`P.618-14` §2.5) or 1 % (`P.618-13`); 1 % without rain.
        percent: Option<f64>, [1.0, 50.0];
    }
}

words! {
    /// Edition of ITU-R P.618. Rain, scintillation and the sum of all parts are the same in both.
    pub(crate) enum Recommendation {
        /// Edition of August 2023: gases and clouds that are exceeded in 5 % of the year come with rain that is rarer.
        "P.618-14" => P618_14,
        /// Edition of December 2017: gases and clouds that are exceeded in 1 % of the year.
        "P.618-13" => P618_13,
    }
}

settings! {
    /// Scintillation over all places. With rain and clouds it adds up as sqrt((rain + clouds)² + scintillation²).
    #[derive(Clone, Debug, PartialEq)]
    pub(crate) struct Scintillation {
        /// Of the year, per cent.
        percent: f64 = 1.0, [0.001, 50.0];
    }
}

settings! {
    /// A transmitter, a receiver, and how bits are sent. The link's rate is constant; with `dvb-s2` the symbol rate takes its place.
    #[derive(Clone, Debug, PartialEq)]
    pub(crate) struct Radio {
        /// Carrier, GHz.
        frequency_ghz: f64, [1.0, 350.0];
        /// Effective isotropic radiated power, dBW.
        eirp_dbw: f64, [-100.0, 200.0];
        /// Gain of the receiver over its noise temperature under a clear sky, dB/K.
        g_over_t_db_k: f64, [-100.0, 200.0];
        /// This noise temperature, K. The noise of a receiver on the ground rises as rain and clouds make the sky warmer (ITU-R P.618-14 §3); a satellite sees the warm Earth in any weather.
        noise_k: f64 = 200.0, [10.0, 100_000.0], "reading: a small terminal";
        /// Symbols per second of `modem = "dvb-s2"`, which needs it in place of a rate: modulation and code decide the bits of a symbol.
        symbol_rate: Option<Baud>;
        /// Polarisation: rain attenuates horizontal waves most, vertical ones least.
        polarisation: Polarisation = Polarisation::Kind(PolarisationKind::Circular);
        /// Everything else that the signal loses: pointing, polarisation, feeders.
        losses: Level = Level(0.0);
        /// Carrier over interference (other satellites and beams, the other polarisation), in the bandwidth of the symbols (those of QPSK with `convolutional` and `ldpc`). Without it, there is none.
        c_over_i: Option<Level>;
        /// Diameter of the antenna on the ground, which averages scintillation, m; its efficiency is 0.5.
        antenna_m: f64 = 0.6, [0.0, 100.0];
        /// How bits are sent.
        modem: Modem;
    }
}

either! {
    /// Polarisation.
    #[derive(Clone, Debug, PartialEq)]
    pub(crate) enum Polarisation {
        /// A word.
        Kind(PolarisationKind);
        /// Linear, tilted to the horizontal by this angle, up to 90 deg.
        Tilt(Angle);
    }
}

impl Polarisation {
    /// Tilt to the horizontal, degrees. Circular polarisation counts as 45 (P.838-3).
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
    /// Polarisation.
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
    /// How bits are sent.
    #[derive(Clone, Debug, PartialEq)]
    pub(crate) enum Modem as "Modem" {
        /// Without coding: bits are hit with the probability that the modulation has.
        "uncoded" => Uncoded {
            /// How bits become symbols.
            modulation: Modulation = Modulation::Qpsk;
        };
        /// By the convolutional code of rate 1/2. Packets have half of the link's rate.
        "convolutional" => Convolutional;
        /// By a low-density parity-check code with blocks of 1024 bits. Packets have `code_rate` of the link's rate.
        "ldpc" => Ldpc {
            /// Bits of packets in a bit that is sent.
            code_rate: f64 = 0.5, [0.05, 1.0];
            /// The Eb/N0 at which half of the blocks are lost.
            threshold: Level = Level(2.2), "reading: for code_rate 0.5, not compared with the curves of CCSDS";
            /// How steep losses are around it, a in erfc(a (Eb/N0 - threshold)) / 2, per dB.
            steepness: f64 = 3.0, [0.1, 100.0], "reading: not compared with the curves of CCSDS";
        };
        /// DVB-S2, with the radio's `symbol_rate`.
        "dvb-s2" => DvbS2 {
            /// Modulation and code, always the same. Without it they adapt.
            modcod: Option<Modcod>;
            /// How they adapt. Without it and without `modcod`, with reports that are 40 ms old over a low orbit and 500 ms over a geostationary one.
            acm: Option<Acm>;
            /// What a real receiver needs beyond the ideal thresholds.
            implementation_loss: Level = Level(1.0), "ETSI TR 102 376-1";
            /// How losses depend on the signal.
            losses: Losses = Losses::Step;
        };
    }
}

words! {
    /// How bits become symbols, Gray-coded.
    pub(crate) enum Modulation {
        /// One bit in a symbol.
        "bpsk" => Bpsk,
        /// Two bits.
        "qpsk" => Qpsk,
        /// Three bits.
        "8psk" => Psk8,
        /// Four bits, on two rings.
        "16apsk" => Apsk16,
    }
}

kinds! {
    /// Rain on radio links, by ITU-R P.618-13.
    #[derive(Clone, Debug, PartialEq)]
    pub(crate) enum Rain as "Rain" {
        /// None.
        "none" => Off;
        /// As heavy as it is exceeded in a share of an average year: what a link of that availability has to bear.
        "exceeded" => Exceeded {
            /// Of the year, per cent.
            percent: f64 = 0.1, [0.001, 5.0];
        };
        /// As it comes and goes over each place: log-normal, changing by 2e-4 per second (Maseng and Bakken 1981).
        "series" => Series {
            /// Per cent of the year in which it rains.
            rainy_percent: f64 = 5.0, [0.01, 99.0], "reading: P.837 has it by place";
        };
        /// As it was measured, from files.
        "file" => Files {
            /// The series of each place, by its name. Over other places it does not rain.
            place: BTreeMap<String, Gauge>;
        };
    }
}

settings! {
    /// Rain over a place: a CSV file whose first column is the time and whose first row is the start of the run. A row holds until the next one; the last one stays.
    #[derive(Clone, Debug, PartialEq)]
    pub(crate) struct Gauge {
        /// The file, beside the scenario or in a folder there.
        file: String;
        /// The column, where there are several: a rate of rain if its name ends in `_mm_h`, an attenuation if it ends in `_db`. A rate becomes attenuation by P.838-3 over the effective path of P.618-13 at that rate.
        column: Option<String>;
        /// How far into the series the run begins.
        begin: Duration = Duration::ZERO;
        /// The series starts again every so often.
        every: Option<Duration>;
        /// The carrier at which an attenuation was measured, GHz; links with another one have it scaled (P.618-13 §2.2.1.3.1, 7 to 55 GHz). Without it, all links of the place have it as it is.
        frequency_ghz: Option<f64>, [7.0, 55.0];
    }
}
