//! What the loop asks of the language that calls are written in.

use crate::ExecutorError;
use crate::block::{Mapped, Opened};
use freestone_core::store::Segment;
use freestone_core::wire::RaisedException;
use std::path::PathBuf;
use std::sync::Arc;

/// What a call returned, before it has the name of the call's output.
#[derive(Debug)]
pub enum Returned<Value, Block> {
    /// Small enough for messages: encoded.
    Inline(Vec<u8>),
    /// A value that becomes a block: encoded.
    Block(Block),
    /// A block that the call wrote into the cache by itself.
    Segment(Segment),
    /// A file, which is copied into the cache.
    File(PathBuf),
    /// A value that is made of the call's inputs.
    Group {
        /// The value, here.
        value: Value,
        /// The encoded function that makes it elsewhere, of the call's arguments.
        make: Vec<u8>,
    },
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// By a signal.
    Signal(i32),
    /// With a status.
    Status(i32),
}

/// A language that calls are written in, as one thread of a process that may run it.
pub trait Interpreter {
    /// A value. Dropping it may drop the last reference to a block's mapping.
    type Value;
    /// A function that was loaded.
    type Function;
    /// The arguments of one call.
    type Arguments;
    /// An encoded value, whose bytes may be the value's own.
    type Block;
    /// What a function, or the interpreter itself, fails with.
    type Error: From<ExecutorError>;

    /// Lets others run code of the language while this thread does `work`.
    fn detach<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T;

    /// Another reference to a value.
    fn share(&self, value: &Self::Value) -> Self::Value;

    /// Makes a function resident; `label` is its name for people.
    ///
    /// # Errors
    /// Whatever the definition or one of its imports raises.
    fn load(&self, definition: &[u8], label: &str) -> Result<Self::Function, Self::Error>;

    /// A call of a function is about to begin: what comes with the function can be used by then, by
    /// the function and by the values that it is given.
    ///
    /// # Errors
    /// If something of it can't be had.
    fn enter(&self, function: &Self::Function) -> Result<(), Self::Error>;

    /// Decodes a value that travelled in a message.
    ///
    /// # Errors
    /// Whatever decoding raises.
    fn inline_value(&self, bytes: &[u8]) -> Result<Self::Value, Self::Error>;

    /// Decodes a block; the value may refer to its bytes, and then holds the block.
    ///
    /// # Errors
    /// Whatever decoding raises.
    fn block_value(&self, block: &Opened) -> Result<Self::Value, Self::Error>;

    /// The value of a block that is a file, which holds the block.
    ///
    /// # Errors
    /// If the file is not there.
    fn file_value(&self, file: &Arc<Mapped>) -> Result<Self::Value, Self::Error>;

    /// Makes the value of a group: `make` was in [`Returned::Group`].
    ///
    /// # Errors
    /// Whatever the function raises.
    fn group_value(
        &self,
        make: &[u8],
        arguments: &[u8],
        members: Vec<Self::Value>,
    ) -> Result<Self::Value, Self::Error>;

    /// Decodes a call's arguments, with `inputs` in their places.
    ///
    /// # Errors
    /// Whatever decoding raises.
    fn arguments(
        &self,
        encoded: &[u8],
        inputs: Vec<Self::Value>,
    ) -> Result<Self::Arguments, Self::Error>;

    /// Calls a function.
    ///
    /// # Errors
    /// What the function raises.
    fn call(
        &self,
        function: &Self::Function,
        arguments: Self::Arguments,
    ) -> Result<Self::Value, Self::Error>;

    /// The parts of a value that is a tuple of `count`; nothing if it is none.
    fn split(&self, value: &Self::Value, count: usize) -> Option<Vec<Self::Value>>;

    /// Encodes a value that a call returned. Without `inline_nbytes` it becomes a block however
    /// small it is.
    ///
    /// # Errors
    /// Whatever encoding raises.
    fn encode(
        &self,
        value: &Self::Value,
        inline_nbytes: Option<usize>,
    ) -> Result<Returned<Self::Value, Self::Block>, Self::Error>;

    /// Gives the stream and the buffers of an encoded value to `write`, as [`detach`](Self::detach)
    /// does.
    fn with_block<T: Send>(
        &self,
        block: &Self::Block,
        write: impl FnOnce(&[u8], &[&[u8]]) -> T + Send,
    ) -> T;

    /// An error as it travels. `is_encoding`: it was not raised by the function itself, but where
    /// its inputs or its result were decoded or encoded.
    fn describe(&self, error: &Self::Error, is_encoding: bool) -> RaisedException;

    /// The error for a result that can't be encoded, because of `error`.
    fn refuse_result(&self, value: &Self::Value, label: &str, error: Self::Error) -> Self::Error;

    /// Forks this process for a call whose first input is given: the child's id, or 0 in the child.
    /// What would be done again in each child is done before.
    ///
    /// # Errors
    /// What the system says.
    fn fork(&self, first_input: Option<&Self::Value>) -> Result<i32, Self::Error>;

    /// Writes out what calls have printed.
    fn flush(&self);

    /// Does what a process does at its end after `error`, or none; the status to end with.
    fn exit_status(&self, error: Option<&Self::Error>) -> i32;

    /// Runs an executor in a new interpreter on `messages`: what it answered, and how it ended.
    ///
    /// # Errors
    /// If it can't be started.
    fn run_separately(&self, messages: &[u8]) -> Result<(Vec<u8>, Ended), Self::Error>;
}
