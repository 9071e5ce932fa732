//! Texts of errors, as callers in C have them: an address that nobody gives back.

use std::ffi::{CString, c_char};

/// The texts of the last two errors of a thread. A call that fails while its caller still holds the text of the
/// error before, as another argument of `printf` may, leaves that one alone.
#[derive(Debug, Default)]
pub struct Texts {
    last: CString,
    /// Still held by those who have not asked since.
    before: CString,
}

impl Texts {
    /// Keeps the text of an error, until two others have come.
    pub fn keep(&mut self, text: &str) {
        // A text with a zero byte would be cut there.
        let text = CString::new(text.replace('\0', "?")).unwrap_or_default();
        self.before = std::mem::replace(&mut self.last, text);
    }

    /// Where the last one is; empty, if there was none.
    pub fn last(&self) -> *const c_char {
        self.last.as_ptr()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CStr;

    /// What is at an address.
    fn at(text: *const c_char) -> String {
        // SAFETY: of texts that are still kept.
        unsafe { CStr::from_ptr(text) }.to_str().unwrap().to_owned()
    }

    #[test]
    fn a_text_stays_while_the_next_error_comes() {
        let mut texts = Texts::default();
        assert_eq!(at(texts.last()), "");
        texts.keep("first");
        let first = texts.last();
        texts.keep("sec\0ond");
        let second = texts.last();
        assert_eq!((at(first), at(second)), ("first".to_owned(), "sec?ond".to_owned()));
        texts.keep("third");
        assert_eq!((at(second), at(texts.last())), ("sec?ond".to_owned(), "third".to_owned()));
    }
}
