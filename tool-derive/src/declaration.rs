//! The user's declarations, resolved, with the places where they were written.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote};
use syn::{Attribute, Expr, Generics, Member, Path, Type, Visibility, ext::IdentExt};

use crate::diag::text::{self, Advice};
use crate::syntax::{
    attribute::Description,
    grammar::Spanned,
    options::{Approval, Options},
    params::{DerivedValue, Dynamic, ParamAttrs},
    serde_attrs::pascal_case,
    types::type_argument,
};

/// A tool.
pub struct ToolDef {
    pub head: DeclarationHead,
    pub options: Options,
    pub input: Input,
    pub body: Body,
    pub start: Start,
}

/// The names and the visibility of a declaration.
pub struct DeclarationHead {
    /// The type of a tool or of a nested input. For a variant, the prefix of its context types.
    pub ident: Ident,
    pub vis: Visibility,
    /// The name by which the model calls the tool. For a variant or a nested input, a name for people.
    pub name: String,
    pub description: Option<Description>,
    /// The path of the runtime, if the declaration sets one.
    pub krate: Option<Path>,
    /// Set if the fields or the signature have no errors, so that the expansion can use their types.
    pub is_sound: bool,
}

/// The arguments of a tool.
pub enum Input {
    Params(Params),
    Enum(EnumInput),
}

/// The parameters of a tool, a variant or a nested input, which form one value.
pub struct Params {
    /// The path of the struct or variant, which stands before the fields in braces.
    pub path: TokenStream,
    /// The tag, for a variant. It comes before the fields.
    pub tag: Option<Tag>,
    pub fields: Vec<Param>,
}

/// The tag of a variant: the entry of the arguments that selects the variant.
pub struct Tag {
    pub name: String,
    /// The value that selects this variant.
    pub value: String,
}

/// The variants of an enum, which a tag distinguishes.
pub struct EnumInput {
    /// The name of the tag.
    pub tag: Spanned<String>,
    pub variants: Vec<Variant>,
}

/// One variant of an enum.
pub struct Variant {
    pub head: DeclarationHead,
    pub params: Params,
    /// The state of the enum.
    pub state: Option<Type>,
}

/// A struct whose fields are validated when it is nested in a tool's arguments.
pub struct NestedInput {
    pub head: DeclarationHead,
    pub params: Params,
    /// The state of the fields' validators.
    pub state: Option<Type>,
    /// The kinds of advice that the declaration turns off.
    pub allow: Vec<Advice>,
}

/// A parameter that the model provides, or the application if it is secret.
pub struct Param {
    pub ident: Ident,
    pub ty: Type,
    /// The parameter's name in the arguments.
    pub name: String,
    pub description: Option<Description>,
    pub attrs: ParamAttrs,
}

/// The executor of a call.
pub enum Body {
    /// A function, or a method of a type.
    Function(Box<Function>),
    /// A struct or an enum, by its impl of `Execute`, or of `ExecuteWith<state>`.
    Struct { state: Option<Type> },
    /// A client outside the program, which returns a value of the type `output`. Only validators and the check use the state.
    External { state: Option<Type>, output: Box<Type> },
}

/// The function behind a tool.
pub struct Function {
    /// The path by which the expansion calls the function.
    pub path: TokenStream,
    /// The type of `self`, for a method.
    pub owner: Option<Type>,
    /// The place of the function's name.
    pub span: Span,
    pub is_async: bool,
    /// Set if the function returns a stream of outputs.
    pub is_stream: bool,
    /// The arguments, without `self`.
    pub args: Vec<Argument>,
    /// The type of the return value; for a stream, the type of an item.
    pub returns: Type,
    pub returns_span: Span,
}

/// An argument of a function.
pub enum Argument {
    /// The next parameter of the input.
    Param,
    State(StateArg),
    Derived(DerivedArg),
    Context {
        ty: Type,
        by_ref: bool,
    },
}

/// An argument that comes from the application's state.
pub struct StateArg {
    /// The argument's name, if its pattern is a name.
    pub ident: Option<Ident>,
    pub ty: Type,
    pub by_ref: bool,
}

/// An argument that a validator derived from a parameter.
pub struct DerivedArg {
    /// The argument's name, which is that of the derived value.
    pub ident: Ident,
    pub ty: Type,
}

/// The way in which a call starts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// At once, without state.
    Stateless,
    /// At once, with a part of the application's state.
    WithState,
    /// After a validation, because the input has validators or a check, or is an enum.
    Validated,
}

/// Parameters, with the other values that their validators can know.
#[derive(Clone, Copy)]
pub struct ValidatorScope<'d> {
    pub head: &'d DeclarationHead,
    pub tag: Option<&'d Tag>,
    pub fields: &'d [Param],
    /// The type of the state: the owner of a method, or the `state` option of a struct or an enum.
    pub own_state: Option<&'d Type>,
    /// The arguments of the tool's function.
    pub args: &'d [Argument],
}

/// A method of an impl that is a tool.
pub struct MethodTool {
    /// The type of the tool: `ShopSearchItems` for `Shop::search_items`.
    pub tool_type: Ident,
    /// The `cfg` attributes of the method, which also apply to the tool.
    pub cfg: Vec<Attribute>,
}

/// A struct that provides each of its fields.
pub struct ProvideDef {
    pub ident: Ident,
    pub generics: Generics,
    pub fields: Vec<(Member, Type)>,
}

/// An enum of a toolset's calls.
pub struct CallsDef {
    pub ident: Ident,
    /// The name of each variant, and the type that it holds, or `None` if it does not hold exactly one value.
    pub variants: Vec<(Ident, Option<Type>)>,
}

impl Param {
    /// Returns whether the parameter's own fields are validated.
    pub fn is_nested(&self) -> bool {
        self.attrs.dynamic.as_ref().is_some_and(|dynamic| dynamic.options.nested.is_some())
    }

    /// Returns whether the parameter is a list whose elements' fields are validated.
    pub fn is_nested_list(&self) -> bool {
        self.is_nested() && type_argument(&self.ty, "Vec").is_some()
    }

    /// Returns the type whose fields are validated, if the parameter is nested: its type, or that of a list's elements.
    pub fn nested_type(&self) -> Option<&Type> {
        self.is_nested().then(|| type_argument(&self.ty, "Vec").unwrap_or(&self.ty))
    }

    pub fn is_secret(&self) -> bool {
        self.attrs.arg.secret.is_some()
    }

    pub fn is_dynamic(&self) -> bool {
        self.attrs.dynamic.is_some()
    }

    /// Returns the data that the parameter's validator derives.
    pub fn derived(&self) -> Option<&DerivedValue> {
        self.attrs.dynamic.as_ref()?.options.derives.as_ref()
    }

    /// Returns the place of the name that the model sees.
    pub fn name_span(&self) -> Span {
        self.attrs.arg.rename.as_ref().map_or_else(|| self.ident.span(), syn::LitStr::span)
    }
}

impl Params {
    /// Returns the types of the parameters whose own fields are validated, in order.
    pub fn nested_types(&self) -> impl Iterator<Item = &Type> {
        self.fields.iter().filter_map(Param::nested_type)
    }

    /// Returns the parameters with their indexes; a tag has the first index.
    pub fn indexed(&self) -> impl Iterator<Item = (usize, &Param)> {
        (usize::from(self.tag.is_some())..).zip(&self.fields)
    }
}

impl ToolDef {
    /// Returns the parameters; an empty slice for an enum, whose variants have the parameters.
    pub fn fields(&self) -> &[Param] {
        match &self.input {
            Input::Params(params) => &params.fields,
            Input::Enum(_) => &[],
        }
    }

    /// Returns the variants of an enum.
    pub fn variants(&self) -> &[Variant] {
        match &self.input {
            Input::Params(_) => &[],
            Input::Enum(enum_input) => &enum_input.variants,
        }
    }

    /// Returns the parameters; for an enum, those of all variants.
    pub fn all_fields(&self) -> impl Iterator<Item = &Param> {
        self.fields().iter().chain(self.variants().iter().flat_map(|variant| &variant.params.fields))
    }

    /// Returns the types of all parameters whose own fields are validated, in order.
    pub fn nested_types(&self) -> impl Iterator<Item = &Type> {
        self.all_fields().filter_map(Param::nested_type)
    }

    /// Returns the types that the state must provide, each once.
    pub fn distinct_state_types(&self) -> Vec<&Type> {
        let mut states: Vec<&Type> = Vec::new();
        for ty in self.body.state_types() {
            if !states.iter().any(|known| is_same_type(known, ty)) {
                states.push(ty);
            }
        }
        states
    }

    /// Returns the rule for approval; by default, no call needs approval.
    pub fn approval(&self) -> &Approval {
        self.options.approval.as_ref().map_or(&Approval::Never, |approval| &approval.value)
    }

    /// Returns the predicate that decides whether a call needs approval.
    pub fn approval_predicate(&self) -> Option<&Expr> {
        match self.approval() {
            Approval::When(predicate) => Some(predicate),
            Approval::Never | Approval::Always => None,
        }
    }

    /// Returns the parameters with the values that their validators and the check of the whole call can know.
    pub fn validator_scope(&self) -> ValidatorScope<'_> {
        ValidatorScope {
            head: &self.head,
            tag: None,
            fields: self.fields(),
            own_state: self.body.own_state(),
            args: self.body.args(),
        }
    }
}

impl Body {
    /// Returns the type of the state: the owner of a method, or the `state` option of a struct or an enum.
    pub fn own_state(&self) -> Option<&Type> {
        match self {
            Self::Function(function) => function.owner.as_ref(),
            Self::Struct { state } | Self::External { state, .. } => state.as_ref(),
        }
    }

    /// Returns the arguments of a function, or an empty slice for another body.
    pub fn args(&self) -> &[Argument] {
        match self {
            Self::Function(function) => &function.args,
            Self::Struct { .. } | Self::External { .. } => &[],
        }
    }

    /// Returns the types that the tool takes from the application's state, in order.
    pub fn state_types(&self) -> impl Iterator<Item = &Type> {
        self.own_state().into_iter().chain(state_args(self.args()).map(|state| &state.ty))
    }
}

impl Variant {
    /// Returns the fields with the values that their validators can know.
    pub fn validator_scope(&self) -> ValidatorScope<'_> {
        let Self { head, params, state } = self;
        ValidatorScope { head, tag: params.tag.as_ref(), fields: &params.fields, own_state: state.as_ref(), args: &[] }
    }
}

impl NestedInput {
    /// Returns the fields with the values that their validators can know.
    pub fn validator_scope(&self) -> ValidatorScope<'_> {
        let Self { head, params, state, .. } = self;
        ValidatorScope { head, tag: None, fields: &params.fields, own_state: state.as_ref(), args: &[] }
    }
}

impl<'d> ValidatorScope<'d> {
    /// Returns the parameters with their indexes; a tag has the first index.
    pub fn indexed(self) -> impl Iterator<Item = (usize, &'d Param)> {
        (usize::from(self.tag.is_some())..).zip(self.fields)
    }

    /// Returns the dynamic parameters that have a validator of their own, in order.
    pub fn with_validators(self) -> impl Iterator<Item = (&'d Param, &'d Dynamic)> {
        let validated = self.fields.iter().filter(|param| !param.is_nested());
        validated.filter_map(|param| Some((param, param.attrs.dynamic.as_ref()?)))
    }

    /// Returns the function's arguments that validators derived.
    pub fn derived_args(self) -> impl Iterator<Item = &'d DerivedArg> {
        self.args.iter().filter_map(|arg| match arg {
            Argument::Derived(derived) => Some(derived),
            Argument::Param | Argument::State(_) | Argument::Context { .. } => None,
        })
    }

    /// Returns the function's arguments that come from the application's state.
    pub fn state_args(self) -> impl Iterator<Item = &'d StateArg> {
        state_args(self.args)
    }

    /// Returns the type of the context for the validator of the parameter `ident`: `BookFlightArrival` for `arrival` of
    /// `book_flight`.
    pub fn context_ident(self, ident: &Ident) -> Ident {
        let (tool, own) = (pascal_case(&self.head.ident.unraw().to_string()), pascal_case(&ident.unraw().to_string()));
        format_ident!("{tool}{own}", span = ident.span())
    }

    /// Returns the type of the context for the check of the whole call.
    pub fn check_context_ident(self) -> Ident {
        self.context_ident(&Ident::new("check", self.head.ident.span()))
    }
}

/// Returns the arguments that come from the application's state.
fn state_args(args: &[Argument]) -> impl Iterator<Item = &StateArg> {
    args.iter().filter_map(|arg| match arg {
        Argument::State(state) => Some(state),
        Argument::Param | Argument::Derived(_) | Argument::Context { .. } => None,
    })
}

fn is_same_type(a: &Type, b: &Type) -> bool {
    quote!(#a).to_string() == quote!(#b).to_string()
}

/// The dependency graph of parameters: for each parameter, the indexes and the names of those that it waits for.
pub struct DependencyGraph<'t> {
    params: &'t [Param],
    dependencies: Vec<Vec<(usize, &'t Ident)>>,
}

/// A cycle of parameters that wait for each other.
pub struct Cycle<'t> {
    /// The name that closes the cycle, where the options of the last parameter mention it.
    pub at: &'t Ident,
    /// The parameters of the cycle. The first one is also the last.
    pub path: Vec<&'t Ident>,
}

/// Returns whether two identifiers are the same word.
pub fn is_same_ident(a: &Ident, b: &Ident) -> bool {
    a.unraw() == b.unraw()
}

/// Returns the error about a `name` in the options of `own` that none of `params` has.
pub fn unknown_parameter_error(params: &[Param], own: &Ident, name: &Ident) -> syn::Error {
    let is_source = |param: &&Param| param.derived().is_some_and(|data| is_same_ident(&data.ident, name));
    if let Some(source) = params.iter().find(is_source) {
        let (span, name, source) = (name.span(), name.unraw().to_string(), source.ident.unraw().to_string());
        return syn::Error::new(span, text::derived_from(&name, &source));
    }
    let can_be = |param: &&Param| !param.is_secret() && !is_same_ident(&param.ident, own);
    let known: Vec<String> = params.iter().filter(can_be).map(|param| param.ident.unraw().to_string()).collect();
    syn::Error::new(name.span(), text::unknown_parameter(&name.unraw().to_string(), &known))
}

impl<'t> DependencyGraph<'t> {
    /// Creates the graph of the dynamic parameters. The graph leaves out other names, which `check` reports.
    pub fn of(params: &'t [Param]) -> Self {
        let index = |own: &Param, name: &Ident| {
            params.iter().position(|param| {
                is_same_ident(&param.ident, name) && !is_same_ident(&own.ident, name) && param.is_dynamic()
            })
        };
        let dependencies = params
            .iter()
            .map(|param| {
                let names = param.attrs.dynamic.iter().flat_map(Dynamic::dependencies);
                names.filter_map(|name| Some((index(param, name)?, name))).collect()
            })
            .collect();
        Self { params, dependencies }
    }

    /// Returns the indexes of the dynamic parameters in the order of validation: each after those that it waits for. Among
    /// parameters that may come next, the name in the arguments decides. The result lacks the parameters of a cycle.
    pub fn order(&self) -> Vec<usize> {
        let mut remaining: Vec<usize> =
            (0..self.params.len()).filter(|&param| self.params[param].is_dynamic()).collect();
        remaining.sort_by(|a, b| self.params[*a].name.cmp(&self.params[*b].name));
        let mut order: Vec<usize> = Vec::with_capacity(remaining.len());
        let ready = |param: &usize, order: &[usize]| {
            self.dependencies[*param].iter().all(|(dependency, _)| order.contains(dependency))
        };
        while let Some(next) = remaining.iter().position(|param| ready(param, &order)) {
            order.push(remaining.remove(next));
        }
        order
    }

    /// Returns every cycle.
    pub fn cycles(&self) -> Vec<Cycle<'t>> {
        let (mut done, mut found) = (vec![false; self.params.len()], Vec::new());
        (0..self.params.len()).for_each(|param| self.visit(param, &mut Vec::new(), &mut done, &mut found));
        found
    }

    /// Follows `path` to `param` and to all that it waits for, and adds each cycle to `found`.
    fn visit(&self, param: usize, path: &mut Vec<usize>, done: &mut [bool], found: &mut Vec<Cycle<'t>>) {
        if done[param] {
            return;
        }
        path.push(param);
        for &(dependency, at) in &self.dependencies[param] {
            if let Some(start) = path.iter().position(|&earlier| earlier == dependency) {
                let path = path[start..].iter().chain([&dependency]).map(|&param| &self.params[param].ident);
                found.push(Cycle { at, path: path.collect() });
            } else {
                self.visit(dependency, path, done, found);
            }
        }
        path.pop();
        done[param] = true;
    }
}
