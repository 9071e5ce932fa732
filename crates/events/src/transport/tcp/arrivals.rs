//! What has arrived on a connection, whether or not it was taken in: the system knows.

use crate::transport::Life;
use std::os::fd::RawFd;

/// How much memory a connection takes and may take.
const SO_MEMINFO: libc::c_int = 55;

/// Every byte is a sign: what was on its way when the process on the other side stopped is soon here.
///
/// None, where the system does not say.
pub fn life(connection: RawFd) -> Option<Life> {
    // SAFETY: plain numbers, which may be zeros.
    let mut info: libc::tcp_info = unsafe { std::mem::zeroed() };
    ask(connection, libc::IPPROTO_TCP, libc::TCP_INFO, &mut info)?;
    let mut memory = [0_u32; libc::SK_MEMINFO_RCVBUF as usize + 1];
    ask(connection, libc::SOL_SOCKET, SO_MEMINFO, &mut memory)?;
    let taken = memory[libc::SK_MEMINFO_RMEM_ALLOC as usize];
    let room = memory[libc::SK_MEMINFO_RCVBUF as usize];
    // The system lets the other side send only if there is room for a whole segment, unless half of it is free.
    Some(Life { signs: info.tcpi_bytes_received, can_arrive: taken < room / 2 })
}

fn ask<T>(connection: RawFd, level: i32, what: i32, answer: &mut T) -> Option<()> {
    let mut len = size_of::<T>() as libc::socklen_t;
    // SAFETY: a place for plain numbers, with its size.
    let read = unsafe {
        libc::getsockopt(connection, level, what, std::ptr::from_mut(answer).cast(), &raw mut len)
    };
    (read == 0).then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{ErrorKind, Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsRawFd;
    use std::time::{Duration, Instant};

    fn until(connection: &TcpStream, mut is_met: impl FnMut(Life) -> bool) {
        let begin = Instant::now();
        while !is_met(life(connection.as_raw_fd()).unwrap()) {
            assert!(begin.elapsed() < Duration::from_secs(60));
            std::thread::yield_now();
        }
    }

    #[test]
    fn what_arrives_counts_before_it_is_read_and_nothing_can_where_too_much_waits() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut sender = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let receiver = listener.accept().unwrap().0;
        sender.write_all(b"sign").unwrap();
        until(&receiver, |life| life == Life { signs: 4, can_arrive: true });
        sender.set_nonblocking(true).unwrap();
        let mut bytes = vec![0; 1 << 16];
        until(&receiver, |life| {
            if let Err(error) = (&sender).write(&bytes) {
                assert_eq!(error.kind(), ErrorKind::WouldBlock);
            }
            !life.can_arrive
        });
        let before = life(receiver.as_raw_fd()).unwrap().signs;
        receiver.set_nonblocking(true).unwrap();
        until(&receiver, |life| {
            while (&receiver).read(&mut bytes).is_ok() {}
            life.signs >= before && life.can_arrive
        });
    }
}
