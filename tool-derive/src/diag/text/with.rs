//! The sentences that name what they are about.

use super::others;
use crate::diag::suggest::nearest;

pub(crate) fn name(name: &str) -> String {
    if name.is_empty() {
        "a tool needs a name of 1 to 64 characters".to_owned()
    } else if name.is_ascii() && name.len() > 64 {
        format!("the name has {} characters, and providers accept at most 64: shorten it", name.len())
    } else {
        format!("`{name}` is no name for a tool: use A-Z, a-z, 0-9, `_` and `-` only, or say `#[tool(name = \"…\")]`")
    }
}

pub(crate) fn parameter(name: &str) -> String {
    if name.is_empty() {
        "a parameter needs a name of 1 to 64 characters".to_owned()
    } else if name.is_ascii() && name.len() > 64 {
        format!("the name has {} characters, and providers accept at most 64: shorten it", name.len())
    } else {
        format!(
            "`{name}` is no name for a parameter: use A-Z, a-z, 0-9, `_`, `-` and `.` only, or say `#[arg(rename = \"…\")]`"
        )
    }
}

/// `of` is empty, or says whose option it is: "arg".
pub(crate) fn unknown(key: &str, of: &str, known: &[&str]) -> String {
    let instead = match of {
        "" if known.len() > 1 => others::of_tool(key),
        "arg" => others::of_arg(key),
        "dynamic" => others::of_dynamic(key),
        "tools" => others::of_impl(key),
        _ => None,
    };
    let whose = if of.is_empty() { String::new() } else { format!(" of `{of}`") };
    match (instead, nearest(key, known), known) {
        (Some(instead), ..) => format!("unknown option `{key}`{whose}: {instead}"),
        (None, Some(near), _) => format!("unknown option `{key}`{whose}; did you mean `{near}`?"),
        (None, None, _) if of == "dynamic" => {
            format!(
                "unknown option `{key}`{whose}: expected one of {}; a validator is named `validate = {key}`",
                list(known)
            )
        }
        (None, None, [only]) => format!("unknown option `{key}`{whose}: expected `{only}`"),
        (None, None, _) => format!("unknown option `{key}`{whose}: expected one of {}", list(known)),
    }
}

pub(crate) fn serde_on_field(word: &str) -> String {
    format!("a tool reads its fields itself, and does not ask serde for `{word}`: give the field a type that reads so")
}

pub(crate) fn schemars_on_field(word: &str) -> String {
    format!(
        "a tool describes its fields itself, and does not ask schemars for `{word}`: give the field a type that is described so"
    )
}

pub(crate) fn external_run(key: &str) -> String {
    format!("an external tool does not run here, so `{key}` means nothing to it: leave it out")
}

pub(crate) fn toolset_method(marker: &str) -> String {
    format!("a method that is a tool goes by the name of its type and its own: write `{marker}`")
}

pub(crate) fn unknown_attribute(word: &str, ours: &str) -> String {
    format!("unknown attribute `{word}` on a parameter; did you mean `{ours}`?")
}

pub(crate) fn on_a_parameter(word: &str) -> String {
    format!("`#[{word}]` says something of a parameter: put it on the one that it is about")
}

pub(crate) fn of_others(word: &str) -> String {
    format!(
        "`#[{word}]` is for fields of types; what a parameter is called and must be, is written `#[arg(rename = \"…\", range(1..=50))]`"
    )
}

pub(crate) fn no_advice(name: &str, known: &[&str]) -> String {
    match nearest(name, known) {
        Some(near) => format!("there is no advice called `{name}`; did you mean `{near}`?"),
        None => format!("there is no advice called `{name}`: expected one of {}", list(known)),
    }
}

pub(crate) fn format(name: &str, known: &[&str]) -> String {
    match nearest(name, known) {
        Some(near) => format!("unknown format `{name}`; did you mean `{near}`?"),
        None => format!("unknown format `{name}`: use `pattern`, or one of {}", list(known)),
    }
}

pub(crate) fn place(name: &str, known: &[&str]) -> String {
    match (nearest(name, known), known) {
        (Some(near), _) => format!("`{name}` in the challenge is no parameter; did you mean `{near}`?"),
        (None, []) => format!("`{name}` in the challenge is no parameter: this tool has none that can be shown"),
        (None, _) => format!("`{name}` in the challenge is no parameter: expected one of {}", list(known)),
    }
}

pub(crate) fn example_key(key: &str, known: &[&str]) -> String {
    match (nearest(key, known), known) {
        (Some(near), _) => format!("the example gives `{key}`, which is no parameter; did you mean `{near}`?"),
        (None, []) => format!("the example gives `{key}`, and this tool has no parameters"),
        (None, _) => format!("the example gives `{key}`, which is no parameter: expected one of {}", list(known)),
    }
}

pub(crate) fn example_type(ty: &str) -> String {
    format!("the example is no value of the parameter, which is a `{ty}`")
}

pub(crate) fn default_of(name: &str) -> String {
    format!(
        "a default is computed without `{name}` and the other parameters: make this an `Option`, and fill it in inside the function"
    )
}

pub(crate) fn expected(example: &str) -> String {
    format!("expected a value such as `{example}`")
}

pub(crate) fn unknown_word(word: &str, expected: &str, known: &[&str]) -> String {
    match nearest(word, known) {
        Some(near) => format!("{expected}; did you mean `{near}`?"),
        None => expected.to_owned(),
    }
}

pub(crate) fn twice(key: &str) -> String {
    format!("`{key}` is given twice: keep one of them")
}

pub(crate) fn needs_value(key: &str, example: &str) -> String {
    format!("`{key}` needs a value: `{example}`")
}

pub(crate) fn takes_no_value(key: &str) -> String {
    format!("`{key}` is a flag: write it without a value")
}

pub(crate) fn tag(name: &str) -> String {
    format!("`{name}` is no name for a tag: use 1 to 64 of A-Z, a-z, 0-9, `_`, `-` and `.` only")
}

pub(crate) fn like_the_tag(name: &str) -> String {
    format!("`{name}` says which variant is meant: rename this field, or say `#[tool(tag = \"…\")]`")
}

pub(crate) fn same_tag(value: &str) -> String {
    format!("an earlier variant is called `{value}` too: the model tells them apart by name, so rename one")
}

pub(crate) fn same_parameter(name: &str) -> String {
    format!("two parameters are called `{name}`: the model tells them apart by name, so rename one")
}

pub(crate) fn names(key: &str) -> String {
    format!("expected names of parameters, such as `{key}(departure, arrival)`")
}

pub(crate) fn named_twice(name: &str) -> String {
    format!("`{name}` is named twice: it stands in `requires`, in `after` or in `hints`, and there once")
}

pub(crate) fn no_parameter(name: &str, known: &[String]) -> String {
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    match (nearest(name, &known), &known[..]) {
        (Some(near), _) => format!("`{name}` is no parameter of this tool; did you mean `{near}`?"),
        (None, [only]) => format!("`{name}` is no parameter of this tool: expected `{only}`"),
        (None, []) => format!("`{name}` is no parameter of this tool, and there is no other that can be named here"),
        (None, _) => format!("`{name}` is no parameter of this tool: expected one of {}", list(&known)),
    }
}

pub(crate) fn own_name(name: &str) -> String {
    format!("`{name}` is this parameter itself: its validator gets its value anyway")
}

pub(crate) fn static_name(name: &str) -> String {
    format!("`{name}` has no validator to wait for, and validators see static parameters anyway: leave it out")
}

pub(crate) fn secret_name(name: &str) -> String {
    format!("`{name}` is a secret: only the tool's work sees it")
}

pub(crate) fn cycle(path: &[String]) -> String {
    format!("these parameters wait for each other, `{}`: leave out one of them", path.join(" -> "))
}

pub(crate) fn collision(key: &str) -> String {
    format!("the answer of a tool has a key `{key}` of its own: rename this field")
}

pub(crate) fn same_context(name: &str) -> String {
    format!("what validators know has types of its own, and an earlier one is called `{name}`: rename this parameter")
}

pub(crate) fn pattern(error: &str) -> String {
    let reason = error.lines().last().unwrap_or(error).trim_start_matches("error: ");
    format!("this is no regular expression: {reason}")
}

fn list(words: &[&str]) -> String {
    words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}
