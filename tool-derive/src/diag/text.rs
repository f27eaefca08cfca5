//! The messages for users of the macros: in lower case, without a full stop, with code in backticks, and with advice.

use super::nearest;

pub const NO_DESCRIPTION: &str =
    "a tool needs a description for the model: write a doc comment above it, or `#[tool(description = \"…\")]`";
pub const NOT_AN_ITEM: &str = "`#[tool]` goes on an `async fn`, a `fn`, a struct with named fields or an enum of such";
pub const METHOD_OUTSIDE: &str = "a method is a tool only inside a marked impl: put `#[tools]` on the `impl Type { … }` block, or declare a function that calls a trait's method";
pub const FUNCTION_IN_IMPL: &str = "a function without `self` is a tool of its own: move it out of the `impl`; or give it `&self`, and put `#[tools]` on the `impl` block";
pub const METHOD_OF_TRAIT: &str = "a method of a trait cannot be a tool: declare a function that calls it, or a method of an `impl Type { … }` marked `#[tools]`";
pub const TOOL_ON_IMPL: &str =
    "the methods of an impl become tools with `#[tools]` on the `impl` and `#[tool]` on each method";
pub const TOOL_TWICE: &str = "this is a tool already: keep one `#[tool]`, with all options";
pub const NOT_A_METHOD: &str = "in an impl, `#[tool]` goes on methods: remove it here";
pub const NOT_AN_IMPL: &str = "`#[tools]` goes on an `impl Type { … }` block without a trait";
pub const TOOLS_OF_TRAIT: &str =
    "methods of a trait cannot be tools: mark an `impl Type { … }` block without a trait, whose methods call these";
pub const NO_TOOLS: &str = "no method here is marked `#[tool]`: mark those that a model may call";
pub const GENERIC_TOOL: &str = "a tool has one input type, so it cannot be generic: write out the types, or make a tool of a function that calls this one";
pub const GENERIC_IMPL: &str =
    "a toolset has one state type, so an impl with tools cannot be generic: write out the types";
pub const UNSAFE_TOOL: &str =
    "a tool cannot be `unsafe`, because a model chooses its arguments: check them in a safe function around this one";
pub const EXTERN_TOOL: &str = "a panic in an `extern` function ends the process, and a panic in a tool must not: leave out `extern`, or make a tool of a function that calls this one";
pub const AWAIT_WITHOUT_ASYNC: &str = "a tool that waits is an `async fn`: write `async` before `fn`";
pub const NO_BODY: &str = "a tool function needs a body; a tool that a client executes is declared `#[tool(external, output = …)]` on a struct";
pub const TOUCHES_WITH_SEQUENTIAL: &str =
    "a `sequential` tool runs alone, whatever it touches: leave one of the two out";
pub const REFERENCE_PARAMETER: &str = "a parameter of the model cannot be a reference: write `String` for `&str`, `Vec<T>` for `&[T]`, `T` for `&T`; mark application state with `#[state]`, and the call's context with `#[context]`";
pub const PATTERN_PARAMETER: &str = "the model needs one name for each parameter: destructure it inside the function";
pub const PATTERN_WILD: &str = "the model needs a name for each parameter: name this one, or leave it out";
pub const UNSIZED_PARAMETER: &str =
    "a parameter needs a type of known size: write `String` for `str`, `Vec<T>` for `[T]`, and an enum for `dyn Trait`";
pub const CONTEXT_UNMARKED: &str =
    "this parameter is the call's context, but is not marked: write `#[context] cx: &Context`";
pub const IMPL_TRAIT: &str = "the model's input needs one concrete type: write the type instead of `impl Trait`";
pub const IMPL_OUTPUT: &str =
    "the output needs one concrete type, so that its schema is known: write the type instead of `impl Trait`";
pub const RETURNED_FUTURE: &str = "a tool that waits is an `async fn`: write one, and return the output of the future";
pub const STREAM_ITEM: &str =
    "a stream of outputs needs an item type, for its schema: write `impl Stream<Item = T>`, or `Item = Result<T, E>`";
pub const STREAM_IN_RESULT: &str =
    "each item of a stream can be an error, the first one too: write `impl Stream<Item = Result<T, E>>`";
pub const BORROWED_OUTPUT: &str =
    "an output is owned, because it outlives the call: write `String` for `&str`, `Vec<T>` for `&[T]`, `T` for `&T`";
pub const BORROWED_STATE: &str =
    "a toolset keeps its state, so the type of a state borrows nothing: take the owned form of this type";
pub const MUT_SELF: &str = "calls run concurrently, so a tool method takes `&self`: use a lock for state that changes";
pub const MUT_STATE: &str = "calls run concurrently, so a tool takes `&T`: use a lock for state that changes";
pub const OWNED_SELF: &str = "a tool is called more than once, so a tool method cannot consume `self`: write `&self`";
pub const NO_SELF: &str = "a tool method needs `&self`: add it, or move a function without state out of the impl";
pub const TUPLE_STRUCT: &str = "the model needs a name for each parameter: use named fields";
pub const TUPLE_VARIANT: &str = "the model needs a name for each parameter: give the variant named fields, or none";
pub const NO_VARIANTS: &str = "a tool whose input is an enum needs a variant that can be called: add one";
pub const VARIANT_ARG: &str =
    "a variant has no value of its own: only `#[arg(rename = \"…\")]` goes on it, to set its tag";
pub const TAG_WITHOUT_ENUM: &str =
    "`tag` is for an enum, where it names the field that selects the variant: leave it out";
pub const DESTRUCTIVE_NEEDS_APPROVAL: &str = "a destructive tool needs a rule for its approval: add `approval = always` or `approval = when(…)`, or `approval = never` if nobody has to approve it";
pub const EAGER_NEEDS_IDEMPOTENT: &str = "an eager tool may start before the model has finished: that is safe only with `effect = read_only` or `idempotent`; add one of them, or leave out `eager`";
pub const EXTERNAL_OUTPUT: &str =
    "an external tool needs the type of its output: add `output = Type`, so that the client's answer can be checked";
pub const EXTERNAL_FN: &str = "an external tool is executed by a client, so it has no body: declare it on a struct whose fields are its parameters";
pub const OUTPUT_WITHOUT_EXTERNAL: &str =
    "`output` is for external tools, and the output of this one is known from its code: leave it out";
pub const STATE_ON_FUNCTION: &str = "`state` is for structs; a function takes state with a parameter marked `#[state]`";
pub const EXTERNAL_STATE: &str = "an external tool does not run here, so it has no `state`: leave it out";
pub const BLOCKING_ASYNC: &str =
    "`blocking` is for a function that blocks its thread; an `async fn` should await instead";
pub const EAGER_WITH_APPROVAL: &str = "an eager tool starts before the model has finished, and this one waits for a person first: leave out `eager`, or ask with `approval = when(…)`";
pub const MIGRATE_SELF: &str = "`migrate_from` contains the tool's own version: list earlier versions only";
pub const RETRIES_NEED_IDEMPOTENT: &str =
    "a tool that may run twice must be `idempotent` or `effect = read_only`: add it, or leave out `retries`";
pub const RESUMABLE_WITH_IDEMPOTENT: &str = "a tool that is `idempotent` or `effect = read_only` is started again anyway: leave out `resumable`, or leave out the other if a second call does harm";
pub const RESUMABLE_FN: &str = "a `resumable` tool records its steps with `cx.step(…).await`: make it an `async fn` with a parameter `#[context] cx: &Context`";
pub const ONE_ROLE: &str = "a parameter has one role, `#[arg]`, `#[state]`, `#[derived]` or `#[context]`: keep one";
pub const DYNAMIC_LIST: &str =
    "expected options in parentheses, such as `#[dynamic(validate = departure, requires(date))]`";
pub const DYNAMIC_ROLE: &str = "a dynamic parameter is one that the model gives: state and context are the application's, so leave out `#[dynamic]`";
pub const DYNAMIC_SECRET: &str =
    "the application provides a secret, and the model never sees it: leave out `#[dynamic]`";
pub const NO_VALIDATOR: &str =
    "a dynamic parameter needs a validator: name its function with `#[dynamic(validate = path)]`";
pub const EXPECTED_VALIDATOR: &str =
    "expected the path of a function, such as `departure` or `rules::departure`, or a closure `|value, known| …`";
pub const VALIDATOR_CLOSURE: &str =
    "a validator has two parameters, the given value and the values that it knows: write `|value, known| …`";
pub const EXPECTED_CHECK: &str = "expected the path of a function, such as `prices` or `rules::prices`";
pub const EXPECTED_HOOK: &str = "expected the path of a function, such as `typed` or `hooks::typed`";
pub const NESTED_VALIDATE: &str =
    "the fields of a nested parameter have validators of their own: leave out `validate`, or `nested`";
pub const NESTED_DERIVES: &str =
    "a nested parameter has no validator that could derive data: put `derives` on the fields of its type";
pub const EXPECTED_DERIVED: &str = "expected a name and a type, such as `derives(airport: Airport)`";
pub const BORROWED_DERIVED: &str = "a validator derives data that borrows nothing: use an owned type, or an `Arc`";
pub const DERIVED_REFERENCE: &str = "a tool takes derived data by value: leave out the `&`";
pub const DERIVED_PATTERN: &str = "derived data is found by its name: write a name in place of the pattern";
pub const NESTED_TYPE: &str = "a nested parameter is one object or a list of objects: write the struct or a `Vec` of it, or leave out `nested` and judge the whole value with `validate`";
pub const NESTED_HINTS: &str =
    "a nested parameter has no validator that could use hints: put them on the fields of its type";
pub const NESTED_ARG: &str = "the fields of a nested parameter declare their own limits: only `rename` goes with `nested`, and for a list `length` and `default`";
pub const NESTED_DEFAULT: &str =
    "no validator sees the elements of a default, so only an empty list can be one: write `default` without a value";
pub const INPUT: &str = "`DynamicInput` can be derived for a struct with named fields";
pub const INPUT_SECRET: &str =
    "the application gives secrets to a tool, not to what is nested in it: make it a parameter of the tool";
pub const INPUT_GENERIC: &str = "a nested input has one type, so it cannot be generic: write out the types";
pub const INPUT_OPTIONS: &str = "expected options in parentheses, such as `#[dynamic_input(state = Workspace)]`";
pub const ROLE_ARGS: &str = "this attribute takes no options: leave them out";
pub const ARG_LIST: &str = "expected options in parentheses, such as `#[arg(default = 3)]`";
pub const FIELD_ROLE: &str = "a struct's fields are what the model gives: state comes with `#[tool(state = Type)]`, the context as an argument of `execute`, and only functions take derived data";
pub const SERDE_DEFAULT: &str = "a tool reads its fields without serde's attributes: write `#[arg(default)]`";
pub const SCHEMARS_LIMIT: &str =
    "limits that only schemars knows are not enforced: write `#[arg(range(1..=50))]`, or `length`, `pattern`, `format`";
pub const STRICT_MAP: &str = "with `strict`, providers reject objects with arbitrary keys: write a list of entries, such as `Vec<Entry>`, or leave out `strict`";
pub const STRICT_ANY: &str =
    "with `strict`, providers reject values of any type: write the type that you mean, or leave out `strict`";
pub const SECRET_WITH_OPTIONS: &str = "the application provides a secret, so options about the model's value do not apply: only `rename` goes with `secret`";
pub const RANGE: &str = "expected a range, such as `range(1..=50)`, `range(0.0..)` or `range(..100)`";
pub const RANGE_EMPTY: &str = "the range is empty, because its first bound is above its last: swap them";
pub const RANGE_EMPTY_EXCLUSIVE: &str = "the range is empty: `..` leaves out its end; write `..=` to include it";
pub const BOUND: &str = "expected a number, such as `1`, `-0.5` or `1_000`";
pub const LENGTH: &str = "expected a range of lengths, such as `length(1..=100)` or `length(1..)`";
pub const DEFAULT_OUTSIDE_LIMITS: &str = "the default is outside the declared limits: change one of them";
pub const EXAMPLE_OUTSIDE_LIMITS: &str = "the example is outside the declared limits: change one of them";
pub const EXPECTED_EXAMPLE_LITERAL: &str = "expected a literal, such as `example = \"Paris\"` or `example = 3`";
pub const EXPECTED_EXAMPLE_OBJECT: &str =
    "expected the JSON of an object with arguments, such as `r#\"{\"city\": \"Paris\"}\"#`";
pub const DURATION: &str = "expected a time, such as `\"500ms\"`, `\"30s\"`, `\"5m\"` or `\"1h\"`, above zero";
pub const APPROVAL: &str = "expected `never`, `always` or `when(path)`";
pub const PREDICATE: &str =
    "expected a function of the call's input: write its path, or a closure such as `|input| input.amount > 20`";
pub const EFFECT: &str = "expected `read_only`, `write` or `destructive`";
pub const META_VALUE: &str = "expected a literal: a string, a number, `true` or `false`";
pub const CHALLENGE: &str = "a placeholder in the challenge ends with `}`, such as `{path}`";
pub const UNNAMED_DESCRIPTION: &str = "a description is a doc comment above the item, or `description = \"…\"`";
pub const TOOLSET_STATE: &str = "expected the name of a tool; state comes first and ends with `;`, as in `toolset!(state; tool, …)`, and sets are put together with `merge`";
pub const TOOLSET_REFERENCE: &str = "a toolset keeps its state: give it the value, or an `Arc` of it";
pub const EXPECTED_OPTION: &str = "expected an option, such as `name = \"search\"`";
pub const COMMA: &str = "expected `,` between two options";
pub const TOOLSET: &str = "expected `toolset!(state; tool, …)` or `toolset!(tool, …)`";
pub fn attribute_of_entry(name: &str) -> String {
    format!(
        "`{name}` has no effect on an entry of a list: use `cfg(…)`, `cfg_attr(…)`, or the level of a lint, such as `allow(…)`"
    )
}
pub const PROVIDE: &str = "`Provide` can be derived for a struct: it provides each of its fields";
pub const PROVIDED_TWICE: &str =
    "tools ask for state by its type, and an earlier field has this one: wrap one of them in a type of its own";
pub const EXPECTED_CRATE: &str = "expected `crate = path` in parentheses";
pub const CALLS: &str = "`Calls` can be derived for an enum whose variants each hold one `TypedCall<tool>`";
pub const CALLS_GENERIC: &str = "a `Calls` enum lists known tools, so it cannot be generic: write out the types";
pub const TOO_MANY_PARAMETERS: &str = "a tool has at most 64 parameters: put some of them together in a struct";
pub const TOO_MANY_CASES: &str = "the parameters and options of a method can depend on at most 4 predicates of `cfg`, because it is written once for each combination: put some of them together in a struct";
pub const TOO_MANY_INPUT_CASES: &str = "the options of a derive can depend on at most 4 predicates of `cfg`, because its code is written once for each combination";

/// A kind of advice: its name in `allow(…)`, and its message.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Advice(pub &'static str, pub &'static str);

impl Advice {
    /// A parameter without a description.
    pub const UNDESCRIBED: Self = Self(
        "undescribed",
        "the model sees only the name and the type of this parameter: write a doc comment on it, or `#[tool(allow(undescribed))]`",
    );
    /// A description longer than some providers accept.
    pub const LONG_DESCRIPTION: Self = Self(
        "long_description",
        "some providers accept descriptions of at most 1024 characters: shorten it, move text about a parameter to that parameter, or write `#[tool(allow(long_description))]`",
    );
    /// An approval predicate that ignores the arguments.
    pub const IGNORED_ARGUMENTS: Self = Self(
        "ignored_arguments",
        "this predicate ignores the arguments: write `approval = always` or `approval = never`, or `#[tool(allow(ignored_arguments))]`",
    );
    /// A time limit that cannot end its function.
    pub const ENDLESS: Self = Self(
        "endless",
        "`timeout` cannot end this function, and other calls wait while it runs: write `blocking`, make it an `async fn`, or write `#[tool(allow(endless))]`",
    );
    /// Every kind.
    pub const ALL: [Self; 4] = [Self::UNDESCRIBED, Self::LONG_DESCRIPTION, Self::IGNORED_ARGUMENTS, Self::ENDLESS];
}

pub fn invalid_name(name: &str) -> String {
    wrong_length("tool", name).unwrap_or_else(|| {
        format!("invalid tool name `{name}`: use A-Z, a-z, 0-9, `_` and `-` only, or write `#[tool(name = \"…\")]`")
    })
}

pub fn invalid_parameter_name(name: &str) -> String {
    wrong_length("parameter", name).unwrap_or_else(|| {
        format!(
            "invalid parameter name `{name}`: use A-Z, a-z, 0-9, `_`, `-` and `.` only, or write `#[arg(rename = \"…\")]`"
        )
    })
}

fn wrong_length(kind: &str, name: &str) -> Option<String> {
    if name.is_empty() {
        return Some(format!("a {kind} needs a name of 1 to 64 characters"));
    }
    let count = name.len();
    (name.is_ascii() && count > 64)
        .then(|| format!("the name has {count} characters, and providers accept at most 64: shorten it"))
}

/// Returns the message for an unknown option of `attribute`, such as "arg". For `#[tool]`, `attribute` is empty.
pub fn unknown_option(key: &str, attribute: &str, known: &[&str]) -> String {
    let instead = match attribute {
        "" if known.len() > 1 => tool_option_for(key),
        "arg" => arg_option_for(key),
        "dynamic" => dynamic_option_for(key),
        "tools" => tools_option_for(key),
        _ => None,
    };
    let whose = if attribute.is_empty() { String::new() } else { format!(" of `{attribute}`") };
    match (instead, nearest(key, known), known) {
        (Some(instead), ..) => format!("unknown option `{key}`{whose}: {instead}"),
        (None, Some(near), _) => format!("unknown option `{key}`{whose}; did you mean `{near}`?"),
        (None, None, _) if attribute == "dynamic" => {
            format!(
                "unknown option `{key}`{whose}: expected one of {}; a validator is named `validate = {key}`",
                list(known)
            )
        }
        (None, None, [only]) => format!("unknown option `{key}`{whose}: expected `{only}`"),
        (None, None, _) => format!("unknown option `{key}`{whose}: expected one of {}", list(known)),
    }
}

pub fn serde_on_field(word: &str) -> String {
    format!("a tool reads its fields without serde's `{word}`: give the field a type that reads this way")
}

pub fn schemars_on_field(word: &str) -> String {
    format!("a tool describes its fields without schemars' `{word}`: give the field a type with this schema")
}

pub fn external_run(key: &str) -> String {
    format!("an external tool does not run here, so `{key}` has no effect: leave it out")
}

pub fn toolset_method(tool_type: &str) -> String {
    format!("a tool method is named by its type and its own name: write `{tool_type}`")
}

pub fn unknown_attribute(word: &str, meant: &str) -> String {
    format!("unknown attribute `{word}` on a parameter; did you mean `{meant}`?")
}

pub fn on_a_parameter(word: &str) -> String {
    format!("`#[{word}]` goes on a parameter: move it to the one that it concerns")
}

pub fn attribute_of_fields(word: &str) -> String {
    format!(
        "`#[{word}]` is for fields of types: write the name and the limits of a parameter as `#[arg(rename = \"…\", range(1..=50))]`"
    )
}

pub fn unknown_advice(name: &str, known: &[&str]) -> String {
    match nearest(name, known) {
        Some(near) => format!("there is no advice called `{name}`; did you mean `{near}`?"),
        None => format!("there is no advice called `{name}`: expected one of {}", list(known)),
    }
}

pub fn unknown_format(name: &str, known: &[&str]) -> String {
    match nearest(name, known) {
        Some(near) => format!("unknown format `{name}`; did you mean `{near}`?"),
        None => format!("unknown format `{name}`: use `pattern`, or one of {}", list(known)),
    }
}

pub fn unknown_placeholder(name: &str, known: &[&str]) -> String {
    match (nearest(name, known), known) {
        (Some(near), _) => format!("unknown parameter `{name}` in the challenge; did you mean `{near}`?"),
        (None, []) => format!("unknown parameter `{name}` in the challenge: this tool has none that can be shown"),
        (None, _) => format!("unknown parameter `{name}` in the challenge: expected one of {}", list(known)),
    }
}

pub fn example_key(key: &str, known: &[&str]) -> String {
    match (nearest(key, known), known) {
        (Some(near), _) => format!("unknown parameter `{key}` in the example; did you mean `{near}`?"),
        (None, []) => format!("unknown parameter `{key}` in the example: this tool has no parameters"),
        (None, _) => format!("unknown parameter `{key}` in the example: expected one of {}", list(known)),
    }
}

pub fn example_type(ty: &str) -> String {
    format!("the example does not have the type of the parameter, which is `{ty}`")
}

pub fn default_type(ty: &str) -> String {
    let example = match ty {
        "bool" => "true",
        "char" => "'a'",
        "f32" | "f64" => "0.5",
        "String" => "\"a text\".to_owned()",
        _ => "3",
    };
    format!("the default does not have the type of the parameter, which is `{ty}`: write a value such as `{example}`")
}

pub fn default_of(name: &str) -> String {
    format!(
        "a default is computed without `{name}` and the other parameters: make this an `Option`, and fill it in inside the function"
    )
}

pub fn expected_value(example: &str) -> String {
    format!("expected a value such as `{example}`")
}

pub fn unknown_word(word: &str, expected: &str, known: &[&str]) -> String {
    match nearest(word, known) {
        Some(near) => format!("{expected}; did you mean `{near}`?"),
        None => expected.to_owned(),
    }
}

pub fn given_more_than_once(key: &str) -> String {
    format!("`{key}` is repeated: keep one")
}

pub fn needs_value(key: &str, example: &str) -> String {
    format!("`{key}` needs a value: `{example}`")
}

pub fn takes_no_value(key: &str) -> String {
    format!("`{key}` is a flag: write it without a value")
}

pub fn invalid_tag(name: &str) -> String {
    format!("invalid tag name `{name}`: use 1 to 64 of A-Z, a-z, 0-9, `_`, `-` and `.` only")
}

pub fn like_the_tag(name: &str) -> String {
    format!("the tag `{name}` selects the variant: rename this field, or write `#[tool(tag = \"…\")]`")
}

pub fn same_tag(value: &str) -> String {
    format!("an earlier variant has the name `{value}` too: the model distinguishes variants by name, so rename one")
}

pub fn same_parameter(name: &str) -> String {
    format!("two parameters have the name `{name}`: the model distinguishes parameters by name, so rename one")
}

pub fn expected_parameter_names(key: &str) -> String {
    format!("expected names of parameters, such as `{key}(departure, arrival)`")
}

pub fn named_more_than_once(name: &str) -> String {
    format!("`{name}` is named twice: name it once, in `requires`, `after` or `hints`")
}

pub fn unknown_parameter(name: &str, known: &[String]) -> String {
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    match (nearest(name, &known), &known[..]) {
        (Some(near), _) => format!("unknown parameter `{name}`; did you mean `{near}`?"),
        (None, [only]) => format!("unknown parameter `{name}`: expected `{only}`"),
        (None, []) => format!("unknown parameter `{name}`: this tool has no other parameter that can be named here"),
        (None, _) => format!("unknown parameter `{name}`: expected one of {}", list(&known)),
    }
}

/// Returns the error about an expression of parameters, of which `closure` is the closure that reads them, if it is short.
pub fn predicate_of_parameters(name: &str, closure: Option<&str>) -> String {
    match closure {
        Some(closure) => {
            format!("`{name}` is a parameter, which only a function of the input can read: write `{closure}`")
        }
        None => format!(
            "`{name}` is a parameter, which only a function of the input can read: write a closure that reads `input.{name}`"
        ),
    }
}

pub fn own_name(name: &str) -> String {
    format!("`{name}` is this parameter itself: its validator gets its value anyway")
}

pub fn derived_name(name: &str) -> String {
    format!("another parameter, state or derived value has the name `{name}`, too: choose another one")
}

pub fn derived_from(name: &str, source: &str) -> String {
    format!("`{name}` is derived from `{source}`: write `requires({source})`, which shows both")
}

pub fn unknown_derived(name: &str, known: &[String]) -> String {
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    match nearest(name, &known) {
        Some(near) => format!("no validator derives `{name}`; did you mean `{near}`?"),
        None => format!("no validator derives `{name}`: add `derives({name}: Type)` to a `#[dynamic]` parameter"),
    }
}

pub fn secret_name(name: &str) -> String {
    format!("`{name}` is a secret: only the tool's work sees it")
}

pub fn dependency_cycle(path: &[String]) -> String {
    format!("these parameters wait for each other, `{}`: leave out one of them", path.join(" -> "))
}

pub fn reserved_answer_key(key: &str) -> String {
    format!("the answer of a tool has a key `{key}` of its own: rename this field")
}

pub fn same_context(name: &str) -> String {
    format!(
        "the contexts of validators have types of their own, and an earlier one has the name `{name}`: rename this parameter"
    )
}

pub fn invalid_regex(error: &str) -> String {
    let reason = error.lines().last().unwrap_or(error).trim_start_matches("error: ");
    format!("invalid regular expression: {reason}: rewrite the pattern, or check the value in the function")
}

pub fn regex_only_here(part: &str, instead: &str) -> String {
    format!(
        "`{part}` is not in the regular expressions of JSON Schema: write {instead}, or check the value in the function"
    )
}

fn list(words: &[&str]) -> String {
    words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}

/// Returns the replacement for the option `key` of `#[tool]`.
pub fn tool_option_for(key: &str) -> Option<&'static str> {
    Some(match key {
        "read_only" | "readonly" | "read_only_hint" | "readonly_hint" => "write `effect = read_only`",
        "write" | "mutating" => "write `effect = write`",
        "destructive" | "destructive_hint" | "dangerous" => "write `effect = destructive`",
        "idempotent_hint" => "write `idempotent`",
        "open_world_hint" => "write `open_world`",
        "always" | "needs_approval" | "requires_approval" | "require_approval" | "confirm" | "confirmation" => {
            "write `approval = always`, or `approval = when(path)`"
        }
        "never" => "write `approval = never`",
        "when" => "write `approval = when(path)`",
        "annotations" | "hints" => "write `effect = read_only`, `idempotent` or `open_world`, each by itself",
        "desc" | "doc" | "docs" | "about" | "help" => "write a doc comment above the item, or `description = \"…\"`",
        "rename" | "id" => "write `name = \"…\"`",
        "async" | "is_async" => "leave it out: an `async fn` is known from its signature",
        "params" | "param" | "parameters" | "args" | "input" | "inputs" | "input_schema" | "schema" | "required" => {
            "leave it out: the parameters are those of the function, or the fields of the struct"
        }
        "returns" | "output_schema" | "result" => "leave it out: the output is known from the code",
        "deps" | "dependencies" | "context" | "ctx" => {
            "mark a parameter `#[state]` for application state, or `#[context]` for the call's context"
        }
        "max_retries" | "retry" => "write `retries = 2`",
        "timeout_secs" | "timeout_ms" => "write `timeout = \"30s\"`",
        "client" | "client_side" | "remote" => "write `external`, on a struct",
        _ => return None,
    })
}

/// Returns the replacement for the option `key` of `#[arg]`.
pub fn arg_option_for(key: &str) -> Option<&'static str> {
    Some(match key {
        "description" | "desc" | "doc" | "docs" | "about" | "help" | "title" => "write a doc comment on the parameter",
        "min" | "max" | "minimum" | "maximum" | "ge" | "le" | "gt" | "lt" | "bounds" => "write `range(1..=50)`",
        "len" | "min_length" | "max_length" | "min_len" | "max_len" | "min_items" | "max_items" | "non_empty" => {
            "write `length(1..=100)`"
        }
        "regex" | "regexp" | "matches" => "write `pattern = \"…\"`",
        "email" | "url" | "uri" | "uuid" | "date" => "write `format = \"email\"`, or another format of JSON Schema",
        "name" | "alias" => "write `rename = \"…\"`",
        "optional" | "nullable" => "make its type an `Option`, or give it a `default`",
        "required" => "leave it out: a parameter is required unless it is an `Option` or has a `default`",
        "one_of" | "enum" | "values" | "choices" | "possible_values" | "allowed" => "make its type an enum",
        "context" | "ctx" => "mark the parameter `#[context]`",
        "state" | "inject" | "from_state" => "mark the parameter `#[state]`",
        "dynamic" | "validate" | "validator" | "requires" | "after" | "hints" => "write `#[dynamic(validate = path)]`",
        "skip" | "hidden" | "sensitive" => "write `secret` for what the application gives, or `#[state]`",
        "flatten" => "write out the fields, or make the tool a struct",
        _ => return None,
    })
}

/// Returns the replacement for the option `key` of `#[dynamic]`.
pub fn dynamic_option_for(key: &str) -> Option<&'static str> {
    Some(match key {
        "validator" | "with" | "check" | "via" | "function" => "write `validate = path`",
        "depends_on" | "dependsOn" | "depends" | "needs" | "require" | "deps" => "write `requires(other)`",
        "influenced_by" | "influencedBy" | "optional" => "write `after(other)`",
        _ => return None,
    })
}

/// Returns the replacement for the option `key` of `#[tools]`.
pub fn tools_option_for(key: &str) -> Option<&'static str> {
    Some(match key {
        "prefix" | "namespace" => "call `prefix` on the toolset that it makes",
        "state" | "deps" | "context" => "leave it out: the state is the type of the impl",
        "name" | "title" | "description" | "approval" | "effect" | "timeout" | "retries" | "sequential" | "strict"
        | "lenient" => "options of a tool go on the `#[tool]` of its method",
        _ => return None,
    })
}
