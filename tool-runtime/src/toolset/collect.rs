//! A toolset of every `#[tool]` in the program, without a list.

use std::{
    any::{Any, TypeId, type_name},
    collections::HashMap,
    fmt,
    sync::Arc,
};

use super::{Toolset, ToolsetError};
use crate::tool::dynamic::{OneState, StateParts};
use crate::tool::{Bound, Def, ErasedTool, Start};

/// A declared tool, as the linker collects it.
#[derive(Debug)]
pub struct Collected {
    /// The declaration.
    pub def: &'static Def,
    /// Starts a call.
    pub start: Start<States>,
    /// Returns the types of state that the tool needs, and their names.
    pub needs: fn() -> Vec<(TypeId, &'static str)>,
}

inventory::collect!(Collected);

/// The state of collected tools: values by their type.
#[derive(Clone, Default)]
pub struct States {
    values: HashMap<TypeId, Arc<dyn Any + Send + Sync>>,
}

impl States {
    /// Creates an empty set of states.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a value. It replaces an earlier one of its type.
    pub fn with<T: Send + Sync + 'static>(mut self, value: T) -> Self {
        self.values.insert(TypeId::of::<T>(), Arc::new(value));
        self
    }

    /// Returns the value of type `T`.
    ///
    /// # Panics
    ///
    /// If there is none. [`Toolset::collect`] has checked that there is one.
    #[doc(hidden)]
    pub fn get<T: 'static>(&self) -> &T {
        let value = self.values.get(&TypeId::of::<T>()).and_then(|value| value.downcast_ref());
        value.expect("`Toolset::collect` has checked that every needed state is there")
    }
}

impl fmt::Debug for States {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("States").field("count", &self.values.len()).finish()
    }
}

/// Returns the id and the name of a type, for [`Collected::needs`].
pub fn need<T: 'static>() -> (TypeId, &'static str) {
    (TypeId::of::<T>(), type_name::<T>())
}

/// The lookup of the state that a nested input needs. [`Toolset::collect`] checks that the state is there.
pub trait Collect<W: StateParts> {
    /// Returns the state that the input needs.
    fn taken(&self) -> W::Given<'_>;
    /// Adds the types that the input needs to `all`.
    fn needs(all: &mut Vec<(TypeId, &'static str)>);
}

impl Collect<()> for States {
    fn taken(&self) {}

    fn needs(_: &mut Vec<(TypeId, &'static str)>) {}
}

impl<T: 'static> Collect<OneState<T>> for States {
    fn taken(&self) -> &T {
        self.get()
    }

    fn needs(all: &mut Vec<(TypeId, &'static str)>) {
        all.push(need::<T>());
    }
}

impl<A: StateParts, B: StateParts> Collect<(A, B)> for States
where
    Self: Collect<A> + Collect<B>,
{
    fn taken(&self) -> (A::Given<'_>, B::Given<'_>) {
        (Collect::<A>::taken(self), Collect::<B>::taken(self))
    }

    fn needs(all: &mut Vec<(TypeId, &'static str)>) {
        <Self as Collect<A>>::needs(all);
        <Self as Collect<B>>::needs(all);
    }
}

/// The error of collecting the tools of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CollectError {
    /// Two tools have one name, or a tool's name or schema cannot be used.
    InvalidTool(ToolsetError),
    /// A tool needs a state that was not given.
    MissingState {
        /// The tool.
        tool: String,
        /// The type of the state.
        state: &'static str,
    },
}

impl fmt::Display for CollectError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InvalidTool(error) => error.fmt(out),
            Self::MissingState { tool, state } => {
                write!(out, "the tool `{tool}` needs a `{state}`: add one with `States::with`")
            }
        }
    }
}

impl std::error::Error for CollectError {}

impl Toolset {
    /// Returns every tool that is declared anywhere in the program, ordered by name.
    ///
    /// Fails as [`Toolset::of`] does, and when a tool needs a state that `states` does not hold.
    pub fn collect(states: States) -> Result<Self, CollectError> {
        let states = Arc::new(states);
        let mut all: Vec<&'static Collected> = inventory::iter::<Collected>.into_iter().collect();
        all.sort_by_key(|tool| tool.def.name);
        let mut tools = Vec::with_capacity(all.len());
        for tool in all {
            if let Some((_, state)) = (tool.needs)().into_iter().find(|(id, _)| !states.values.contains_key(id)) {
                return Err(CollectError::MissingState { tool: tool.def.name.to_owned(), state });
            }
            let bound = Bound { def: tool.def, start: tool.start, state: Arc::clone(&states) };
            tools.push(Arc::new(bound) as Arc<dyn ErasedTool>);
        }
        Self::of(tools).map_err(CollectError::InvalidTool)
    }
}
