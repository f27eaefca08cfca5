//! The reading of messages. One reader turns the text of a message into its members, and each end of a connection reads the
//! members that it knows. All else goes to rmcp as it came.

use rmcp::{
    model::JsonRpcMessage,
    service::{RxJsonRpcMessage, ServiceRole, TxJsonRpcMessage},
};
use serde::{Deserialize, Deserializer, de::DeserializeOwned};
use serde_json::{error::Category, value::RawValue};

/// The reader of one end of a connection.
pub trait MessageReader: Send + 'static {
    type Role: ServiceRole;

    /// Notes a message that this end sends, so that the response to it can be read.
    fn note_sent(&self, _: &TxJsonRpcMessage<Self::Role>) {}

    /// Reads a message. Returns `None` if it is to be ignored.
    ///
    /// Fails if it is JSON, but no message.
    fn read(&self, text: &[u8]) -> Result<Option<RxJsonRpcMessage<Self::Role>>, InvalidMessage>;
}

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
