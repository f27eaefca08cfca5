//! Every sentence that a user of the macros can read. Lower case, no full stop, code in backticks, and what to do.

pub(crate) mod advice;
mod others;
mod with;

pub(crate) use with::*;

pub(crate) const NO_DESCRIPTION: &str =
    "a tool needs a description for the model: write a doc comment above it, or `#[tool(description = \"…\")]`";
pub(crate) const NOT_AN_ITEM: &str =
    "`#[tool]` goes on an `async fn`, a `fn`, a struct with named fields or an enum of such";
pub(crate) const METHOD_OUTSIDE: &str = "a method is a tool only inside a marked impl: put `#[tools]` on the `impl Type { … }` block, or declare a function that calls a trait's method";
pub(crate) const FUNCTION_IN_IMPL: &str = "a function without `self` is a tool of its own: move it out of the `impl`; or give it `&self`, and put `#[tools]` on the `impl` block";
pub(crate) const METHOD_OF_TRAIT: &str = "a method of a trait is no tool by itself: declare a function that calls it, or a method of an `impl Type { … }` marked `#[tools]`";
pub(crate) const TOOL_ON_IMPL: &str =
    "the methods of an impl become tools with `#[tools]` on the `impl` and `#[tool]` on each method";
pub(crate) const TOOL_TWICE: &str = "this is a tool already: keep one `#[tool]`, with all options";
pub(crate) const NOT_A_METHOD: &str = "in an impl, `#[tool]` goes on methods: take it off here";
pub(crate) const NOT_AN_IMPL: &str = "`#[tools]` goes on an `impl Type { … }` block without a trait";
pub(crate) const NO_TOOLS: &str = "no method here is marked `#[tool]`: mark those that a model may call";
pub(crate) const GENERIC: &str = "a tool has one input type, so it cannot be generic: write out the types, or make a tool of a function that calls this one";
pub(crate) const GENERIC_IMPL: &str =
    "a toolset has one state type, so an impl with tools cannot be generic: write out the types";
pub(crate) const UNSAFE: &str = "a model calls a tool with any arguments it likes, so a tool cannot be `unsafe`: check the arguments in a safe function around this one";
pub(crate) const NO_BODY: &str = "a tool function needs a body; a tool that a client executes is declared `#[tool(external, output = …)]` on a struct";
pub(crate) const TOUCHES_ALONE: &str = "a `sequential` tool runs alone, whatever it touches: leave one of the two out";
pub(crate) const REFERENCE: &str = "a parameter that the model gives is owned: write `String` for `&str`, `Vec<T>` for `&[T]`, `T` for `&T`; application state is marked `#[state]`, the call's context `#[context]`";
pub(crate) const PATTERN: &str = "the model needs one name for each parameter: take it apart inside the function";
pub(crate) const PATTERN_WILD: &str = "the model needs a name for each parameter: name this one, or leave it out";
pub(crate) const UNSIZED: &str = "the model gives a whole value: write `String` for `str`, `Vec<T>` for `[T]`, and for `dyn Trait` an enum of what it can be";
pub(crate) const CONTEXT_UNMARKED: &str = "the call's context is marked: `#[context] cx: &Context`";
pub(crate) const IMPL_TRAIT: &str = "the model's input needs one concrete type: write it out";
pub(crate) const IMPL_OUTPUT: &str = "the output needs one concrete type, so that its schema is known: write it out";
pub(crate) const FUTURE: &str = "a tool that waits is an `async fn`: write it so, and return what comes of the future";
pub(crate) const STREAM_ITEM: &str = "a stream of outputs says of what, so that the schema is known: write `impl Stream<Item = T>`, or `Item = Result<T, E>`";
pub(crate) const STREAM_IN_RESULT: &str =
    "each item of a stream can be an error, the first one too: write `impl Stream<Item = Result<T, E>>`";
pub(crate) const BORROWED_OUTPUT: &str =
    "an output is owned, because it outlives the call: write `String` for `&str`, `Vec<T>` for `&[T]`, `T` for `&T`";
pub(crate) const BORROWED_STATE: &str =
    "a toolset keeps its state, so the type of a state borrows nothing: take the owned form of this type";
pub(crate) const MUT_SELF: &str = "calls run side by side, so a tool method takes `&self`: use a lock for what changes";
pub(crate) const MUT_STATE: &str = "calls run side by side, so a tool takes `&T`: use a lock for what changes";
pub(crate) const OWNED_SELF: &str = "a tool is called more than once, so a tool method takes `&self`";
pub(crate) const NO_SELF: &str =
    "a tool method takes `&self`; a function without state can be a tool of its own, outside the impl";
pub(crate) const TUPLE_STRUCT: &str = "the model needs a name for each parameter: use named fields";
pub(crate) const TUPLE_VARIANT: &str =
    "the model needs a name for each parameter: give the variant named fields, or none";
pub(crate) const NO_VARIANTS: &str = "a tool whose input is an enum needs a variant that can be called: add one";
pub(crate) const VARIANT_ARG: &str =
    "a variant says nothing of a value: only `#[arg(rename = \"…\")]` goes on it, for what its tag says";
pub(crate) const TAG_HERE: &str =
    "`tag` is for an enum, where it names the entry that says which variant is meant: leave it out";
pub(crate) const DESTRUCTIVE: &str = "a destructive tool says who approves it: add `approval = always` or `approval = when(…)`, or `approval = never` if it really needs none";
pub(crate) const EAGER: &str = "an eager tool may start before the model has finished: that is safe only with `effect = read_only` or `idempotent`";
pub(crate) const EXTERNAL_OUTPUT: &str =
    "an external tool says what comes back: add `output = Type`, so that the answer can be checked";
pub(crate) const EXTERNAL_FN: &str = "an external tool is executed by a client, so it has no body: declare it on a struct whose fields are its parameters";
pub(crate) const OUTPUT_HERE: &str =
    "`output` is for external tools, and the output of this one is known from its code: leave it out";
pub(crate) const STATE_HERE: &str = "`state` is for structs; a function takes state with a parameter marked `#[state]`";
pub(crate) const EXTERNAL_STATE: &str = "an external tool does not run here, so it has no `state`: leave it out";
pub(crate) const BLOCKING_ASYNC: &str =
    "`blocking` is for a function that blocks its thread; an `async fn` should await instead";
pub(crate) const EAGER_APPROVAL: &str = "an eager tool starts before the model has finished, and this one waits for a person first: leave out `eager`, or ask with `approval = when(…)`";
pub(crate) const MIGRATE_SELF: &str = "this is the tool's own version: name earlier ones only";
pub(crate) const RETRIES_WRITE: &str =
    "a tool that may run twice must be `idempotent` or `effect = read_only`: add it, or leave out `retries`";
pub(crate) const RESUMABLE_AGAIN: &str = "a tool that is `idempotent` or `effect = read_only` is started again anyway: leave out `resumable`, or leave out the other if a second call does harm";
pub(crate) const RESUMABLE_FN: &str = "a `resumable` tool keeps what it does with `cx.step(…).await`: make it an `async fn` with a parameter `#[context] cx: &Context`";
pub(crate) const ONE_ROLE: &str = "a parameter has one role, `#[arg]`, `#[state]` or `#[context]`: keep one";
pub(crate) const DYNAMIC_LIST: &str =
    "expected options in parentheses, such as `#[dynamic(validate = departure, requires(date))]`";
pub(crate) const DYNAMIC_ROLE: &str = "a dynamic parameter is one that the model gives: state and context are the application's, so leave out `#[dynamic]`";
pub(crate) const DYNAMIC_SECRET: &str =
    "a secret is given by the application, so the model is told nothing about it: leave out `#[dynamic]`";
pub(crate) const NO_VALIDATOR: &str =
    "a dynamic parameter needs a validator: name its function with `#[dynamic(validate = path)]`";
pub(crate) const VALIDATOR: &str = "expected the path of a function, such as `departure` or `rules::departure`";
pub(crate) const HOOK: &str = "expected the path of a function, such as `typed` or `hooks::typed`";
pub(crate) const NESTED_VALIDATE: &str =
    "the fields of a nested parameter have validators of their own: leave out `validate`, or `nested`";
pub(crate) const NESTED_TYPE: &str = "a nested parameter is one object: write the struct itself, or leave out `nested` and judge the whole value with `validate`";
pub(crate) const NESTED_HINTS: &str =
    "a nested parameter has no validator that could see them: hints go on the fields of its type";
pub(crate) const NESTED_ARG: &str =
    "a nested parameter is an object whose fields say what they can be: only `rename` goes with `nested`";
pub(crate) const INPUT: &str = "`DynamicInput` can be derived for a struct with named fields";
pub(crate) const INPUT_SECRET: &str =
    "the application gives secrets to a tool, not to what is nested in it: make it a parameter of the tool";
pub(crate) const INPUT_GENERIC: &str = "a nested input has one type, so it cannot be generic: write out the types";
pub(crate) const INPUT_OPTIONS: &str = "expected options in parentheses, such as `#[dynamic_input(state = Workspace)]`";
pub(crate) const ROLE_ARGS: &str = "this attribute takes no options: leave them out";
pub(crate) const ARG_LIST: &str = "expected options in parentheses, such as `#[arg(default = 3)]`";
pub(crate) const FIELD_ROLE: &str = "a struct's fields are what the model gives: state comes with `#[tool(state = Type)]`, the context as an argument of `execute`";
pub(crate) const SERDE_DEFAULT: &str =
    "a tool reads its fields itself, and does not ask serde: write `#[arg(default)]`";
pub(crate) const SCHEMARS_LIMIT: &str =
    "what only schemars is told is not enforced: write `#[arg(range(1..=50))]`, or `length`, `pattern`, `format`";
pub(crate) const STRICT_MAP: &str = "with `strict`, providers take no objects with any keys: write a list of entries, such as `Vec<Entry>`, or leave out `strict`";
pub(crate) const STRICT_ANY: &str =
    "with `strict`, providers take no values of any kind: write the type that is meant, or leave out `strict`";
pub(crate) const SECRET_WITH: &str =
    "a secret is given by the application, so the model's side has no say in it: only `rename` goes with `secret`";
pub(crate) const RANGE: &str = "expected a range, such as `range(1..=50)`, `range(0.0..)` or `range(..100)`";
pub(crate) const RANGE_EMPTY: &str = "the range is empty, because its first bound is above its last: swap them";
pub(crate) const RANGE_EMPTY_EXCLUSIVE: &str = "the range is empty: `..` leaves out its end; write `..=` to include it";
pub(crate) const BOUND: &str = "expected a number, such as `1`, `-0.5` or `1_000`";
pub(crate) const LENGTH: &str = "expected a range of lengths, such as `length(1..=100)` or `length(1..)`";
pub(crate) const DEFAULT_OUT: &str = "the default is outside the declared limits: change one of them";
pub(crate) const EXAMPLE_OUT: &str = "the example is outside the declared limits: change one of them";
pub(crate) const EXAMPLE: &str = "expected a literal, such as `example = \"Paris\"` or `example = 3`";
pub(crate) const EXAMPLES: &str =
    "expected the JSON of an object with arguments, such as `r#\"{\"city\": \"Paris\"}\"#`";
pub(crate) const DURATION: &str = "expected a time, such as `\"500ms\"`, `\"30s\"`, `\"5m\"` or `\"1h\"`, above zero";
pub(crate) const APPROVAL: &str = "expected `never`, `always` or `when(path)`";
pub(crate) const EFFECT: &str = "expected `read_only`, `write` or `destructive`";
pub(crate) const META_VALUE: &str = "expected a literal: a text, a number, `true` or `false`";
pub(crate) const CHALLENGE: &str = "a place in the challenge ends with `}`, such as `{path}`";
pub(crate) const TEXT_ALONE: &str = "a description is a doc comment above the item, or `description = \"…\"`";
pub(crate) const TOOLSET_STATE: &str = "expected the name of a tool; state comes first and ends with `;`, as in `toolset!(state; tool, …)`, and sets are put together with `merge`";
pub(crate) const TOOLSET_REFERENCE: &str = "a toolset keeps its state: give it the value, or an `Arc` of it";
pub(crate) const KEY: &str = "expected an option, such as `name = \"search\"`";
pub(crate) const COMMA: &str = "expected `,` between two options";
pub(crate) const TOOLSET: &str = "expected `toolset!(state; tool, …)` or `toolset!(tool, …)`";
pub(crate) const PROVIDE: &str = "`Provide` can be derived for a struct: it provides each of its fields";
pub(crate) const PROVIDED: &str =
    "tools ask for state by its type, and an earlier field has this one: wrap one of them in a type of its own";
pub(crate) const CRATE: &str = "expected `crate = path` in parentheses";
pub(crate) const CALLS: &str = "`Calls` can be derived for an enum whose variants each hold one `Call<tool>`";
pub(crate) const CALLS_GENERIC: &str = "a `Calls` enum lists known tools, so it cannot be generic: write out the types";
pub(crate) const TOO_MANY: &str = "a tool has at most 64 parameters: put some of them together in a struct";
pub(crate) const TOO_MANY_CASES: &str = "the parameters of a method can depend on at most 4 predicates of `cfg`, because it is written once for each combination: put some of them together in a struct";
