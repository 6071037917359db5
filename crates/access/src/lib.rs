//! Shared satellite access, without packets: who may send when, and how many bytes fit.
//!
//! - The return link of DVB-RCS2 ([`SlottedMedium`]): terminals ask for capacity, a controller plans slots.
//! - A cell of satellites in low orbit ([`LeoCell`]): the same plan with short frames and fixed rates.
//! - The forward link of DVB-S2 ([`TdmMedium`]): one carrier whose frames have the modulation of their terminals.
//!
//! # How the simulator uses the return link
//!
//! A [`SlottedMedium`] wakes up at each [`SlottedMedium::next_wakeup`], the start of a superframe. The simulator then
//!
//! 1. serves each link up to this instant, and writes a [`Demand`] per terminal: the bytes that wait, the bytes that
//!    came since the last superframe, and the signal at the controller;
//! 2. calls [`SlottedMedium::advance`] with the demands. It reads requests that have arrived, plans, opens the windows of
//!    this superframe and takes the requests that leave in it;
//! 3. gives the [`SlottedMedium::windows`] of each terminal in [`SlottedMedium::opened`] to the [`Packer`] of its link
//!    ([`Packer::open`]), and serves the backlog of these links.
//!
//! Between two superframes a link serves its queue lazily: [`Packer::offer`] tells when the burst with the last part of
//! a packet ends, or that the rest of the packet waits for later windows. [`Packer::resume`] goes on with this packet
//! after the next [`Packer::open`]. The bytes that wait include [`Packer::rest`].
//!
//! The simulator decides about the loss of each burst with data in the closure of `offer`: the window has the threshold
//! ([`Window::waveform`]). A [`SlottedMedium`] knows the losses by collision ([`Loss::Collision`]).

mod adaptation;
mod contention;
mod frames;
mod grid;
mod leo_cell;
mod mf_tdma;
mod modcods;
mod opened;
mod packing;
mod plan;
mod random;
mod reports;
mod requests;
mod slotted;
mod tdm;
mod terminal;
mod waveforms;

pub use adaptation::{Adaptation, Choice};
pub use frames::Frames;
pub use grid::{Grid, Window};
pub use leo_cell::{LeoCell, OtherUsers};
pub use mf_tdma::{Free, MfTdma};
pub use modcods::{Modcod, MODCODS};
pub use packing::{Loss, Packed, Packer, Packing};
pub use random::{Block, RandomAccess, RandomUse};
pub use reports::{Measurements, Reported};
pub use requests::{Request, Volume, Way};
pub use slotted::SlottedMedium;
pub use tdm::{Frame, FrameCounters, Queues, Share, Tdm, TdmMedium};
pub use terminal::{Access, Demand, MediumCounters, Terminal};
pub use waveforms::{BurstLength, Waveform};
