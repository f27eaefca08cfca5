//! How the parameters of a tool wait for each other.

use proc_macro2::Ident;
use syn::ext::IdentExt;

use super::Param;
use crate::syntax::dynamic::Dynamic;

/// The parameters, and for each those that it waits for, as places among the parameters.
pub(crate) struct Graph<'t> {
    params: &'t [Param],
    before: Vec<Vec<(usize, &'t Ident)>>,
}

/// Parameters that wait for each other: the place where one names the next, and the path from the first back to itself.
pub(crate) struct Cycle<'t> {
    pub(crate) at: &'t Ident,
    pub(crate) path: Vec<&'t Ident>,
}

/// Returns whether two identifiers are the same word.
pub(crate) fn same(a: &Ident, b: &Ident) -> bool {
    a.unraw() == b.unraw()
}

impl<'t> Graph<'t> {
    /// Returns the graph of what is known to be a dynamic parameter; what is not has been reported.
    pub(crate) fn of(params: &'t [Param]) -> Self {
        let place = |own: &Param, name: &Ident| {
            params.iter().position(|param| same(&param.ident, name) && !same(&own.ident, name) && param.is_dynamic())
        };
        let before = params
            .iter()
            .map(|param| {
                let names = param.attrs.dynamic.iter().flat_map(Dynamic::before);
                names.filter_map(|name| Some((place(param, name)?, name))).collect()
            })
            .collect();
        Self { params, before }
    }

    /// The dynamic parameters in the order in which they are asked: each after those it waits for, and of those that wait
    /// for none any more, the one first whose name in the arguments is the least.
    pub(crate) fn order(&self) -> Vec<usize> {
        let mut left: Vec<usize> = (0..self.params.len()).filter(|&param| self.params[param].is_dynamic()).collect();
        left.sort_by(|a, b| self.params[*a].name.cmp(&self.params[*b].name));
        let mut order: Vec<usize> = Vec::with_capacity(left.len());
        let ready = |arg: &usize, order: &[usize]| self.before[*arg].iter().all(|(before, _)| order.contains(before));
        while let Some(next) = left.iter().position(|arg| ready(arg, &order)) {
            order.push(left.remove(next));
        }
        order
    }

    /// Returns every cycle.
    pub(crate) fn cycles(&self) -> Vec<Cycle<'t>> {
        let mut search =
            Search { graph: self, done: vec![false; self.params.len()], path: Vec::new(), found: Vec::new() };
        for arg in 0..self.params.len() {
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
                let path = self.path[start..].iter().chain([&before]).map(|&arg| &self.graph.params[arg].ident);
                self.found.push(Cycle { at, path: path.collect() });
            } else {
                self.visit(before);
            }
        }
        self.path.pop();
        self.done[arg] = true;
    }
}
