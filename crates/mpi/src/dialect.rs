//! What constants are in each binary interface.

use super::Handle;
use std::ffi::{CStr, c_int};

/// The constants of a binary interface of MPI.
///
/// There is the standard one of MPI 5, that of MPICH, which Intel MPI, Cray MPICH and MVAPICH
/// share, and Open MPI's. A handle is a pointer, or in MPICH an int: the low half of what is passed
/// as a pointer, where arguments go in registers and bytes are in little-endian order. The handles
/// of Open MPI are the addresses of variables, which are known once it is loaded.
#[derive(Clone, Copy, Debug)]
pub struct Dialect {
    /// What the library is called.
    pub name: &'static str,
    /// The communicator of all ranks.
    pub world: Handle,
    /// The communicator of this process alone.
    pub comm_self: Handle,
    /// No communicator.
    pub comm_null: Handle,
    /// The type of bytes.
    pub byte: Handle,
    /// The type of numbers of 64 bits.
    pub int64: Handle,
    /// The larger one of two numbers.
    pub max: Handle,
    /// The error handler that has calls return.
    pub errors_return: Handle,
    /// A message of any rank.
    pub any_source: c_int,
    /// The colour of who gets no communicator.
    pub undefined: c_int,
    /// The address of a status that nobody wants.
    pub status_ignore: usize,
    /// The level of one thread.
    pub thread_single: c_int,
    /// The level of one thread of several.
    pub thread_funneled: c_int,
    /// The level of one thread at a time.
    pub thread_serialized: c_int,
    /// The level of any number of threads at a time.
    pub thread_multiple: c_int,
    /// Whether handles are ints, and the same in C and Fortran.
    pub is_int: bool,
    /// Whether handles are the addresses of variables of the library.
    pub has_addresses: bool,
}

impl Dialect {
    /// Whether a handle is that of no communicator, as a null pointer is, too. The high half of an int is undefined.
    pub fn is_null(&self, comm: Handle) -> bool {
        comm == 0
            || if self.is_int {
                comm as u32 == self.comm_null as u32
            } else {
                comm == self.comm_null
            }
    }

    /// With the addresses of a library's symbols, 0 for what it lacks; nothing if it lacks one that
    /// is needed.
    pub(crate) fn resolved(self, address: impl Fn(&CStr) -> Handle) -> Option<Self> {
        if !self.has_addresses {
            return Some(self);
        }
        let handle = |symbol| Some(address(symbol)).filter(|&handle| handle != 0);
        Some(Self {
            world: handle(c"ompi_mpi_comm_world")?,
            comm_self: handle(c"ompi_mpi_comm_self")?,
            comm_null: handle(c"ompi_mpi_comm_null")?,
            byte: handle(c"ompi_mpi_byte")?,
            int64: handle(c"ompi_mpi_int64_t")?,
            max: handle(c"ompi_mpi_op_max")?,
            errors_return: handle(c"ompi_mpi_errors_return")?,
            ..self
        })
    }
}

/// All that are known; the first that a process has is taken.
pub(crate) const ALL: [Dialect; 3] = [STANDARD, MPICH, OPEN_MPI];

pub(crate) const STANDARD: Dialect = Dialect {
    name: "libmpi_abi.so.1",
    world: 0x101,
    comm_self: 0x102,
    comm_null: 0x100,
    byte: 0x247,
    int64: 0x258,
    max: 0x23,
    errors_return: 0x143,
    any_source: -1,
    undefined: -32766,
    status_ignore: 0,
    thread_single: 0,
    thread_funneled: 1024,
    thread_serialized: 2048,
    thread_multiple: 4096,
    is_int: false,
    has_addresses: false,
};

pub(crate) const MPICH: Dialect = Dialect {
    name: "libmpi.so.12",
    world: 0x4400_0000,
    comm_self: 0x4400_0001,
    comm_null: 0x0400_0000,
    byte: 0x4c00_010d,
    int64: 0x4c00_083a,
    max: 0x5800_0001,
    errors_return: 0x5400_0001,
    any_source: -2,
    undefined: -32766,
    status_ignore: 1,
    thread_single: 0,
    thread_funneled: 1,
    thread_serialized: 2,
    thread_multiple: 3,
    is_int: true,
    has_addresses: false,
};

pub(crate) const OPEN_MPI: Dialect = Dialect {
    name: "libmpi.so.40",
    world: 0,
    comm_self: 0,
    comm_null: 0,
    byte: 0,
    int64: 0,
    max: 0,
    errors_return: 0,
    any_source: -1,
    undefined: -32766,
    status_ignore: 0,
    thread_single: 0,
    thread_funneled: 1,
    thread_serialized: 2,
    thread_multiple: 3,
    is_int: false,
    has_addresses: true,
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_of_open_mpi_are_the_addresses_of_its_variables() {
        let found = OPEN_MPI.resolved(CStr::count_bytes);
        let world = found.map(|dialect| (dialect.world, dialect.byte, dialect.max));
        assert_eq!(world, Some((19, 13, 15)));
    }

    #[test]
    fn a_library_without_these_variables_is_not_open_mpi() {
        assert!(OPEN_MPI.resolved(|symbol| usize::from(symbol != c"ompi_mpi_byte")).is_none());
        assert!(MPICH.resolved(|_| 0).is_some());
    }

    #[test]
    fn the_high_half_of_a_handle_of_mpich_says_nothing() {
        assert!(MPICH.is_null(0x7fff_0400_0000));
        assert!(!STANDARD.is_null(0x7fff_0000_0100));
        assert!([STANDARD, MPICH].iter().all(|dialect| dialect.is_null(0)));
    }
}
