//! A host with bentpipe's QUIC at a socket, in real time.

use crate::quic::{QuicReport, QuicSpeaker};
use bentpipe_quic::Clock;
use bentpipe_tcp::Ecn;
use bentpipe_units::{Duration, Time};
use quinn_udp::{EcnCodepoint, RecvMeta, Transmit, UdpSockRef, UdpSocketState};
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use std::io::{self, ErrorKind, IoSliceMut};
use std::net::{SocketAddr, UdpSocket};

/// Bytes of a read: several datagrams, if the kernel has joined them.
const READ: usize = 1 << 16;
/// Wanted buffers of the socket, bytes. The kernel may have a lower limit.
const BUFFER: usize = 4 << 20;

/// A host and its socket.
#[derive(Debug)]
pub struct UdpHost {
    socket: UdpSocket,
    state: UdpSocketState,
    clock: Clock,
    speaker: QuicSpeaker,
    bytes: Vec<u8>,
}

impl UdpHost {
    /// Binds a host to an address.
    ///
    /// # Errors
    ///
    /// The system refuses the address.
    pub fn bind(own: SocketAddr, clock: Clock, speaker: QuicSpeaker) -> io::Result<Self> {
        let socket = UdpSocket::bind(own)?;
        let state = UdpSocketState::new(UdpSockRef::from(&socket))?;
        // A smaller buffer loses datagrams in a burst, which the run counts.
        let _ = state.set_recv_buffer_size(UdpSockRef::from(&socket), BUFFER);
        let _ = state.set_send_buffer_size(UdpSockRef::from(&socket), BUFFER);
        Ok(Self { socket, state, clock, speaker, bytes: vec![0; READ] })
    }

    /// Opens a connection, as [`QuicSpeaker::connect`].
    ///
    /// # Errors
    ///
    /// TLS does not start.
    pub fn connect(&mut self, to: SocketAddr, request: &str) -> io::Result<()> {
        self.speaker.connect(self.clock.now(), to, request).map_err(io::Error::other)
    }

    /// Returns the port of the socket.
    ///
    /// # Errors
    ///
    /// As [`UdpSocket::local_addr`].
    pub fn port(&self) -> io::Result<u16> {
        Ok(self.socket.local_addr()?.port())
    }

    /// Returns its connections.
    pub fn reports(&self) -> impl Iterator<Item = QuicReport> + '_ {
        self.speaker.reports()
    }

    /// Closes all connections. The next [`run`](Self::run) sends the last datagrams.
    pub fn close(&mut self) {
        self.speaker.close(self.clock.now());
    }

    /// Receives and sends for `slice`.
    ///
    /// # Errors
    ///
    /// The socket fails, or TLS does not start.
    pub fn run(&mut self, slice: Duration) -> io::Result<()> {
        let until = self.clock.now() + slice;
        loop {
            self.receive()?;
            let now = self.clock.now();
            self.speaker.handle_wakeup(now);
            self.send(now)?;
            let now = self.clock.now();
            if now >= until {
                return Ok(());
            }
            self.wait(PollFlags::IN, self.speaker.next_wakeup().min(until).saturating_since(now))?;
        }
    }

    /// Passes on all datagrams that have arrived.
    fn receive(&mut self) -> io::Result<()> {
        loop {
            let mut metas = [RecvMeta::default()];
            let mut bytes = [IoSliceMut::new(&mut self.bytes)];
            match self.state.recv(UdpSockRef::from(&self.socket), &mut bytes, &mut metas) {
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                // A report of an earlier datagram, such as a closed port: the stack has its own timers.
                Err(error) if matches!(error.kind(), ErrorKind::ConnectionRefused | ErrorKind::Interrupted) => continue,
                Err(error) => return Err(error),
            }
            let [RecvMeta { addr, len, stride, ecn, .. }] = metas;
            let ecn = ecn.map_or(Ecn::NotEct, |ecn| Ecn::from_bits(ecn as u8));
            for payload in self.bytes[..len].chunks(stride.max(1)) {
                self.speaker.handle(self.clock.now(), addr, payload, ecn).map_err(io::Error::other)?;
            }
        }
    }

    /// Sends all datagrams that may leave.
    fn send(&mut self, now: Time) -> io::Result<()> {
        let Self { socket, state, speaker, .. } = self;
        let mut result = Ok(());
        speaker.transmit(now, |destination, contents, ecn| {
            let ecn = EcnCodepoint::from_bits(ecn.bits());
            let transmit = Transmit { destination, ecn, contents, segment_size: None, src_ip: None };
            loop {
                match state.try_send(UdpSockRef::from(&*socket), &transmit) {
                    Err(error) if error.kind() == ErrorKind::WouldBlock => {
                        if let Err(error) = wait(socket, PollFlags::OUT, Duration::from_secs(1)) {
                            result = Err(error);
                            break;
                        }
                    }
                    // A datagram that the system refuses is a lost datagram.
                    _ => break,
                }
            }
        });
        result
    }

    fn wait(&self, flags: PollFlags, time: Duration) -> io::Result<()> {
        wait(&self.socket, flags, time)
    }
}

/// Waits until a socket is ready, at most for `time`.
fn wait(socket: &UdpSocket, flags: PollFlags, time: Duration) -> io::Result<()> {
    let ns = time.as_ps().div_ceil(1000);
    let limit = Timespec { tv_sec: (ns / 1_000_000_000) as _, tv_nsec: (ns % 1_000_000_000) as _ };
    match poll(&mut [PollFd::new(socket, flags)], Some(&limit)) {
        Err(error) if error != rustix::io::Errno::INTR => Err(error.into()),
        _ => Ok(()),
    }
}
