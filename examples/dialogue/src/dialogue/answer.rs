//! The parser of answers to questions: a value, a list of values, several candidates, or the reason why there is none.

use serde_json::{Map, Value};

use super::form::FieldQuestion;
use super::shape::{Choice, Field, Kind, Shape, Text};
use super::{scalar, words};
use tool_schema::feedback::suggest;

/// The meaning of an answer.
#[derive(Clone, Debug, PartialEq)]
pub enum ParsedAnswer {
    /// A valid value.
    Value(Value),
    /// Valid items of a list. `has_more` is set if the person announced more items.
    Items { items: Vec<Value>, has_more: bool },
    /// Possibly this value.
    Near(Value),
    /// One of these values.
    Several(Vec<Value>),
    /// No value, with the reason as a sentence.
    Wrong(String),
}

pub fn parse(question: &FieldQuestion, text: &str) -> ParsedAnswer {
    let text = text.trim();
    let shape = &question.shape;
    if shape.is_nullable && matches!(words::fold(text).as_str(), "none" | "null" | "nothing") {
        return ParsedAnswer::Value(Value::Null);
    }
    if let Kind::List { item, .. } = &shape.kind {
        return parse_list(question, item, text);
    }
    if !question.choices.is_empty() {
        let inner = unquote(text).unwrap_or(text);
        let day = scalar::parse_date(inner).filter(|_| shape.format() == Some("date"));
        match choose(&question.choices, question.is_numbered(), day.as_deref().unwrap_or(inner)) {
            Some(answer) if question.is_strict || matches!(answer, ParsedAnswer::Value(_)) => return answer,
            None if question.is_strict => {
                let span =
                    question.integer_range().map(|(first, last)| format!("I need a number from {first} to {last}."));
                return ParsedAnswer::Wrong(span.unwrap_or_else(|| describe_unknown(text)));
            }
            // Other values than the suggestions are allowed. So a text that only resembles a suggestion is a value of its own.
            _ => {}
        }
    }
    if shape.is_month(&question.pointer)
        && let Some(month) = words::word_ranges(text).iter().find_map(|word| scalar::parse_month(&text[word.clone()]))
        && shape.check(&month.into()).is_ok()
    {
        return ParsedAnswer::Value(month.into());
    }
    parse_value(shape, text).map_or_else(|answer| answer, ParsedAnswer::Value)
}

/// Reads one value that fits `shape`. Returns the answer for any other text as `Err`.
fn parse_value(shape: &Shape, text: &str) -> Result<Value, ParsedAnswer> {
    let found = match &shape.kind {
        Kind::Text(limits) => return parse_text(shape, limits, text).map(Value::String),
        Kind::Number(_) => {
            let number = scalar::parse_number(text).or_else(|| scalar::find_only_number(text));
            number.map(Value::Number).ok_or_else(|| wrong_kind(&shape.kind))?
        }
        Kind::Bool => scalar::parse_yes_or_no(text).map(Value::Bool).ok_or_else(|| wrong_kind(&shape.kind))?,
        Kind::Either(shapes) => {
            let by_kind = |is_text: bool| shapes.iter().filter(move |one| matches!(one.kind, Kind::Text(_)) == is_text);
            let found = by_kind(false).chain(by_kind(true)).find_map(|shape| parse_value(shape, text).ok());
            found.ok_or_else(|| {
                ParsedAnswer::Wrong(format!("I could not make sense of “{}” here.", words::shorten(text, 60)))
            })?
        }
        Kind::Object { fields, is_open } => parse_object(fields, *is_open, text)?,
        Kind::List { .. } | Kind::Anything => parse_json(text)?,
    };
    match shape.check(&found) {
        Ok(()) => Ok(found),
        Err(reason) => Err(ParsedAnswer::Wrong(format!("That {reason}."))),
    }
}

/// Returns the content of a text that is quoted as a whole.
pub fn unquote(text: &str) -> Option<&str> {
    [("\"", "\""), ("'", "'"), ("“", "”"), ("‘", "’"), ("`", "`"), ("«", "»")].into_iter().find_map(|(open, close)| {
        let inner = text.strip_prefix(open)?.strip_suffix(close)?;
        (!inner.contains(open) && !inner.contains(close)).then_some(inner)
    })
}

/// Returns the sentence for a text that is not an allowed value.
pub fn describe_unknown(text: &str) -> String {
    format!("“{}” is not on the list.", words::shorten(text, 60))
}

fn parse_text(shape: &Shape, limits: &Text, text: &str) -> Result<String, ParsedAnswer> {
    let literal = unquote(text).unwrap_or(text);
    if shape.is_free_text() && literal == text && scalar::parse_yes_or_no(text).is_some() {
        // A "yes" or "no" is hardly ever a text, so the person must confirm it. In quotes, it needs no confirmation.
        return Err(shape.check(&Value::from(text)).map_or_else(
            |reason| ParsedAnswer::Wrong(format!("That {reason}.")),
            |()| ParsedAnswer::Near(Value::from(text)),
        ));
    }
    let check = |text: &str| shape.check(&Value::String(text.to_owned()));
    let formed = match limits.format.as_deref() {
        Some("date") => scalar::parse_date(literal),
        Some("date-time") => scalar::parse_date_time(literal),
        _ => None,
    };
    let Err(reason) = formed.as_deref().map_or_else(|| check(literal), check) else {
        return Ok(formed.unwrap_or_else(|| literal.to_owned()));
    };
    // "it's #W123, thanks": a pattern or format finds the value among other words.
    if limits.pattern.is_some() || limits.format.is_some() {
        let mut found =
            words::word_ranges(text).into_iter().map(|range| &text[range]).filter(|word| check(word).is_ok());
        if let (Some(one), None) = (found.next(), found.next()) {
            return Ok(one.to_owned());
        }
    }
    let folded = words::fold(text);
    let is_relative = folded.split(' ').any(|word| {
        matches!(word, "today" | "tomorrow" | "tonight" | "yesterday" | "next" | "now")
            || (word.ends_with("day") && word.len() > 5)
    });
    Err(ParsedAnswer::Wrong(
        if is_relative && limits.format.as_deref().is_some_and(|format| format.starts_with("date")) {
            format!("I have no calendar at hand, so please give {}.", shape.kind.noun())
        } else {
            format!("That {reason}.")
        },
    ))
}

fn parse_object(fields: &[Field], is_open: bool, text: &str) -> Result<Value, ParsedAnswer> {
    if text.starts_with('{') {
        return parse_json(text);
    }
    if matches!(words::fold(text).as_str(), "none" | "nothing" | "empty" | "skip" | "no") {
        return Ok(Value::Object(Map::new()));
    }
    let mut map = Map::new();
    for piece in text.split([',', '\n', ';']).filter(|piece| !piece.trim().is_empty()) {
        let pair = piece.split_once([':', '=']);
        let Some((key, given)) = pair.map(|(key, given)| (key.trim(), given.trim())) else {
            return Err(ParsedAnswer::Wrong("I need `name: value` pairs or JSON here.".to_owned()));
        };
        let field = fields.iter().find(|field| words::fold(&field.name) == words::fold(key));
        let (name, read) = match field {
            Some(field) => match parse(&FieldQuestion::new("", &field.shape), given) {
                ParsedAnswer::Value(value) => (field.name.clone(), value),
                ParsedAnswer::Items { items, .. } => (field.name.clone(), Value::Array(items)),
                ParsedAnswer::Wrong(reason) => return Err(ParsedAnswer::Wrong(format!("{key}: {reason}"))),
                ParsedAnswer::Near(_) | ParsedAnswer::Several(_) => {
                    return Err(ParsedAnswer::Wrong(format!("{key}: {}", describe_unknown(given))));
                }
            },
            None if is_open => (key.to_owned(), serde_json::from_str(given).unwrap_or_else(|_| Value::from(given))),
            None => {
                let names: Vec<_> = fields.iter().map(|field| field.name.as_str()).collect();
                return Err(ParsedAnswer::Wrong(format!("There is no `{key}` here, only {}.", names.join(", "))));
            }
        };
        map.insert(name, read);
    }
    Ok(Value::Object(map))
}

fn parse_json(text: &str) -> Result<Value, ParsedAnswer> {
    serde_json::from_str(text).map_err(|error| {
        if text.starts_with(['{', '[', '"']) {
            ParsedAnswer::Wrong(format!("That is not valid JSON ({error})."))
        } else if text.is_empty() {
            ParsedAnswer::Wrong("I need a JSON value here.".to_owned())
        } else {
            ParsedAnswer::Near(Value::from(text))
        }
    })
}

fn wrong_kind(kind: &Kind) -> ParsedAnswer {
    ParsedAnswer::Wrong(format!("I need {} here.", kind.noun()))
}

/// Returns the item of a list that a text names, or the reason why it names none.
pub fn parse_item(shape: &Shape, choices: &[Choice], is_strict: bool, text: &str) -> ParsedAnswer {
    let question = FieldQuestion { choices: choices.to_vec(), is_strict, ..FieldQuestion::new("", shape) };
    parse(&question, text)
}

/// The maximum number of items that are asked for one by one.
const MAX_ITEMS_ASKED: usize = 50;

/// Reads an answer about a list: items with the shape `item`, a JSON list, or, for objects, their number.
fn parse_list(question: &FieldQuestion, item: &Shape, text: &str) -> ParsedAnswer {
    let Kind::List { least, .. } = question.shape.kind else {
        return ParsedAnswer::Wrong("I need a list here.".into());
    };
    if text.starts_with('[') {
        return match serde_json::from_str::<Value>(text) {
            Ok(value) => match question.shape.check(&value) {
                Ok(()) => ParsedAnswer::Value(value),
                Err(reason) => ParsedAnswer::Wrong(format!("That {reason}.")),
            },
            Err(error) => ParsedAnswer::Wrong(format!("That is not valid JSON ({error}).")),
        };
    }
    let folded = words::fold(text);
    if least == 0 && matches!(folded.as_str(), "none" | "nothing" | "empty" | "no") {
        return ParsedAnswer::Value(Value::Array(Vec::new()));
    }
    // A tool may offer whole lists, such as the flights of a journey.
    if question.choices.iter().any(|choice| choice.value.is_array())
        && let Some(answer) = choose(&question.choices, question.is_numbered(), text)
    {
        return answer;
    }
    if item.is_form() {
        return parse_count(question, text);
    }
    if !is_simple(item) {
        return ParsedAnswer::Wrong("I need a JSON list here, such as [1, 2].".into());
    }
    if question.is_strict && matches!(folded.as_str(), "all" | "all of them" | "everything" | "both") {
        return ParsedAnswer::Items {
            items: question.choices.iter().map(|choice| choice.value.clone()).collect(),
            has_more: false,
        };
    }
    let has_more = text.ends_with(',') || text.ends_with("...") || text.ends_with('…');
    let mut items = Vec::new();
    for piece in split_items(text, item, question.is_strict) {
        match parse_item(item, &question.choices, question.is_strict, piece) {
            ParsedAnswer::Value(value) => items.push(value),
            ParsedAnswer::Near(value) => {
                return ParsedAnswer::Wrong(format!(
                    "{} Did you mean {}?",
                    describe_unknown(piece),
                    scalar::to_plain_text(&value)
                ));
            }
            ParsedAnswer::Wrong(reason) => {
                return ParsedAnswer::Wrong(format!("“{}”: {reason}", words::shorten(piece, 40)));
            }
            ParsedAnswer::Several(_) | ParsedAnswer::Items { .. } => {
                return ParsedAnswer::Wrong(describe_unknown(piece));
            }
        }
    }
    if items.is_empty() {
        ParsedAnswer::Wrong("I need at least one value here.".into())
    } else {
        ParsedAnswer::Items { items, has_more }
    }
}

/// Returns whether values of the shape can stand next to one another in a line.
fn is_simple(shape: &Shape) -> bool {
    !shape.allowed.is_empty() || matches!(shape.kind, Kind::Text(_) | Kind::Number(_) | Kind::Bool | Kind::Either(_))
}

/// Reads the number of objects. Each is then asked for field by field.
fn parse_count(question: &FieldQuestion, text: &str) -> ParsedAnswer {
    let Kind::List { least, most, .. } = question.shape.kind else {
        return ParsedAnswer::Wrong("I need a list here.".into());
    };
    let number = scalar::parse_number(text).or_else(|| scalar::find_only_number(text));
    let Some(number) = number.and_then(|number| number.as_u64()).and_then(|number| usize::try_from(number).ok()) else {
        return ParsedAnswer::Wrong("How many are there? A number will do, or a JSON list.".into());
    };
    let top = most.unwrap_or(MAX_ITEMS_ASKED);
    if number < least || number > top {
        return ParsedAnswer::Wrong(format!("That must be from {least} to {top}."));
    }
    if number > MAX_ITEMS_ASKED {
        return ParsedAnswer::Wrong(format!(
            "I can ask for {MAX_ITEMS_ASKED} one by one; please give so many as a JSON list."
        ));
    }
    ParsedAnswer::Value(Value::Array(vec![Value::Object(Map::new()); number]))
}

/// Splits an answer at commas, semicolons and line breaks. Splits at "and", too, unless the answer may be a single free text.
fn split_items<'a>(text: &'a str, item: &Shape, is_strict: bool) -> Vec<&'a str> {
    let text = text.trim_end_matches(['.', '…']);
    let has_separators = text.contains([',', ';', '\n']);
    let mut out = Vec::new();
    for piece in text.split([',', ';', '\n']) {
        let piece = piece.trim();
        let piece = piece.strip_prefix("and ").unwrap_or(piece).trim();
        let may_split_at_and = is_strict || has_separators || !item.is_free_text();
        if may_split_at_and && unquote(piece).is_none() {
            out.extend(piece.split(" and "));
        } else {
            out.push(piece);
        }
    }
    out.into_iter().map(str::trim).filter(|piece| !piece.is_empty()).collect()
}

/// Finds the value that `text` names by its value, number, label or beginning. The result may be several values, or a similar
/// one.
pub fn choose(choices: &[Choice], is_numbered: bool, text: &str) -> Option<ParsedAnswer> {
    let text = text.trim();
    let written: Vec<String> = choices.iter().map(|choice| scalar::to_plain_text(&choice.value)).collect();
    if let Some(at) = written.iter().position(|known| known == text) {
        return Some(ParsedAnswer::Value(choices[at].value.clone()));
    }
    if is_numbered {
        if let Some(choice) = scalar::parse_list_index(text).and_then(|at| choices.get(at)) {
            return Some(ParsedAnswer::Value(choice.value.clone()));
        }
        if text.len() < 3 && text.chars().all(|c| c.is_ascii_digit()) {
            // The number is beyond the list. Do not read 20 as the beginning of 2026.
            return None;
        }
    } else if let Some(number) = scalar::parse_number(text).or_else(|| scalar::find_only_number(text)) {
        let number = number.to_string();
        if let Some(at) = written.iter().position(|known| *known == number) {
            return Some(ParsedAnswer::Value(choices[at].value.clone()));
        }
    }
    let folded = fold_without_polite_words(text);
    if folded.is_empty() {
        return None;
    }
    let known: Vec<String> = written.iter().map(|known| words::fold(known)).collect();
    let labels: Vec<String> = choices.iter().map(|choice| words::fold(words::first_sentence(&choice.label))).collect();
    let tests: [&dyn Fn(usize) -> bool; 7] = [
        &|at| known[at] == folded,
        &|at| !labels[at].is_empty() && labels[at] == folded,
        &|at| known[at].starts_with(&folded),
        &|at| mentions(&known[at], &folded),
        &|at| mentions(&folded, &known[at]) && !known[at].is_empty(),
        &|at| folded.len() > 2 && labels[at].starts_with(&folded),
        &|at| !labels[at].is_empty() && is_abbreviation(&labels[at], &folded),
    ];
    for (rank, test) in tests.iter().enumerate() {
        let mut found: Vec<usize> = (0..choices.len()).filter(|at| test(*at)).collect();
        if rank == 4 {
            // "New York City" also mentions York. Prefer the longest name.
            let longest = found.iter().map(|at| known[*at].len()).max().unwrap_or(0);
            let nested = |at: &usize| known[*at].len() < longest;
            let longer = found.iter().copied().find(|at| !nested(at));
            found.retain(|at| !(nested(at) && longer.is_some_and(|long| mentions(&known[long], &known[*at]))));
        }
        match found[..] {
            [] => {}
            [one] => return Some(ParsedAnswer::Value(choices[one].value.clone())),
            _ => return Some(ParsedAnswer::Several(found.into_iter().map(|at| choices[at].value.clone()).collect())),
        }
    }
    if folded.contains(|c: char| c.is_ascii_digit()) {
        // A different day or number is not a typing error.
        return None;
    }
    let near = suggest::nearest(&folded, known.iter().map(String::as_str))?;
    let at = known.iter().position(|one| one == near)?;
    Some(ParsedAnswer::Near(choices[at].value.clone()))
}

/// Returns whether `whole` contains `part` as whole words. Both are folded.
pub fn mentions(whole: &str, part: &str) -> bool {
    !part.is_empty() && format!(" {whole} ").contains(&format!(" {part} "))
}

/// Returns whether a text is only the name of a choice.
pub fn is_choice_name(choices: &[Choice], text: &str) -> bool {
    let folded = fold_without_polite_words(text);
    let names = |choice: &Choice| [words::fold(&scalar::to_plain_text(&choice.value)), words::fold(&choice.label)];
    !folded.is_empty() && choices.iter().any(|choice| names(choice).iter().any(|name| is_abbreviation(name, &folded)))
}

/// Returns whether each word of `folded` begins a word of `label`: "dec 1st" and "tuesday, 1 december". Both are folded.
fn is_abbreviation(label: &str, folded: &str) -> bool {
    folded.split(' ').filter(|word| !matches!(*word, "of" | "the")).all(|word| {
        let count = word.trim_end_matches(|c: char| c.is_alphabetic());
        let word = if count.is_empty() { word } else { count };
        label.split(' ').any(|known| known == word || (word.len() > 2 && known.starts_with(word)))
    })
}

/// Returns the folded text, without polite words around it.
fn fold_without_polite_words(text: &str) -> String {
    let mut folded = words::fold(text);
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
        if let Some(rest) = folded.strip_prefix(lead).and_then(|rest| rest.strip_prefix(' ')) {
            folded = rest.to_owned();
        }
    }
    folded.trim_end_matches(" please").trim_end_matches(" thanks").to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(schema: &Value, text: &str) -> ParsedAnswer {
        parse(&FieldQuestion::new("/x", &Shape::of(schema)), text)
    }

    fn is(value: Value) -> ParsedAnswer {
        ParsedAnswer::Value(value)
    }

    #[test]
    fn a_list_of_objects_is_one_of_the_offered_lists_or_a_number_of_objects() {
        let item = json!({"type": "object", "required": ["city"], "properties": {"city": {"type": "string"}}});
        let lists = [json!([{"city": "Rome"}]), json!([{"city": "Rome"}, {"city": "Bari"}])];
        let shape = Shape::of(&json!({"type": "array", "items": item}));
        let question = FieldQuestion::new("/stops", &shape).with_choices(&lists, false);
        assert_eq!(parse(&question, "2"), is(lists[1].clone()));
        assert_eq!(parse(&question, "3"), is(json!([{}, {}, {}])));
    }

    #[test]
    fn simple_values() {
        assert_eq!(read(&json!({"type": "string"}), " Paris "), is(json!("Paris")));
        assert_eq!(read(&json!({"type": "string"}), "\"cancel\""), is(json!("cancel")));
        assert_eq!(read(&json!({"type": "integer"}), "two, please"), is(json!(2)));
        assert_eq!(read(&json!({"type": "number"}), "about 2.5 km"), is(json!(2.5)));
        assert_eq!(read(&json!({"type": "boolean"}), "yes please"), is(json!(true)));
        assert_eq!(read(&json!({"type": ["string", "null"]}), "none"), is(Value::Null));
        assert_eq!(read(&json!({"type": ["string", "integer"]}), "7"), is(json!(7)));
        assert_eq!(read(&json!({"type": "string", "format": "date"}), "1 Oct 2026"), is(json!("2026-10-01")));
        assert_eq!(read(&json!({"type": "string", "pattern": "^#W\\d+$"}), "it is #W12, thanks"), is(json!("#W12")));
    }

    #[test]
    fn invalid_answers_are_explained() {
        let number = json!({"type": "integer", "minimum": 1, "maximum": 9});
        assert_eq!(read(&number, "12"), ParsedAnswer::Wrong("That must be from 1 to 9.".into()));
        assert_eq!(read(&number, "a lot"), ParsedAnswer::Wrong("I need a whole number here.".into()));
        assert_eq!(read(&number, "1.5"), ParsedAnswer::Wrong("That must be a whole number.".into()));
        let date = json!({"type": "string", "format": "date"});
        assert_eq!(
            read(&date, "next friday"),
            ParsedAnswer::Wrong("I have no calendar at hand, so please give a date such as 2026-10-01.".into())
        );
        assert_eq!(
            read(&json!({"type": "string", "minLength": 3}), "ab"),
            ParsedAnswer::Wrong("That needs at least 3 characters.".into())
        );
    }

    #[test]
    fn one_of_the_allowed_values() {
        let unit = json!({"enum": ["celsius", "fahrenheit"]});
        assert_eq!(read(&unit, "2"), is(json!("fahrenheit")));
        assert_eq!(read(&unit, "C"), is(json!("celsius")));
        assert_eq!(read(&unit, "celcius"), ParsedAnswer::Near(json!("celsius")));
        assert_eq!(read(&unit, "kelvin!"), ParsedAnswer::Wrong("“kelvin!” is not on the list.".into()));
    }

    #[test]
    fn objects_as_pairs_or_json() {
        let schema =
            json!({"type": "object", "properties": {"size": {"type": "integer"}}, "additionalProperties": false});
        assert_eq!(read(&schema, "size: 3"), is(json!({"size": 3})));
        assert_eq!(read(&schema, "{\"size\": 3}"), is(json!({"size": 3})));
        assert!(matches!(read(&schema, "colour: red"), ParsedAnswer::Wrong(text) if text.contains("only size")));
        assert!(
            matches!(read(&schema, "{\"colour\": 1}"), ParsedAnswer::Wrong(text) if text.contains("no field `colour`"))
        );
        assert_eq!(read(&json!({"type": "object"}), "a=1, b=x"), is(json!({"a": 1, "b": "x"})));
        assert_eq!(read(&json!({}), "[1]"), is(json!([1])));
        assert_eq!(read(&json!({}), "hello"), ParsedAnswer::Near(json!("hello")));
    }

    fn items(values: &Value, has_more: bool) -> ParsedAnswer {
        ParsedAnswer::Items { items: values.as_array().cloned().unwrap_or_default(), has_more }
    }

    #[test]
    fn several_values_in_one_line() {
        let texts = json!({"type": "array", "items": {"type": "string"}});
        assert_eq!(read(&texts, "a, b and c"), items(&json!(["a", "b", "c"]), false));
        assert_eq!(read(&texts, "salt and pepper"), items(&json!(["salt and pepper"]), false));
        assert_eq!(read(&texts, "a,"), items(&json!(["a"]), true));
        assert_eq!(read(&texts, "[\"a,b\"]"), ParsedAnswer::Value(json!(["a,b"])));
        assert_eq!(read(&texts, "none"), ParsedAnswer::Value(json!([])));
        let numbers = json!({"type": "array", "items": {"type": "integer"}});
        assert_eq!(read(&numbers, "1 and 2"), items(&json!([1, 2]), false));
        assert!(matches!(read(&numbers, "1, x"), ParsedAnswer::Wrong(text) if text.contains("“x”")));
    }

    #[test]
    fn several_of_the_allowed_values() {
        let units = json!({"type": "array", "items": {"enum": ["red", "green", "blue"]}});
        assert_eq!(read(&units, "1 and blue"), items(&json!(["red", "blue"]), false));
        assert_eq!(read(&units, "all"), items(&json!(["red", "green", "blue"]), false));
        assert!(matches!(read(&units, "gren"), ParsedAnswer::Wrong(text) if text.contains("Did you mean green")));
    }

    #[test]
    fn objects_are_counted_first() {
        let schema = json!({"type": "array", "minItems": 1, "maxItems": 4,
            "items": {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}});
        assert_eq!(read(&schema, "two"), ParsedAnswer::Value(json!([{}, {}])));
        assert_eq!(read(&schema, "5"), ParsedAnswer::Wrong("That must be from 1 to 4.".into()));
        assert!(matches!(read(&schema, "many"), ParsedAnswer::Wrong(_)));
    }

    fn cities() -> Vec<Choice> {
        ["London", "New York", "NEW_YORK", "Newcastle", "York"]
            .iter()
            .map(|name| Choice::without_label(&json!(name)))
            .collect()
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
            assert_eq!(choose(&cities(), true, text), Some(ParsedAnswer::Value(json!(expected))), "{text}");
        }
    }

    #[test]
    fn unclear_answers_are_not_guessed() {
        assert_eq!(
            choose(&cities(), true, "new york"),
            Some(ParsedAnswer::Several(vec![json!("New York"), json!("NEW_YORK")]))
        );
        assert_eq!(choose(&cities(), true, "lodnon"), Some(ParsedAnswer::Near(json!("London"))));
        assert_eq!(choose(&cities(), true, "Tokyo"), None);
        assert_eq!(choose(&cities(), true, "9"), None);
        assert_eq!(choose(&cities(), true, "?"), None);
    }

    #[test]
    fn values_that_are_numbers_are_meant_by_their_value() {
        let sizes: Vec<Choice> = [5, 10, 1].iter().map(|size| Choice::without_label(&json!(size))).collect();
        assert_eq!(choose(&sizes, false, "1"), Some(ParsedAnswer::Value(json!(1))));
        assert_eq!(choose(&sizes, false, "ten"), Some(ParsedAnswer::Value(json!(10))));
        assert_eq!(choose(&sizes, false, "2"), None);
    }
}
