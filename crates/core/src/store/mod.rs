//! Placeholder while the contract is written.
