//! Who is woken; `tests/loom` has all interleavings of small cases.

use super::searchers::Searchers;
use crate::transport::Bell;

#[test]
fn one_that_sleeps_is_woken_once_for_all_that_is_pushed_before_it_looks() {
    let (searchers, bell) = (Searchers::default(), Bell::default());
    let wakes = || (0..5).filter(|_| searchers.is_left_to_sleepers(&bell, || false)).count();
    bell.announce();
    assert_eq!(wakes(), 1);
    searchers.begin();
    searchers.pause(|look| {
        look();
        assert_eq!(wakes(), 1);
    });
    assert_eq!(wakes(), 0);
    assert!(searchers.end());
    assert_eq!(wakes(), 1);
}
