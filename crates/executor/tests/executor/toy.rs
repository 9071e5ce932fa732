//! A language of integers and a few functions.

use freestone_core::store::{Segment, format};
use freestone_core::wire::RaisedException;
use freestone_executor::block::{Mapped, Opened};
use freestone_executor::codec::direct::{Element, Writer};
use freestone_executor::codec::forms::DIRECT;
use freestone_executor::codec::{Arguments, Inline};
use freestone_executor::{Ended, ExecutorError, Interpreter, Returned};
use std::cell::RefCell;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

/// What there is in the language. A clone is another reference.
#[derive(Clone)]
pub enum Value {
    /// A number, and the block that it is a view of, which it holds.
    Number(i64, #[expect(dead_code, reason = "it is only held")] Option<Rc<Opened>>),
    /// Several.
    Tuple(Rc<Vec<Value>>),
    /// So many bytes.
    Large(usize),
    /// A file.
    File(PathBuf),
    /// The sum of the call's inputs, made by the function of that name wherever it is needed.
    Group(Rc<Value>),
    /// Written into the cache by the call.
    Filled(Rc<RefCell<Option<Segment>>>),
}

impl Value {
    fn number(&self) -> i64 {
        match self {
            Self::Number(number, _) => *number,
            Self::Tuple(parts) => parts.iter().map(Self::number).sum(),
            Self::Group(value) => value.number(),
            Self::Large(_) | Self::File(_) | Self::Filled(_) => 0,
        }
    }
}

/// What functions fail with: a message.
#[derive(Debug)]
pub struct Wrong(pub String);

impl From<ExecutorError> for Wrong {
    fn from(error: ExecutorError) -> Self {
        Self(error.to_string())
    }
}

/// Runs the language. A block's stream is a number as text.
pub struct Toy {
    /// Runs an executor on messages, for calls in a process of their own.
    pub run_separately: fn(&[u8]) -> Vec<u8>,
    /// Where functions find a file, and the cache to write a block into.
    pub world: Arc<super::world::Folders>,
    /// Values that functions keep beyond their call.
    pub kept: RefCell<Vec<Value>>,
}

/// Encodes numbers as a call's arguments, the first `inputs` of which are its inputs.
pub fn arguments(inputs: usize, numbers: &[i64]) -> Vec<u8> {
    let mut writer = Writer::new(DIRECT, usize::MAX);
    writer.length(inputs + numbers.len()).unwrap();
    for position in 0..inputs {
        writer.input(position).unwrap();
    }
    for number in numbers {
        writer.integer(*number).unwrap();
    }
    writer.length(0).unwrap();
    writer.finish()
}

/// Encodes a number for a message.
pub fn inline(number: i64) -> Vec<u8> {
    let mut writer = Writer::new(DIRECT, usize::MAX);
    writer.integer(number).unwrap();
    writer.finish()
}

fn parse(stream: &[u8]) -> Result<i64, Wrong> {
    let text = std::str::from_utf8(stream).map_err(|error| Wrong(error.to_string()))?;
    text.parse().map_err(|error| Wrong(format!("{text:?}: {error}")))
}

impl Toy {
    fn call_named(&self, name: &str, arguments: Vec<Value>) -> Result<Value, Wrong> {
        let sum = || arguments.iter().map(Value::number).sum::<i64>();
        Ok(match name {
            "sum" => Value::Number(sum(), None),
            "same" => arguments[0].clone(),
            "keep" => {
                self.kept.borrow_mut().extend(arguments);
                Value::Number(0, None)
            }
            "drop" => {
                self.kept.borrow_mut().clear();
                Value::Number(0, None)
            }
            "raise" => return Err(Wrong("raised".into())),
            "tuple" => Value::Tuple(Rc::new(arguments)),
            "large" => Value::Large(sum() as usize),
            "file" => Value::File(self.world.file()),
            "group" => Value::Group(Rc::new(Value::Number(sum(), None))),
            "fill" => {
                let cache = self.world.cache();
                let mut segment = cache.segment(format::nbytes(2, std::iter::empty())).unwrap();
                format::write(&mut segment, b"77", &[]).unwrap();
                segment.finish().unwrap();
                Value::Filled(Rc::new(RefCell::new(Some(segment))))
            }
            // SAFETY: the process is the call's own.
            "abort" => unsafe {
                libc::kill(libc::getpid(), libc::SIGKILL);
                unreachable!()
            },
            _ => return Err(Wrong(format!("there is no function {name}"))),
        })
    }
}

impl Interpreter for Toy {
    type Value = Value;
    type Function = String;
    type Arguments = Vec<Value>;
    type Block = String;
    type Error = Wrong;

    fn detach<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        work()
    }

    fn share(&self, value: &Value) -> Value {
        value.clone()
    }

    fn load(&self, definition: &[u8], _label: &str) -> Result<String, Wrong> {
        String::from_utf8(definition.to_vec()).map_err(|error| Wrong(error.to_string()))
    }

    fn enter(&self, _function: &String) -> Result<(), Wrong> {
        Ok(())
    }

    fn inline_value(&self, bytes: &[u8]) -> Result<Value, Wrong> {
        match Inline::parse(bytes) {
            Ok(Inline::Direct(mut reader)) => match reader.element(0) {
                Ok(Element::Integer(number)) => Ok(Value::Number(number, None)),
                other => Err(Wrong(format!("{other:?}"))),
            },
            other => Err(Wrong(format!("{other:?}"))),
        }
    }

    fn block_value(&self, block: &Opened) -> Result<Value, Wrong> {
        let parsed = block.parse().map_err(|error| Wrong(error.to_string()))?;
        let number = parse(&block.mapping()[parsed.pickle])?;
        Ok(Value::Number(number, Some(Rc::new(block.clone()))))
    }

    fn file_value(&self, file: &Arc<Mapped>) -> Result<Value, Wrong> {
        Ok(Value::File(file.path().into()))
    }

    fn group_value(
        &self,
        make: &[u8],
        arguments: &[u8],
        members: Vec<Value>,
    ) -> Result<Value, Wrong> {
        let function = self.load(make, "")?;
        self.call(&function, self.arguments(arguments, members)?)
    }

    fn arguments(&self, encoded: &[u8], inputs: Vec<Value>) -> Result<Vec<Value>, Wrong> {
        let Ok(Arguments::Direct(mut reader)) = Arguments::parse(encoded) else {
            return Err(Wrong("arguments that are not direct".into()));
        };
        let count = reader.length().unwrap();
        let one = |element| match element {
            Element::Integer(number) => Value::Number(number, None),
            Element::Input(position) => inputs[position].clone(),
            other => panic!("{other:?} is never written"),
        };
        Ok((0..count).map(|_| one(reader.element(0).unwrap())).collect())
    }

    fn call(&self, function: &String, arguments: Vec<Value>) -> Result<Value, Wrong> {
        self.call_named(function, arguments)
    }

    fn split(&self, value: &Value, count: usize) -> Option<Vec<Value>> {
        let Value::Tuple(parts) = value else { return None };
        (parts.len() == count).then(|| parts.to_vec())
    }

    fn encode(
        &self,
        value: &Value,
        inline_nbytes: Option<usize>,
    ) -> Result<Returned<Value, String>, Wrong> {
        Ok(match value {
            Value::File(path) => Returned::File(path.clone()),
            Value::Large(nbytes) => Returned::Inline(vec![0; *nbytes]),
            Value::Tuple(_) => return Err(Wrong("tuples stay here".into())),
            Value::Filled(segment) => Returned::Segment(segment.take().unwrap()),
            Value::Group(value) => {
                Returned::Group { value: Value::clone(value), make: b"sum".to_vec() }
            }
            Value::Number(number, _) => {
                let text = number.to_string();
                match inline_nbytes {
                    Some(limit) if text.len() <= limit => Returned::Inline(inline(*number)),
                    _ => Returned::Block(text),
                }
            }
        })
    }

    fn with_block<T: Send>(
        &self,
        block: &String,
        write: impl FnOnce(&[u8], &[&[u8]]) -> T + Send,
    ) -> T {
        write(block.as_bytes(), &[])
    }

    fn describe(&self, error: &Wrong, is_encoding: bool) -> RaisedException {
        RaisedException {
            pickled: Vec::new().into(),
            kind: "Wrong".into(),
            message: error.0.clone(),
            traceback: String::new(),
            in_encoding: is_encoding,
        }
    }

    fn refuse_result(&self, _value: &Value, label: &str, error: Wrong) -> Wrong {
        Wrong(format!("the result of {label}: {}", error.0))
    }

    fn fork(&self, _first_input: Option<&Value>) -> Result<i32, Wrong> {
        // SAFETY: the child runs one function of this language and ends.
        Ok(unsafe { libc::fork() })
    }

    fn flush(&self) {}

    fn exit_status(&self, _error: Option<&Wrong>) -> i32 {
        1
    }

    fn run_separately(&self, messages: &[u8]) -> Result<(Vec<u8>, Ended), Wrong> {
        Ok(((self.run_separately)(messages), Ended::Status(0)))
    }
}
