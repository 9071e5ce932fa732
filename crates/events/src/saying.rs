//! What ranks say to people.

use std::io::Write;

/// Says something on stderr in one piece: ranks that speak at the same time do not interrupt each
/// other in the middle of a line.
pub fn say(text: &str) {
    // Where nobody can hear it, there is nobody to tell.
    let _ = std::io::stderr().write_all(format!("{text}\n").as_bytes());
}
