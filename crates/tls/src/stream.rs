//! TLS over a stream, blocking or not: reads and writes as plain as those of the stream.

use crate::access::Access;
use rustls::{AlertDescription, CertificateError, ClientConnection, Connection, ServerConnection};
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

/// The most that is encrypted before it is handed to the system.
const CHUNK: usize = 64 << 10;

/// An encrypted stream, whose other side has shown the cluster's certificate.
#[derive(Debug)]
pub struct Tls<S> {
    session: Connection,
    stream: S,
    /// Whether the last read of the stream gave less than it could.
    drained: bool,
}

/// A stream that notes whether a read gave less than there was room for.
struct Noted<'a, S> {
    stream: &'a mut S,
    drained: &'a mut bool,
}

impl<S: Read> Read for Noted<'_, S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let nbytes = self.stream.read(buffer)?;
        *self.drained = nbytes < buffer.len();
        Ok(nbytes)
    }
}

impl Tls<TcpStream> {
    /// Shakes hands as the side that connected, on a stream that blocks (with a time limit).
    ///
    /// # Errors
    /// Those of the stream, or what is wrong with the other side.
    pub fn connect(stream: TcpStream, access: &Access) -> io::Result<Self> {
        let session = ClientConnection::new(Arc::clone(&access.client), Access::name())
            .map_err(|error| broken(&error))?;
        let mut tls = Self { session: session.into(), stream, drained: false };
        while tls.session.is_handshaking() {
            tls.push()?;
            if tls.session.is_handshaking() && tls.pull()? == 0 {
                return Err(io::Error::new(
                    ErrorKind::ConnectionReset,
                    "the other side closed the connection while hands were shaken",
                ));
            }
        }
        tls.push()?;
        Ok(tls)
    }
}

impl<S: Read + Write> Tls<S> {
    /// Takes over a stream that was accepted; hands are shaken by the first reads.
    ///
    /// # Errors
    /// When the session can't be made.
    pub fn accept(stream: S, access: &Access) -> io::Result<Self> {
        let session =
            ServerConnection::new(Arc::clone(&access.server)).map_err(|error| broken(&error))?;
        Ok(Self { session: session.into(), stream, drained: false })
    }

    /// Whether encrypted bytes wait to be written.
    pub fn wants_write(&self) -> bool {
        self.session.wants_write()
    }

    /// Writes encrypted bytes that wait.
    ///
    /// # Errors
    /// Those of the stream, `WouldBlock` among them.
    pub fn push(&mut self) -> io::Result<()> {
        while self.session.wants_write() {
            self.session.write_tls(&mut self.stream)?;
        }
        Ok(())
    }

    /// Reads encrypted bytes; 0 is the end of the stream.
    fn pull(&mut self) -> io::Result<usize> {
        let mut noted = Noted { stream: &mut self.stream, drained: &mut self.drained };
        let nbytes = self.session.read_tls(&mut noted)?;
        if let Err(error) = self.session.process_new_packets() {
            // The other side is told why, if it still listens.
            let _ = self.push();
            return Err(broken(&error));
        }
        Ok(nbytes)
    }
}

impl<S> Tls<S> {
    /// Whether the stream below had nothing more when it was last read. What was decrypted may wait
    /// all the same: it has been taken once a read gives less than there is room for.
    pub fn is_drained(&self) -> bool {
        self.drained
    }

    /// The stream below.
    pub fn stream(&self) -> &S {
        &self.stream
    }

    /// The stream below.
    pub fn stream_mut(&mut self) -> &mut S {
        &mut self.stream
    }

    /// The certificate that the other side has shown.
    pub fn peer(&self) -> Option<&[u8]> {
        Some(self.session.peer_certificates()?.first()?)
    }

    /// The same session over another form of the stream.
    pub fn map<T>(self, form: impl FnOnce(S) -> T) -> Tls<T> {
        Tls { session: self.session, stream: form(self.stream), drained: self.drained }
    }
}

impl<S: Read + Write> Read for Tls<S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.session.reader().read(buffer) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                // Frames and blocks have lengths of their own, so nothing can be cut off unseen.
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(0),
                read => return read,
            }
            let nbytes = self.pull()?;
            match self.push() {
                Err(error) if !is_for_later(&error) => return Err(error),
                _ => {}
            }
            if nbytes == 0 {
                return Ok(0);
            }
        }
    }
}

impl<S: Read + Write> Write for Tls<S> {
    /// Takes bytes only when all before them are on their way, so nothing piles up.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.push()?;
        if self.session.is_handshaking() {
            return Err(ErrorKind::WouldBlock.into());
        }
        let taken = self.session.writer().write(&bytes[..bytes.len().min(CHUNK)])?;
        match self.push() {
            Err(error) if !is_for_later(&error) => Err(error),
            _ => Ok(taken),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.push()
    }
}

fn is_for_later(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

fn broken(error: &rustls::Error) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, reason(error))
}

/// What went wrong, and what to try.
fn reason(error: &rustls::Error) -> String {
    use rustls::Error;
    let described = match error {
        Error::InvalidCertificate(
            CertificateError::Expired | CertificateError::ExpiredContext { .. },
        )
        | Error::AlertReceived(AlertDescription::CertificateExpired) => {
            "the cluster's certificate has expired; open the cluster anew, with a larger \
             access_days, and hand out its new access file"
        }
        Error::InvalidCertificate(CertificateError::Revoked)
        | Error::AlertReceived(AlertDescription::CertificateRevoked) => {
            "the access was revoked; whoever serves the cluster grants a new one"
        }
        Error::InvalidCertificate(_)
        | Error::AlertReceived(
            AlertDescription::UnknownCA
            | AlertDescription::BadCertificate
            | AlertDescription::CertificateUnknown
            | AlertDescription::DecryptError,
        ) => {
            "the other side has the certificate of another cluster; use the access file of the \
             cluster that runs now"
        }
        Error::NoCertificatesPresented
        | Error::AlertReceived(AlertDescription::CertificateRequired) => {
            "the other side shows no certificate; start it with the cluster's access file"
        }
        Error::InvalidMessage(_)
        | Error::InappropriateMessage { .. }
        | Error::InappropriateHandshakeMessage { .. } => {
            "the other side does not speak TLS; only workers with the cluster's access file may \
             connect"
        }
        Error::PeerIncompatible(_) | Error::AlertReceived(AlertDescription::ProtocolVersion) => {
            "the other side does not speak TLS 1.3"
        }
        _ => return error.to_string(),
    };
    format!("{described} ({error})")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::Identity;
    use std::net::TcpListener;
    use std::thread;

    fn access(days: u32) -> Access {
        Access::new(&Identity::make(days).unwrap()).unwrap()
    }

    /// What both sides make of a connection over which the client says "hello".
    fn meet(client: &Access, server: &Access) -> (io::Result<()>, io::Result<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let server = server.clone();
        let there = thread::spawn(move || {
            let mut tls = Tls::accept(listener.accept()?.0, &server)?;
            let mut received = [0; 5];
            tls.read_exact(&mut received)?;
            tls.write_all(b"welcome")?;
            Ok(String::from_utf8_lossy(&received).into_owned())
        });
        let here = || {
            let mut tls = Tls::connect(TcpStream::connect(address)?, client)?;
            tls.write_all(b"hello")?;
            // The client learns only now whether its own certificate was accepted.
            tls.read_exact(&mut [0; 7])
        };
        (here(), there.join().unwrap())
    }

    #[test]
    fn those_of_the_same_authority_understand_each_other() {
        let access = access(1);
        let (here, there) = meet(&access, &access);
        here.unwrap();
        assert_eq!(there.unwrap(), "hello");
    }

    #[test]
    fn another_cluster_is_refused_on_both_sides() {
        let (here, there) = meet(&access(1), &access(1));
        for error in [here.unwrap_err(), there.unwrap_err()] {
            assert!(error.to_string().contains("certificate of another cluster"), "{error}");
        }
    }

    #[test]
    fn one_that_is_revoked_is_refused_by_both_sides_until_then_by_none() {
        let authority = Identity::authority(1).unwrap();
        let members = [authority.member(1).unwrap(), authority.member(1).unwrap()];
        let [one, other] = [0, 1].map(|member| Access::new(&members[member]).unwrap());
        meet(&one, &other).0.unwrap();
        other.revoked.add([members[0].own_certificate().unwrap()]);
        for (client, server) in [(&one, &other), (&other, &one)] {
            let (here, there) = meet(client, server);
            for error in [here.unwrap_err(), there.unwrap_err()] {
                assert!(error.to_string().contains("access was revoked"), "{error}");
            }
        }
        meet(&one, &one).0.unwrap();
    }

    #[test]
    fn an_expired_certificate_is_reported_on_both_sides() {
        let access = access(0);
        let (here, there) = meet(&access, &access);
        for error in [here.unwrap_err(), there.unwrap_err()] {
            assert!(error.to_string().contains("has expired"), "{error}");
        }
    }

    #[test]
    fn plaintext_is_refused() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut plain = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        plain.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
        let mut tls = Tls::accept(listener.accept().unwrap().0, &access(1)).unwrap();
        let error = tls.read(&mut [0; 9]).unwrap_err();
        assert!(error.to_string().contains("does not speak TLS"), "{error}");
    }

    /// Counts what is asked of the system.
    struct Counted {
        stream: TcpStream,
        reads: usize,
        writes: usize,
    }

    impl Read for Counted {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.reads += 1;
            self.stream.read(buffer)
        }
    }

    impl Write for Counted {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.writes += 1;
            self.stream.write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            self.stream.flush()
        }
    }

    #[test]
    fn a_small_message_costs_one_write_and_one_read() {
        let access = access(1);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let counted = |stream| Counted { stream, reads: 0, writes: 0 };
        let there = access.clone();
        let server = thread::spawn(move || {
            let stream = counted(listener.accept().unwrap().0);
            let mut tls = Tls::accept(stream, &there).unwrap();
            tls.read_exact(&mut [0; 5]).unwrap();
            let before = tls.stream().writes;
            tls.write_all(&[7; 3000]).unwrap();
            tls.stream().writes - before
        });
        let tls = Tls::connect(TcpStream::connect(address).unwrap(), &access).unwrap();
        let mut tls = tls.map(counted);
        tls.write_all(b"hello").unwrap();
        assert_eq!(server.join().unwrap(), 1);
        // The server's tickets for other sessions come before the message.
        let mut received = vec![0; 64 << 10];
        let nbytes = tls.read(&mut received).unwrap();
        assert_eq!((nbytes, tls.is_drained()), (3000, true));
        assert_eq!(tls.stream().reads, 1);
    }

    #[test]
    fn a_stream_is_whole_however_large() {
        let access = access(1);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let sent: Vec<u8> = (0..3_000_000_u32).map(|number| (number % 251) as u8).collect();
        let (there, copy) = (access.clone(), sent.clone());
        let writer = thread::spawn(move || {
            let mut tls = Tls::accept(listener.accept().unwrap().0, &there).unwrap();
            tls.read_exact(&mut [0]).unwrap();
            tls.write_all(&copy).unwrap();
        });
        let mut tls = Tls::connect(TcpStream::connect(address).unwrap(), &access).unwrap();
        tls.write_all(&[1]).unwrap();
        let mut got = Vec::new();
        tls.read_to_end(&mut got).unwrap();
        writer.join().unwrap();
        assert!(got == sent);
    }
}
