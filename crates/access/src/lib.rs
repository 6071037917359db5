//! Shared satellite access, without packets: decides when a terminal may send, and how many bytes fit.
//!
//! - The return link of DVB-RCS2 ([`MfTdma`]): terminals ask for capacity, a controller plans slots.
//! - A cell of satellites in low orbit ([`LeoCell`]): the same plan with short frames and a fixed rate.
//! - The forward link of DVB-S2 ([`Tdm`]): one carrier whose frames have the modulation and code of their terminals.
//!
//! The first two are a [`SlottedMedium`], the third is a [`TdmMedium`]. Both are components in time: the simulator calls
//! them at the instants that they name. They have no packets and no queues.
//!
//! # How the simulator uses slots
//!
//! A [`SlottedMedium`] wakes up at each [`SlottedMedium::next_wakeup`], the start of a superframe. The simulator then
//!
//! 1. serves each link of [`SlottedMedium::visits`] up to this instant, and writes a [`Demand`] per terminal: the bytes
//!    that wait, the bytes that came since the last superframe, and the signal at the controller. The other terminals
//!    sleep until packets come. Before such a packet, [`SlottedMedium::wake`] opens the windows that its terminal has in
//!    this superframe;
//! 2. calls [`SlottedMedium::advance`] with the demands. It reads requests that have arrived, plans, opens the windows of
//!    this superframe and takes the requests that leave in it;
//! 3. gives the [`SlottedMedium::windows`] of each terminal in [`SlottedMedium::opened`] to the [`Packer`] of its link
//!    ([`Packer::open`]), and serves the backlog of these links;
//! 4. gives the size and the terminals of the plan ([`SlottedMedium::plan_bytes`], [`SlottedMedium::planned`]) to the
//!    forward link that carries plans ([`TdmMedium::announce`]), if there is one.
//!
//! While no terminal is up, superframes may pass without the simulator ([`SlottedMedium::rest`]).
//!
//! Between two superframes a link serves its queue lazily: [`Packer::offer`] returns the end of the burst with the last
//! part of a packet, or the rest of the packet that waits for later windows. [`Packer::resume`] goes on with this packet
//! after the next [`Packer::open`]. The bytes that wait include [`Packer::rest`].
//!
//! The simulator decides about the loss of each burst with data in the closure of `offer`: the window has the threshold
//! ([`Window::waveform`]). A [`SlottedMedium`] knows the losses by collision ([`Loss::Collision`]).
//!
//! # How the simulator uses frames
//!
//! A [`TdmMedium`] fills a frame when the carrier is free and something waits ([`TdmMedium::next_frame`]), and wakes up
//! at the end of the frame. It takes packets through [`Queues`], which the simulator implements. Terminals measure their
//! signal at the instants of [`Measurements`], and the simulator passes their reports to [`TdmMedium::report`]. A report
//! over a return link leaves when the controller hears the terminal ([`SlottedMedium::heard`]).
//!
//! # Readings
//!
//! Standards leave requests and plans to the vendor. These details were chosen so that worked cases hold, or because one
//! way had to be chosen:
//!
//! - The arrival rate in a rate request has its margin instead of the overhead factor. The bytes that wait have that.
//! - The next control slot repeats a request by random access that is in doubt.
//! - In its first superframe a new rate has the credit of one burst, without the growth of that superframe.
//! - A terminal whose request by random access has not been answered sends no other one by random access.
//! - A terminal backs off before a block only if it used the block before, or if the load is high.
//! - The bytes that leave in random bursts are not asked for.
//! - The controller adapts a waveform with each burst that it measures, also with a lost one.
//! - The time of packets that wait for a frame ([`Tdm::hold`]) starts again for a terminal at each frame in which one of its
//!   packets ends.
//! - Turns by symbols have the symbols of 1500 B in the most efficient modulation and code.

mod adaptation;
mod contention;
mod frames;
mod grid;
mod leo_cell;
mod log_on;
mod mf_tdma;
mod modcods;
mod opened;
mod packing;
mod plan;
mod random;
mod reports;
mod requests;
mod set;
mod slotted;
mod tdm;
mod terminal;
mod visits;
mod waveforms;

pub use adaptation::{Adaptation, Choice};
pub use frames::{Frames, Length, Part};
pub use grid::{Grid, Window};
pub use leo_cell::{LeoCell, OtherUsers};
pub use log_on::{LogOn, LogOnCounters};
pub use mf_tdma::{Free, MfTdma};
pub use modcods::{Modcod, MODCODS};
pub use opened::Heard;
pub use packing::{Loss, Packed, Packer, Packing};
pub use random::{Block, RandomAccess, RandomUse};
pub use reports::{Measurements, Reported};
pub use requests::{Request, Volume, Way};
pub use slotted::SlottedMedium;
pub use tdm::{Backlog, Frame, FrameCounters, FramesOf, Queues, Share, Tdm, TdmMedium};
pub use terminal::{Access, Asked, Capacity, Demand, MediumCounters, Terminal, Waiting, CLASSES};
pub use waveforms::{BurstLength, Waveform};
