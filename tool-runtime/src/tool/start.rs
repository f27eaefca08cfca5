//! The code that starts a call: compiled once for each list of parameters' types, not for each tool.

use std::fmt;

use futures_util::{FutureExt, future::BoxFuture};

use super::{CallError, Context, Def, Refused, Started, Starting, Values};

/// The code that reads arguments and prepares a call.
pub enum Start<S: 'static> {
    /// For a tool that needs no state.
    Stateless(&'static dyn StartStateless),
    /// For a tool that needs the state.
    On(&'static dyn StartWithState<S>),
    /// For a tool with dynamic parameters.
    Asking(for<'a> fn(&'a S, &'a str, &'a Context) -> BoxFuture<'a, Result<Started<'a>, Refused>>),
}

/// Starts a call of a tool that needs no state, whatever the types of its parameters.
pub trait StartStateless: Sync {
    /// Reads the arguments `text` of the tool `def`, and prepares the call.
    fn start<'a>(&self, def: &'static Def, text: &str, cx: &'a Context) -> Result<Started<'a>, Refused>;
}

/// The call with values of these types. What reads them is compiled once for each list of types, not for each tool.
#[derive(Debug)]
pub struct Begin<V>(pub for<'a> fn(V, &'a Context) -> Started<'a>);

impl<V: Values> StartStateless for Begin<V> {
    fn start<'a>(&self, def: &'static Def, text: &str, cx: &'a Context) -> Result<Started<'a>, Refused> {
        match V::read(def, text, cx) {
            Ok(values) => Ok((self.0)(values, cx)),
            Err(refused) => Err(refused),
        }
    }
}

/// Starts a call of a tool that needs the state `S`, whatever the types of its parameters.
pub trait StartWithState<S>: Sync {
    /// Reads the arguments `text` of the tool `def`, and prepares the call.
    fn start<'a>(&self, def: &'static Def, state: &'a S, text: &str, cx: &'a Context) -> Result<Started<'a>, Refused>;
}

/// The call with the state `S` and values of these types.
#[derive(Debug)]
pub struct BeginWithState<S, V>(pub for<'a> fn(&'a S, V, &'a Context) -> Started<'a>);

impl<S, V: Values> StartWithState<S> for BeginWithState<S, V> {
    fn start<'a>(&self, def: &'static Def, state: &'a S, text: &str, cx: &'a Context) -> Result<Started<'a>, Refused> {
        match V::read(def, text, cx) {
            Ok(values) => Ok((self.0)(state, values, cx)),
            Err(refused) => Err(refused),
        }
    }
}

impl<S> Start<S> {
    /// Reads the arguments of the tool `def`.
    #[inline]
    pub(crate) fn start<'a>(
        self,
        def: &'static Def,
        state: &'a S,
        arguments: &'a str,
        cx: &'a Context,
    ) -> Starting<'a> {
        let started = match self {
            Self::Stateless(begin) => begin.start(def, arguments, cx),
            Self::On(begin) => begin.start(def, state, arguments, cx),
            Self::Asking(start) => return Starting::asking(start(state, arguments, cx).map(|started| Ok(started?))),
        };
        Starting::read(started.map_err(CallError::from))
    }
}

impl<S> Clone for Start<S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S> Copy for Start<S> {}

impl<S> fmt::Debug for Start<S> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Stateless(_) => "Stateless",
            Self::On(_) => "On",
            Self::Asking(_) => "Asking",
        })
    }
}
