//! Frames one after the other, as what goes over a wire: each with its length before it.

use super::TransportError;

/// Bytes of a frame's length.
pub const LENGTH: usize = 4;

/// Adds a frame that consists of `parts`.
pub fn append(bytes: &mut Vec<u8>, parts: &[&[u8]]) {
    let len = super::total(parts) as u32;
    bytes.extend_from_slice(&len.to_le_bytes());
    for part in parts {
        bytes.extend_from_slice(part);
    }
}

/// Calls `take` with each whole frame; how many bytes those were.
///
/// # Errors
///
/// What `take` says; or if a frame is longer than `longest`, which none of ours is.
pub fn split(
    bytes: &[u8],
    longest: usize,
    mut take: impl FnMut(&[u8]) -> Result<(), TransportError>,
) -> Result<usize, TransportError> {
    let mut rest = bytes;
    while let Some((len, after)) = rest.split_first_chunk::<LENGTH>() {
        let len = u32::from_le_bytes(*len) as usize;
        if len > longest {
            return Err(TransportError::BadFrame { len, what: "it is too long" });
        }
        let Some((frame, after)) = after.split_at_checked(len) else { break };
        take(frame)?;
        rest = after;
    }
    Ok(bytes.len() - rest.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_out_as_they_went_in_wherever_they_are_cut() {
        let frames: [&[u8]; 4] = [b"one", b"", b"three", &[7; 300]];
        let mut bytes = Vec::new();
        for frame in frames {
            let (left, right) = frame.split_at(frame.len() / 2);
            append(&mut bytes, &[left, right]);
        }
        for cut in 0..=bytes.len() {
            let mut seen: Vec<Vec<u8>> = Vec::new();
            let mut note = |frame: &[u8]| {
                seen.push(frame.to_vec());
                Ok(())
            };
            let used = split(&bytes[..cut], 1000, &mut note).unwrap();
            assert_eq!(split(&bytes[used..], 1000, &mut note).unwrap(), bytes.len() - used);
            assert_eq!(seen, frames);
        }
    }

    #[test]
    fn a_frame_that_is_too_long_is_refused() {
        let bytes = u32::MAX.to_le_bytes();
        assert!(split(&bytes, 1000, |_| Ok(())).is_err());
    }
}
