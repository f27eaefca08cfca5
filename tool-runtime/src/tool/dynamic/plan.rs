//! How dynamic parameters depend on each other.

use std::borrow::Cow;

use crate::tool::Def;

/// A dynamic parameter among the others. The nodes of a tool stand in the order in which their validators are asked, and
/// what they say is told.
#[derive(Clone, Copy, Debug)]
pub struct Node {
    /// Which of the tool's parameters it is.
    pub field: usize,
    /// The parameters that must be accepted before the validator is asked.
    pub requires: &'static [usize],
    /// The parameters that are judged before, whatever comes of it.
    pub after: &'static [usize],
}

/// The parameters of a tool, and how the dynamic ones among them depend on each other.
pub(crate) trait Shape {
    /// The name of a parameter.
    fn name(&self, field: usize) -> &str;
    /// The same, to be kept.
    fn kept_name(&self, field: usize) -> Cow<'static, str> {
        Cow::Owned(self.name(field).to_owned())
    }
    /// Which parameter a name in the arguments means.
    fn find(&self, name: &str) -> Option<usize>;
    /// How many parameters there are.
    fn fields(&self) -> usize;
    /// Whether a validator is asked about a parameter.
    fn is_dynamic(&self, field: usize) -> bool;
    /// Whether the parameter is an object whose own fields are judged.
    fn is_nested(&self, _field: usize) -> bool {
        false
    }
    /// How many dynamic parameters there are.
    fn nodes(&self) -> usize;
    /// Which parameter the dynamic one at `node` is.
    fn field(&self, node: usize) -> usize;
    /// What must be accepted before it.
    fn requires(&self, node: usize) -> &[usize];
    /// What is judged before it.
    fn after(&self, node: usize) -> &[usize];
}

/// The shape of a declared tool.
#[derive(Clone, Copy)]
pub struct Declared {
    pub def: &'static Def,
    pub nodes: &'static [Node],
}

impl Shape for Declared {
    fn name(&self, field: usize) -> &str {
        self.def.fields[field].param.name
    }

    fn kept_name(&self, field: usize) -> Cow<'static, str> {
        Cow::Borrowed(self.def.fields[field].param.name)
    }

    fn find(&self, name: &str) -> Option<usize> {
        self.def.fields.iter().position(|field| field.param.is_called(name))
    }

    fn fields(&self) -> usize {
        self.def.fields.len()
    }

    fn is_dynamic(&self, field: usize) -> bool {
        self.def.fields[field].dynamic
    }

    fn is_nested(&self, field: usize) -> bool {
        self.def.fields[field].nested
    }

    fn nodes(&self) -> usize {
        self.nodes.len()
    }

    fn field(&self, node: usize) -> usize {
        self.nodes[node].field
    }

    fn requires(&self, node: usize) -> &[usize] {
        self.nodes[node].requires
    }

    fn after(&self, node: usize) -> &[usize] {
        self.nodes[node].after
    }
}
