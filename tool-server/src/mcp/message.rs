//! The reading of messages. One reader turns the text of a message into its members, and each end of a connection reads the
//! members that it knows. All else goes to rmcp as it came.

use rmcp::{
    model::{JsonObject, JsonRpcMessage},
    service::{RxJsonRpcMessage, ServiceRole, TxJsonRpcMessage},
};
use serde::{Deserialize, Deserializer, de::DeserializeOwned};
use serde_json::{error::Category, value::RawValue};
use tool_schema::json::{is_same_value, text::compact};

/// The reader and writer of one end of a connection.
pub trait MessageReader: Clone + Send + 'static {
    type Role: ServiceRole;

    /// Returns the JSON of a message that this end sends.
    fn write(&self, message: &TxJsonRpcMessage<Self::Role>) -> serde_json::Result<Vec<u8>> {
        serde_json::to_vec(message)
    }

    /// Returns the messages of a batch. Returns none if this end accepts no batches, or the text is none.
    fn read_batch<'a>(&self, _: &'a [u8]) -> Vec<&'a RawValue> {
        Vec::new()
    }

    /// Reads a message. Returns `None` if it is to be ignored.
    ///
    /// Fails if it is JSON, but no message.
    fn read(&self, text: &[u8]) -> ReadMessage<Self::Role>;
}

/// The result of reading a message: the message, `None` if it is to be ignored, or an error if it is JSON, but no message.
pub type ReadMessage<R> = Result<Option<RxJsonRpcMessage<R>>, InvalidMessage>;

/// The error for JSON that is no message.
#[derive(Debug)]
pub struct InvalidMessage;

/// The members of a message, as they came. A member that is `null` counts as missing, except a result.
#[derive(Deserialize)]
pub struct Members<'a> {
    #[serde(borrow, default)]
    pub jsonrpc: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub method: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub params: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub error: Option<&'a RawValue>,
}

fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    Deserialize::deserialize(deserializer).map(Some)
}

impl<'a> Members<'a> {
    /// Reads the members of a message. Returns `None` if `text` is no object, or has a member twice.
    pub fn of(text: &'a str) -> Option<Self> {
        read_object(text)
    }

    /// Returns the name of the method.
    pub fn method(&self) -> Option<String> {
        read(self.method?)
    }
}

/// The JSON of a call's arguments with all digits. It is an extension of the request.
#[derive(Clone, Debug)]
pub struct ExactArguments(pub String);

impl ExactArguments {
    /// Returns the extension for arguments with the JSON `json`. Returns `None` if a `Value` holds all of it.
    pub fn of(json: &str) -> Option<Self> {
        let is_lost =
            has_long_number(json) && Self::rewritten(json).is_some_and(|written| !is_same_value(json, &written.0));
        is_lost.then(|| Self(compact(json)))
    }

    /// Returns the extension for arguments with the JSON `json`, in the form in which a `Value` writes them if it holds all of them.
    /// Returns `None` if they are no object that a `Value` can hold.
    pub fn read(json: &str) -> Option<Self> {
        Self::of(json).or_else(|| Self::rewritten(json))
    }

    fn rewritten(json: &str) -> Option<Self> {
        let read: JsonObject = serde_json::from_str(json).ok()?;
        serde_json::to_string(&read).ok().map(Self)
    }
}

/// Returns whether a number in `json` may have more than 15 digits. A `Value` holds all others.
fn has_long_number(json: &str) -> bool {
    let mut length = 0;
    json.bytes().any(|byte| {
        length = if byte.is_ascii_digit() || byte == b'.' { length + 1 } else { 0 };
        length > 15
    })
}

/// Reads a struct from an object. A derived reader would also accept a list.
pub fn read_object<'a, T: Deserialize<'a>>(text: &'a str) -> Option<T> {
    text.trim_start().starts_with('{').then(|| serde_json::from_str(text).ok())?
}

/// Reads a value of the type `T`.
pub fn read<T: DeserializeOwned>(value: &RawValue) -> Option<T> {
    serde_json::from_str(value.get()).ok()
}

/// Returns `text` without a byte order mark, which JSON readers may ignore.
pub fn without_mark(text: &[u8]) -> &[u8] {
    text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(text)
}

/// Reads a message as rmcp does. Returns `None` for text that is not JSON, and for a notification that rmcp cannot read: nobody
/// responds to these.
///
/// Fails for other JSON.
pub fn read_as_it_came<R: ServiceRole>(text: &str) -> Result<Option<RxJsonRpcMessage<R>>, InvalidMessage> {
    match serde_json::from_str::<JsonRpcMessage<_, _, _>>(text) {
        Ok(message) => Ok(Some(message)),
        Err(error) if matches!(error.classify(), Category::Syntax | Category::Eof) => Ok(None),
        Err(_) => match Members::of(text) {
            Some(Members { method: Some(_), id: None, .. }) => Ok(None),
            _ => Err(InvalidMessage),
        },
    }
}
