//! What both sides say first on a connection: a number, a rank most often, and a text.

use crate::limits;
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;

/// The longest that an address is, with the settings that ranks share.
const LONGEST: u32 = 1024;

/// A connection on which nothing takes long.
pub fn prepared(stream: TcpStream) -> io::Result<TcpStream> {
    stream.set_nodelay(true)?;
    let timeout = Some(limits::get().step_timeout);
    stream.set_read_timeout(timeout)?;
    stream.set_write_timeout(timeout)?;
    Ok(stream)
}

/// Writes a number, a rank most often, and a text.
pub fn write_named(to: &mut impl Write, rank: u32, text: &str) -> io::Result<()> {
    let len = text.len() as u32;
    let bytes = [&rank.to_le_bytes()[..], &len.to_le_bytes(), text.as_bytes()].concat();
    to.write_all(&bytes)
}

/// Reads what [`write_named`] wrote.
pub fn read_named(from: &mut impl Read) -> io::Result<(u32, String)> {
    let mut head = [0; 8];
    from.read_exact(&mut head)?;
    let (rank, len) = head.split_at(4);
    let word = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().expect("four bytes of eight"));
    let (rank, len) = (word(rank), word(len));
    if len > LONGEST {
        return Err(io::Error::new(ErrorKind::InvalidData, "an address is too long"));
    }
    let mut text = vec![0; len as usize];
    from.read_exact(&mut text)?;
    let text = String::from_utf8(text).map_err(|error| io::Error::other(error.to_string()))?;
    Ok((rank, text))
}
