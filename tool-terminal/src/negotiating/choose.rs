//! Which of several values a person means.

use serde_json::Value;

use super::shape::Choice;
use super::{scalar, words};
use tool_schema::feedback::suggest;

/// The choice of a person among values.
#[derive(Clone, Debug, PartialEq)]
pub enum Chosen {
    /// This one.
    One(Value),
    /// One of these.
    Several(Vec<Value>),
    /// Perhaps this one.
    Near(Value),
    /// None that is known.
    Unknown,
}

/// Finds the value that `text` names: by itself, by its number, by what it is called, by how it begins.
pub fn choose(choices: &[Choice], numbered: bool, text: &str) -> Chosen {
    let text = text.trim();
    let written: Vec<String> = choices.iter().map(|choice| scalar::plain(&choice.value)).collect();
    if let Some(at) = written.iter().position(|known| known == text) {
        return Chosen::One(choices[at].value.clone());
    }
    if numbered {
        if let Some(choice) = scalar::place(text).and_then(|at| choices.get(at)) {
            return Chosen::One(choice.value.clone());
        }
        if text.len() < 3 && text.chars().all(|c| c.is_ascii_digit()) {
            // A number beyond the list, not the beginning of 2026.
            return Chosen::Unknown;
        }
    } else if let Some(number) = scalar::number(text).or_else(|| scalar::only_number(text)) {
        let number = number.to_string();
        if let Some(at) = written.iter().position(|known| *known == number) {
            return Chosen::One(choices[at].value.clone());
        }
    }
    let said = bare(text);
    if said.is_empty() {
        return Chosen::Unknown;
    }
    let known: Vec<String> = written.iter().map(|known| words::fold(known)).collect();
    let labels: Vec<String> = choices.iter().map(|choice| words::fold(words::first_sentence(&choice.label))).collect();
    let tests: [&dyn Fn(usize) -> bool; 7] = [
        &|at| known[at] == said,
        &|at| !labels[at].is_empty() && labels[at] == said,
        &|at| known[at].starts_with(&said),
        &|at| mentions(&known[at], &said),
        &|at| mentions(&said, &known[at]) && !known[at].is_empty(),
        &|at| said.len() > 2 && labels[at].starts_with(&said),
        &|at| !labels[at].is_empty() && within(&labels[at], &said),
    ];
    for (rank, test) in tests.iter().enumerate() {
        let mut found: Vec<usize> = (0..choices.len()).filter(|at| test(*at)).collect();
        if rank == 4 {
            // "New York City" mentions York as well; the longer name is meant.
            let longest = found.iter().map(|at| known[*at].len()).max().unwrap_or(0);
            let nested = |at: &usize| known[*at].len() < longest;
            let longer = found.iter().copied().find(|at| !nested(at));
            found.retain(|at| !(nested(at) && longer.is_some_and(|long| mentions(&known[long], &known[*at]))));
        }
        match found[..] {
            [] => {}
            [one] => return Chosen::One(choices[one].value.clone()),
            _ => return Chosen::Several(found.into_iter().map(|at| choices[at].value.clone()).collect()),
        }
    }
    if said.contains(|c: char| c.is_ascii_digit()) {
        // Another day or number is not a slip of the finger.
        return Chosen::Unknown;
    }
    match suggest::nearest(&said, known.iter().map(String::as_str))
        .and_then(|near| known.iter().position(|k| k == near))
    {
        Some(at) => Chosen::Near(choices[at].value.clone()),
        None => Chosen::Unknown,
    }
}

/// Returns whether `part` is in `whole` as whole words; both folded.
pub fn mentions(whole: &str, part: &str) -> bool {
    !part.is_empty() && format!(" {whole} ").contains(&format!(" {part} "))
}

/// Returns whether a text does nothing but name one of the choices, so that there is nothing else to be found in it.
pub fn is_name(choices: &[Choice], text: &str) -> bool {
    let said = bare(text);
    let names = |choice: &Choice| [words::fold(&scalar::plain(&choice.value)), words::fold(&choice.label)];
    !said.is_empty() && choices.iter().any(|choice| names(choice).iter().any(|name| within(name, &said)))
}

/// Returns whether each word of `said` begins one of `label`: "dec 1st" and "tuesday, 1 december"; both folded.
fn within(label: &str, said: &str) -> bool {
    said.split(' ').filter(|word| !matches!(*word, "of" | "the")).all(|word| {
        let count = word.trim_end_matches(|c: char| c.is_alphabetic());
        let word = if count.is_empty() { word } else { count };
        label.split(' ').any(|known| known == word || (word.len() > 2 && known.starts_with(word)))
    })
}

/// Returns what was said, folded, without the words of politeness around it.
fn bare(text: &str) -> String {
    let mut said = words::fold(text);
    for lead in [
        "i'd like",
        "i would like",
        "i want",
        "make it",
        "it's",
        "it is",
        "use",
        "take",
        "on",
        "the",
        "in",
        "to",
        "from",
    ] {
        if let Some(rest) = said.strip_prefix(lead).and_then(|rest| rest.strip_prefix(' ')) {
            said = rest.to_owned();
        }
    }
    said.trim_end_matches(" please").trim_end_matches(" thanks").to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn cities() -> Vec<Choice> {
        ["London", "New York", "NEW_YORK", "Newcastle", "York"].iter().map(|name| Choice::plain(&json!(name))).collect()
    }

    #[test]
    fn a_value_by_itself_its_number_or_its_beginning() {
        for (text, expected) in [
            ("London", "London"),
            ("london please", "London"),
            ("3", "NEW_YORK"),
            ("NEW_YORK", "NEW_YORK"),
            ("newc", "Newcastle"),
            ("make it London!", "London"),
            ("I think London is nice", "London"),
        ] {
            assert_eq!(choose(&cities(), true, text), Chosen::One(json!(expected)), "{text}");
        }
    }

    #[test]
    fn what_is_not_clear_is_not_guessed() {
        assert_eq!(choose(&cities(), true, "new york"), Chosen::Several(vec![json!("New York"), json!("NEW_YORK")]));
        assert_eq!(choose(&cities(), true, "lodnon"), Chosen::Near(json!("London")));
        assert_eq!(choose(&cities(), true, "Tokyo"), Chosen::Unknown);
        assert_eq!(choose(&cities(), true, "9"), Chosen::Unknown);
        assert_eq!(choose(&cities(), true, "?"), Chosen::Unknown);
    }

    #[test]
    fn values_that_are_numbers_are_meant_by_their_value() {
        let sizes: Vec<Choice> = [5, 10, 1].iter().map(|size| Choice::plain(&json!(size))).collect();
        assert_eq!(choose(&sizes, false, "1"), Chosen::One(json!(1)));
        assert_eq!(choose(&sizes, false, "ten"), Chosen::One(json!(10)));
        assert_eq!(choose(&sizes, false, "2"), Chosen::Unknown);
    }
}
