//! What a validator knows of the other parameters.

use std::{ops::Index, sync::Arc};

use serde_json::{Map, Value};

use super::shape::Parameters;
use crate::tool::{
    Context,
    dynamic::{Board, Shape},
};

/// What a validator of a [`DynamicField`](super::DynamicField) knows of the other parameters, and of the call.
///
/// `known["departure"]` is the value of a parameter that is required, or of a static one.
#[derive(Clone, Debug)]
pub struct Known {
    parameters: Arc<Parameters>,
    given: Arc<Map<String, Value>>,
    node: usize,
    /// The accepted values of what it requires and comes after.
    values: Vec<(usize, Value)>,
    call: Context,
}

impl Known {
    pub(super) fn new(
        parameters: &Arc<Parameters>,
        given: &Arc<Map<String, Value>>,
        node: usize,
        board: &Board,
        call: &Context,
    ) -> Self {
        let seen = parameters.requires(node).iter().chain(parameters.after(node));
        let values = seen.filter_map(|field| Some((*field, board.get::<Value>(*field)?.clone()))).collect();
        Self { parameters: Arc::clone(parameters), given: Arc::clone(given), node, values, call: call.clone() }
    }

    /// The accepted value of a parameter that this one requires or comes after, or of a static parameter; `None` where
    /// there is none, and for every other name.
    pub fn get(&self, name: &str) -> Option<&Value> {
        let field = self.parameters.find(name)?;
        if !self.parameters.is_dynamic(field) {
            return self.given.get(name);
        }
        self.values.iter().find(|(known, _)| *known == field).map(|(_, value)| value)
    }

    /// What was given for a parameter among [`hints`](super::DynamicField::hints), right or wrong.
    pub fn hint(&self, name: &str) -> Option<&Value> {
        let field = self.parameters.find(name)?;
        self.parameters.hints(self.node).contains(&field).then(|| self.given.get(name)).flatten()
    }

    /// The call.
    pub fn context(&self) -> &Context {
        &self.call
    }
}

impl Index<&str> for Known {
    type Output = Value;

    /// # Panics
    ///
    /// Where [`Known::get`] gives `None`. What is required is always there; a panic refuses the parameter, and the log says
    /// why.
    fn index(&self, name: &str) -> &Value {
        match self.get(name) {
            Some(value) => value,
            None => panic!("`{name}` has no value here; a validator sees what it `requires`"),
        }
    }
}
