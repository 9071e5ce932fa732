//! Arrays with a shape, as `freestone.events.payload` encodes them: the lengths of a head and of what is
//! between it and the elements, and the head: a type, an order, a shape.

use crate::words::{BOOL, COMPLEX_DOUBLE, COMPLEX_FLOAT, INT8, INT16};
use smallvec::SmallVec;

/// The type of such a payload.
pub const ARRAY: u32 = 16;
/// The most dimensions that an array has: those of Fortran.
pub const MAX_DIMS: usize = 15;
/// Elements begin at a multiple of so many bytes.
const ALIGNMENT: usize = 64;
/// By the numbers of the types; unsigned bytes are `FSE_BYTE`.
const TYPES: [(&str, u32); 10] = [
    ("<i4", 1),
    ("<i8", 2),
    ("<f4", 3),
    ("<f8", 4),
    ("|u1", 5),
    ("|b1", BOOL),
    ("<c8", COMPLEX_FLOAT),
    ("<c16", COMPLEX_DOUBLE),
    ("|i1", INT8),
    ("<i2", INT16),
];

/// Which index of an array runs fastest: the last one, as in C, or the first one, as in Fortran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    RowMajor,
    ColumnMajor,
}

/// The extents of an array, the one that runs fastest last.
pub type Shape = SmallVec<[usize; 3]>;

/// What comes before the elements of an array; none, if its type has no name there.
pub fn head(kind: u32, order: Order, shape: &[usize]) -> Option<Vec<u8>> {
    let (name, _) = TYPES.iter().find(|(_, known)| *known == kind)?;
    let order = if order == Order::RowMajor { "C" } else { "F" };
    let extents: Vec<_> = shape.iter().map(ToString::to_string).collect();
    let text = format!("{name} {order} {}", extents.join(" "));
    let padding = (8 + text.len()).next_multiple_of(ALIGNMENT) - 8 - text.len();
    let mut head = Vec::with_capacity(8 + text.len() + padding);
    head.extend_from_slice(&(text.len() as u32).to_le_bytes());
    head.extend_from_slice(&(padding as u32).to_le_bytes());
    head.extend_from_slice(text.as_bytes());
    head.resize(head.len() + padding, 0);
    Some(head)
}

/// The type, the shape and the elements of an array whose type C has a name for.
pub fn elements(bytes: &[u8]) -> Option<(u32, Shape, &[u8])> {
    let (head, rest) = bytes.split_first_chunk::<4>()?;
    let (padding, rest) = rest.split_first_chunk::<4>()?;
    let (head, padding) = (u32::from_le_bytes(*head) as usize, u32::from_le_bytes(*padding));
    let (head, rest) = rest.split_at_checked(head)?;
    let mut words = std::str::from_utf8(head).ok()?.split(' ');
    let name = words.next()?;
    let (_, kind) = TYPES.iter().find(|(known, _)| *known == name)?;
    let is_column_major = words.next()? == "F";
    let mut shape: Shape =
        words.filter(|word| !word.is_empty()).map(str::parse).collect::<Result<_, _>>().ok()?;
    if is_column_major {
        shape.reverse();
    }
    Some((*kind, shape, rest.get(padding as usize..)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_read_as_it_was_written() {
        for (order, shape) in [
            (Order::RowMajor, &[2_usize, 3][..]),
            (Order::ColumnMajor, &[3, 2]),
            (Order::ColumnMajor, &[4]),
            (Order::RowMajor, &[1, 0, 5]),
        ] {
            let mut bytes = head(4, order, shape).unwrap();
            assert!(bytes.len().is_multiple_of(ALIGNMENT));
            bytes.extend_from_slice(b"elements");
            let (kind, found, rest) = elements(&bytes).unwrap();
            let mut wanted = shape.to_vec();
            if order == Order::ColumnMajor {
                wanted.reverse();
            }
            assert_eq!((kind, &found[..], rest), (4, &wanted[..], &b"elements"[..]));
            for len in 0..bytes.len() - 8 {
                let _ = elements(&bytes[..len]);
            }
        }
        assert_eq!(head(17, Order::RowMajor, &[1]), None);
    }
}
