//! How the parameters of a tool wait for each other.

use proc_macro2::Ident;
use syn::ext::IdentExt;

use crate::{
    model::{Arg, Tool},
    syntax::dynamic::Dynamic,
};

/// The parameters, and for each those that it waits for, as places among the tool's parameters.
pub(crate) struct Graph<'t> {
    args: Vec<&'t Arg>,
    before: Vec<Vec<(usize, &'t Ident)>>,
}

/// Parameters that wait for each other: the place where it is said, and the path from the first back to itself.
pub(crate) struct Cycle<'t> {
    pub(crate) at: &'t Ident,
    pub(crate) path: Vec<&'t Ident>,
}

/// Whether two identifiers are the same word.
pub(crate) fn same(a: &Ident, b: &Ident) -> bool {
    a.unraw() == b.unraw()
}

impl<'t> Graph<'t> {
    /// The graph of what is known to be a dynamic parameter; what is not has been told.
    pub(crate) fn of(tool: &'t Tool) -> Self {
        let args: Vec<&Arg> = tool.args().collect();
        let place = |own: &Arg, name: &Ident| {
            args.iter().position(|arg| same(&arg.ident, name) && !same(&own.ident, name) && arg.attrs.dynamic.is_some())
        };
        let before = args
            .iter()
            .map(|arg| {
                let names = arg.attrs.dynamic.iter().flat_map(Dynamic::before);
                names.filter_map(|name| Some((place(arg, name)?, name))).collect()
            })
            .collect();
        Self { args, before }
    }

    /// The dynamic parameters in the order in which they are asked: each after those it waits for, and of those that wait
    /// for none any more, the one first whose name in the arguments is the least.
    pub(crate) fn order(&self) -> Vec<usize> {
        let mut left: Vec<usize> = (0..self.args.len()).filter(|&arg| self.args[arg].attrs.dynamic.is_some()).collect();
        left.sort_by(|a, b| self.args[*a].name.cmp(&self.args[*b].name));
        let mut order: Vec<usize> = Vec::with_capacity(left.len());
        let ready = |arg: &usize, order: &[usize]| self.before[*arg].iter().all(|(before, _)| order.contains(before));
        while let Some(next) = left.iter().position(|arg| ready(arg, &order)) {
            order.push(left.remove(next));
        }
        order
    }

    /// What waits for itself.
    pub(crate) fn cycles(&self) -> Vec<Cycle<'t>> {
        let mut search =
            Search { graph: self, done: vec![false; self.args.len()], path: Vec::new(), found: Vec::new() };
        for arg in 0..self.args.len() {
            search.visit(arg);
        }
        search.found
    }
}

struct Search<'g, 't> {
    graph: &'g Graph<'t>,
    done: Vec<bool>,
    path: Vec<usize>,
    found: Vec<Cycle<'t>>,
}

impl Search<'_, '_> {
    fn visit(&mut self, arg: usize) {
        if self.done[arg] {
            return;
        }
        self.path.push(arg);
        for &(before, at) in &self.graph.before[arg] {
            if let Some(start) = self.path.iter().position(|&earlier| earlier == before) {
                let path = self.path[start..].iter().chain([&before]).map(|&arg| &self.graph.args[arg].ident);
                self.found.push(Cycle { at, path: path.collect() });
            } else {
                self.visit(before);
            }
        }
        self.path.pop();
        self.done[arg] = true;
    }
}
