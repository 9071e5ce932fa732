//! What two sides agree on before anything else: the version of the protocol, and the key.

use super::messages::PROTOCOL;

/// The version that a worker or client speaks whose [`FromWorker::Hello`](super::FromWorker::Hello)
/// or [`FromWorker::Client`](super::FromWorker::Client) can't be read, from the frame that it sent.
/// In every version they have their places among the messages and begin with the version.
pub fn hello_protocol(frame: &[u8]) -> Option<u32> {
    const GREETINGS: [u8; 2] = [0, 9];
    const HEADER: usize = 4;
    let (variant, rest) = frame.get(HEADER..)?.split_first()?;
    if !GREETINGS.contains(variant) {
        return None;
    }
    postcard::take_from_bytes(rest).ok().map(|(protocol, _)| protocol)
}

/// What one is told that speaks another version.
pub fn other_protocol(theirs: u32) -> String {
    format!(
        "it speaks version {theirs} of the protocol, and this side speaks {PROTOCOL}; install the \
         same freestone on both sides"
    )
}

/// What one is told that shows another key.
pub const OTHER_KEY: &str =
    "its key is not that of this cluster; use the access file of the cluster that runs now";

/// Whether two keys are equal, in a time that does not tell where they differ.
pub fn is_same_key(one: &str, other: &str) -> bool {
    one.len() == other.len()
        && one.bytes().zip(other.bytes()).fold(0, |differ, (one, other)| differ | (one ^ other))
            == 0
}

#[cfg(test)]
mod tests {
    use super::super::{Attach, FromWorker, frame};
    use super::*;

    #[test]
    fn the_version_is_found_in_a_hello_of_another_version() {
        let mut bytes = Vec::new();
        frame::encode(&(0_u8, 7_u32, "what that version says besides"), &mut bytes).unwrap();
        assert_eq!(hello_protocol(&bytes), Some(7));
        bytes.clear();
        let client = FromWorker::Client { protocol: 9, key: String::new(), attach: Attach::Once };
        frame::encode(&client, &mut bytes).unwrap();
        assert_eq!(hello_protocol(&bytes), Some(9));
        bytes.clear();
        frame::encode(&FromWorker::Done(Vec::new()), &mut bytes).unwrap();
        assert_eq!(hello_protocol(&bytes), None);
        assert_eq!(hello_protocol(b"GET"), None);
    }

    #[test]
    fn keys_are_the_same_or_not() {
        assert!(is_same_key("abc", "abc"));
        assert!(!is_same_key("abc", "abd") && !is_same_key("abc", "abcd"));
    }
}
