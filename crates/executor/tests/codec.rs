//! Values come back as they were written, and no bytes make the reader panic.

// A test fails by panicking.
#![allow(clippy::unwrap_used)]

use freestone_executor::codec::direct::{
    DTYPES, Element, MAX_DEPTH, Reader, Shape, Writer, array_nbytes, write_inputs,
};
use freestone_executor::codec::forms::DIRECT;
use freestone_executor::codec::{Arguments, CodecError, Inline};
use proptest::prelude::*;

/// A value with its parts.
#[derive(Clone, Debug, PartialEq)]
enum Value {
    None,
    Boolean(bool),
    Integer(i64),
    Float(u64),
    Text(String),
    Bytes(Vec<u8>),
    Tuple(Vec<Value>),
    Named(Vec<u8>, Vec<Value>),
    Array(usize, bool, Vec<usize>, Vec<u8>),
    Scalar(usize, Vec<u8>),
    Input(u32),
}

fn values() -> impl Strategy<Value = Value> {
    let bytes = || prop::collection::vec(any::<u8>(), 0..40);
    let dtype = || 0..DTYPES.len();
    let array = (dtype(), any::<bool>(), prop::collection::vec(0_usize..4, 0..4));
    let leaf = prop_oneof![
        Just(Value::None),
        any::<bool>().prop_map(Value::Boolean),
        any::<i64>().prop_map(Value::Integer),
        any::<u64>().prop_map(Value::Float),
        ".{0,20}".prop_map(Value::Text),
        bytes().prop_map(Value::Bytes),
        array.prop_map(|(dtype, is_writeable, shape)| {
            let bytes = (0..array_nbytes(dtype, &shape).unwrap()).map(|at| at as u8).collect();
            Value::Array(dtype, is_writeable, shape, bytes)
        }),
        dtype().prop_map(|dtype| Value::Scalar(dtype, vec![7; DTYPES[dtype].1])),
        any::<u32>().prop_map(Value::Input),
    ];
    leaf.prop_recursive(4, 40, 5, move |inner| {
        let parts = prop::collection::vec(inner, 0..5);
        prop_oneof![
            parts.clone().prop_map(Value::Tuple),
            (bytes(), parts).prop_map(|(class, parts)| Value::Named(class, parts)),
        ]
    })
}

fn write(writer: &mut Writer, value: &Value) -> Option<()> {
    let raw = |raw: &[u8], bytes: &mut Vec<u8>| {
        bytes.extend_from_slice(raw);
        Some(())
    };
    match value {
        Value::None => writer.none(),
        Value::Boolean(value) => writer.boolean(*value),
        Value::Integer(value) => writer.integer(*value),
        Value::Float(bits) => writer.float(f64::from_bits(*bits)),
        Value::Text(text) => writer.text(text),
        Value::Bytes(bytes) => writer.bytes(bytes),
        Value::Tuple(parts) => {
            writer.tuple(parts.len())?;
            parts.iter().try_for_each(|part| write(writer, part))
        }
        Value::Named(class, parts) => {
            writer.named_tuple(class, parts.len())?;
            parts.iter().try_for_each(|part| write(writer, part))
        }
        Value::Array(dtype, is_writeable, shape, of_array) => {
            writer.array(*dtype, *is_writeable, shape, |bytes| raw(of_array, bytes))
        }
        Value::Scalar(dtype, of_scalar) => writer.scalar(*dtype, |bytes| raw(of_scalar, bytes)),
        Value::Input(position) => writer.input(*position as usize),
    }
}

fn read(reader: &mut Reader<'_>, depth: usize) -> Result<Value, CodecError> {
    let parts = |reader: &mut Reader<'_>, length| {
        (0..length).map(|_| read(reader, depth + 1)).collect::<Result<Vec<_>, _>>()
    };
    Ok(match reader.element(depth)? {
        Element::None => Value::None,
        Element::Boolean(value) => Value::Boolean(value),
        Element::Integer(value) => Value::Integer(value),
        Element::Float(value) => Value::Float(value.to_bits()),
        Element::Text(text) => Value::Text(text.into()),
        Element::Bytes(bytes) => Value::Bytes(bytes.into()),
        Element::Tuple(length) => Value::Tuple(parts(reader, length)?),
        Element::NamedTuple { class, length } => Value::Named(class.into(), parts(reader, length)?),
        Element::Array { dtype, is_writeable, shape, bytes } => {
            Value::Array(dtype, is_writeable, shape.to_vec(), bytes.into())
        }
        Element::Scalar { dtype, bytes } => Value::Scalar(dtype, bytes.into()),
        Element::Input(position) => Value::Input(position as u32),
    })
}

fn direct(bytes: &[u8]) -> Reader<'_> {
    match Inline::parse(bytes) {
        Ok(Inline::Direct(reader)) => reader,
        other => panic!("not written directly: {other:?}"),
    }
}

proptest! {
    #[test]
    fn values_come_back(value in values()) {
        let mut writer = Writer::new(DIRECT, usize::MAX);
        write(&mut writer, &value).unwrap();
        let bytes = writer.finish();
        prop_assert_eq!(read(&mut direct(&bytes), 0), Ok(value.clone()));
        // In just as many bytes, but not in one fewer; and nothing is read of less.
        let fits = |limit| write(&mut Writer::new(DIRECT, limit), &value).is_some();
        prop_assert!(fits(bytes.len()));
        prop_assert!(!fits(bytes.len() - 1));
        prop_assert_eq!(read(&mut direct(&bytes[..bytes.len() - 1]), 0), Err(CodecError::CutShort));
    }

    #[test]
    fn no_bytes_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        // Most values begin with one of these.
        let tag = b"Nftidsb({a0I"[usize::from(bytes.first().copied().unwrap_or(0)) % 12];
        let _ = read(&mut Reader::new(&[&[tag], &*bytes].concat()), 0);
        let _ = Inline::parse(&bytes);
        let _ = Arguments::parse(&bytes);
    }
}

#[test]
fn what_is_nested_too_deep_is_refused() {
    let nested = |depth: usize| {
        let value = (0..depth).fold(Value::None, |inner, _| Value::Tuple(vec![inner]));
        let mut writer = Writer::new(DIRECT, usize::MAX);
        write(&mut writer, &value).unwrap();
        read(&mut direct(&writer.finish()), 0).map(|found| found == value)
    };
    assert_eq!(nested(MAX_DEPTH + 1), Ok(true));
    assert_eq!(nested(MAX_DEPTH + 2), Err(CodecError::TooDeep));
}

#[test]
fn an_array_is_not_asked_for_bytes_that_do_not_fit() {
    let unasked = |_: &mut Vec<u8>| panic!("the array was asked");
    let mut writer = Writer::new(DIRECT, 1 << 20);
    assert_eq!(writer.array(11, true, &[1 << 18], unasked), None);
    assert_eq!(writer.array(11, true, &[usize::MAX, 2], unasked), None);
    // One that gives other bytes than its shape says would shift what follows.
    assert_eq!(
        writer.array(11, true, &[2], |bytes| {
            bytes.push(0);
            Some(())
        }),
        None
    );
}

#[test]
fn the_reader_names_what_it_can_not_read() {
    let element = |bytes: &[u8]| Reader::new(bytes).element(0).unwrap_err();
    assert_eq!(element(b"?"), CodecError::UnknownTag(b'?'));
    assert_eq!(element(b"0\x0e"), CodecError::UnknownDtype(14));
    assert_eq!(element(b"s\x01\xff"), CodecError::NoText);
    assert_eq!(element(b"s\xff\xff\xff\xff\x10"), CodecError::TooLarge);
    assert_eq!(element(b"i\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"), CodecError::TooLarge);
    assert_eq!(element(b"i\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\0"), CodecError::TooLarge);
    assert_eq!(element(b""), CodecError::CutShort);
    assert_eq!(Arguments::parse(b"").unwrap_err(), CodecError::NoArguments);
    assert_eq!(Arguments::parse(b"\x07").unwrap_err(), CodecError::UnknownForm(7));
    assert_eq!(Inline::parse(b"\x07").unwrap_err(), CodecError::UnknownForm(7));
}

#[test]
fn small_numbers_take_few_bytes() {
    let nbytes = |number: i64| {
        let mut writer = Writer::new(DIRECT, usize::MAX);
        writer.integer(number).unwrap();
        writer.finish().len() - b"\x02i".len()
    };
    let numbers = [0, -64, 63, 64, 999_999, -1_000_000, i64::MAX, i64::MIN];
    assert_eq!(numbers.map(nbytes), [1, 1, 1, 2, 3, 3, 10, 10]);
}

#[test]
fn arguments_can_be_just_the_inputs() {
    let bytes = write_inputs(DIRECT, 3).unwrap();
    let Ok(Arguments::Direct(mut reader)) = Arguments::parse(&bytes) else { panic!("not direct") };
    assert_eq!(reader.length(), Ok(3));
    let inputs: Vec<_> = (0..3).map(|_| reader.element(0).unwrap()).collect();
    assert_eq!(inputs, [Element::Input(0), Element::Input(1), Element::Input(2)]);
    assert_eq!(reader.length(), Ok(0));
}

#[test]
fn pickles_come_back_with_their_buffers() {
    for buffers in [vec![], vec![&b""[..]], vec![&b"one"[..], b"three"]] {
        let bytes = Inline::of_pickle(b"stream", &buffers);
        let Ok(Inline::Pickle { stream, buffers: found }) = Inline::parse(&bytes) else {
            panic!("not a pickle")
        };
        assert_eq!((stream, found), (&b"stream"[..], buffers.clone()));
        if !buffers.is_empty() {
            // The stream has no length, so only what is before it can be missing.
            let cut = &bytes[..bytes.len() - b"stream".len() - 1];
            assert_eq!(Inline::parse(cut).unwrap_err(), CodecError::CutShort);
        }
    }
    for has_keywords in [false, true] {
        let bytes = Arguments::of_pickle(b"stream", has_keywords);
        match Arguments::parse(&bytes).unwrap() {
            Arguments::Positional(stream) => {
                assert_eq!((stream, has_keywords), (&b"stream"[..], false));
            }
            Arguments::WithKeywords(stream) => {
                assert_eq!((stream, has_keywords), (&b"stream"[..], true));
            }
            Arguments::Direct(_) => panic!("a pickle"),
        }
    }
}

#[test]
fn shapes_whose_product_overflows_have_no_size() {
    assert_eq!(array_nbytes(0, &Shape::from_slice(&[usize::MAX, 2])), None);
    assert_eq!(array_nbytes(DTYPES.len(), &[]), None);
    assert_eq!(array_nbytes(13, &[2, 3]), Some(96));
}
