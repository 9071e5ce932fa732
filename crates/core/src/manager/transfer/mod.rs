//! Blocks between workers: what is fetched, second copies, and collections in balance.

mod balance;
mod replication;
mod room;
mod roots;
mod transfers;

pub(in crate::manager) use balance::Balance;
pub(in crate::manager) use replication::Hot;
pub(in crate::manager) use room::Cramped;
pub(in crate::manager) use transfers::FETCH_NS;
