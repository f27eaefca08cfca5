//! The text of a turn: the result of the last call, and the next question.

use std::ops::Bound::{self, Included, Unbounded};

use super::form::{self, Clarification, FieldQuestion, Form};
use super::shape::{Choice, Kind, Number, Shape};
use super::{ConfirmationReason, Dialogue, DialogueState, Reply};
use super::{render, scalar, words};

/// The maximum number of tools that are listed at once.
const MAX_LISTED_TOOLS: usize = 15;
/// The maximum number of values that are listed at once.
const MAX_LISTED_VALUES: usize = 12;

/// First words of descriptions that are instructions to a model, not names of things.
const INSTRUCTION_WORDS: &[&str] = &[
    "accepts",
    "choose",
    "comma",
    "controls",
    "defines",
    "determines",
    "disable",
    "do",
    "enable",
    "enter",
    "exclude",
    "filter",
    "filters",
    "give",
    "if",
    "include",
    "indicates",
    "limit",
    "must",
    "only",
    "optional",
    "pick",
    "provide",
    "required",
    "return",
    "returns",
    "select",
    "set",
    "show",
    "specifies",
    "specify",
    "use",
    "used",
    "when",
    "whether",
];
const QUESTION_WORDS: &[&str] = &["how", "what", "when", "where", "which", "who", "whom", "whose", "why"];
/// Words, besides question words, that begin a clause. In "the hour it begins", the head is "hour", so the phrase is not plural.
const CLAUSE_WORDS: &[&str] = &["he", "i", "is", "it", "she", "that", "they", "this", "we", "you"];
const PREPOSITIONS: &[&str] = &["after", "at", "before", "by", "for", "from", "in", "of", "on", "to", "until", "with"];

impl Dialogue<'_> {
    /// Returns the reply: the call of a complete form if `may_call` is set, otherwise a text.
    pub fn speak(mut self, may_call: bool) -> Reply {
        let state = std::mem::take(&mut self.state);
        let text = match &state {
            DialogueState::Filling(form) => match self.shape_of(form) {
                Some(root) if form.clarification.is_none() => match form.next_question(root) {
                    Some(question) => write_next_question(form, &question),
                    None if may_call => return Reply::Call(self.make_call(&form.tool, &form.arguments(root))),
                    None => self.ask_confirmation(form, ConfirmationReason::NotCalled),
                },
                Some(root) => self.ask_clarification(form, root),
                None => String::new(),
            },
            DialogueState::Confirming { form, reason } => self.ask_confirmation(form, *reason),
            DialogueState::Choosing { is_shown: true, .. } if !self.note.is_empty() => String::new(),
            DialogueState::Choosing { offered, .. } => self.list_tools(offered),
            DialogueState::Idle if self.note.is_empty() => self.list_tools(&self.all_tools()),
            DialogueState::Idle if self.note.ends_with('?') || !self.has_result => String::new(),
            DialogueState::Idle => "Anything else?".to_owned(),
        };
        let is_long = self.note.contains('\n') || text.contains('\n') || self.note.chars().count() > 60;
        let gap = match (self.note.is_empty() || text.is_empty(), &state, is_long) {
            (true, ..) => "",
            (_, DialogueState::Idle, _) => "\n\n",
            _ if is_long || self.has_result => "\n",
            _ => " ",
        };
        let text = render::printable(&format!("{}{gap}{text}", self.note));
        // A turn must not be empty, even if nothing in its text is printable.
        Reply::Say(if text.trim().is_empty() { self.list_tools(&self.all_tools()) } else { text })
    }

    fn ask_clarification(&self, form: &Form, root: &Shape) -> String {
        match &form.clarification {
            Some(Clarification::Meant { pointer, value }) => {
                let value = words::shorten(&scalar::to_plain_text(value), 80);
                let label = form::label(pointer);
                format!("Did you mean “{value}” as {label}? (yes or no)")
            }
            Some(Clarification::Which { pointer, values }) => {
                let options: Vec<Choice> = values.iter().map(Choice::without_label).collect();
                let list = list_choices(&options, form::may_be_numbered(values.iter()));
                format!("Which {} do you mean?\n{list}", form::last_label(pointer))
            }
            Some(Clarification::Change { pointers }) => {
                let known =
                    |pointer: &String| form.values.pointer(pointer).map(scalar::to_plain_text).unwrap_or_default();
                let lines = pointers
                    .iter()
                    .enumerate()
                    .map(|(at, pointer)| format!("  {}. {}: {}\n", at + 1, form::label(pointer), known(pointer)));
                format!("What would you like to change?\n{}Or say “cancel”.", lines.collect::<String>())
            }
            Some(Clarification::Switch { tool, .. }) => {
                let other = self.tools.get(*tool).map(|spec| self.title(&spec.name)).unwrap_or_default();
                let own = self.title(&form.tool);
                format!("Shall I drop “{own}” and go to “{other}”? (yes or no)")
            }
            None => form.next_question(root).map(|question| write_question(&question)).unwrap_or_default(),
        }
    }

    /// Returns the question that asks the person to confirm a complete form.
    fn ask_confirmation(&self, form: &Form, reason: ConfirmationReason) -> String {
        let example =
            self.shape_of(form).and_then(|root| root.fields().first()).map(|field| format!("“{}: …”", field.name));
        let change = example.map(|example| format!("or change something, such as {example}")).unwrap_or_default();
        if reason == ConfirmationReason::Denied {
            return if self.has_result { format!("Anything else? ({change})") } else { String::new() };
        }
        let change = if change.is_empty() { change } else { format!(", {change}") };
        if reason == ConfirmationReason::Failed {
            return format!("Shall I try again? (yes or no{change})");
        }
        let known = form.describe_values();
        let known = if known.is_empty() { known } else { format!(" with {known}") };
        format!("Shall I go ahead with “{}”{known}? (yes or no{change})", self.title(&form.tool))
    }

    fn all_tools(&self) -> Vec<usize> {
        (0..self.tools.len()).collect()
    }

    /// Returns the list of tools that a person can choose from.
    fn list_tools(&self, offered: &[usize]) -> String {
        if self.tools.is_empty() {
            return "There are no tools here, so there is nothing that I can do.".to_owned();
        }
        if let [one] = offered {
            if self.tools.len() == 1 {
                return format!("I can do one thing: {}. Shall I? (yes or no)", self.describe_tool(*one));
            }
            return format!("Do you mean this: {}? (yes or no)", self.describe_tool(*one));
        }
        let mut lines: Vec<String> = (offered.iter().take(MAX_LISTED_TOOLS).enumerate())
            .map(|(at, tool)| format!("{:>3}. {}", at + 1, self.describe_tool(*tool)))
            .collect();
        if offered.len() > MAX_LISTED_TOOLS {
            lines.push(format!("     … and {} more: say a word of what you need", offered.len() - MAX_LISTED_TOOLS));
        }
        match self.note.ends_with('?') {
            true => {}
            false if offered.len() == self.tools.len() => {
                lines.insert(0, "This is what I can do:".to_owned());
                lines.push("Tell me what you need, or give a number.".to_owned());
            }
            false => lines.insert(0, "Which of these?".to_owned()),
        }
        lines.join("\n")
    }

    pub fn describe_tool(&self, tool: usize) -> String {
        let spec = self.tools[tool];
        let (title, about) = (self.title(&spec.name), words::first_sentence(&spec.description));
        let line = if words::tokens(about) == words::tokens(&title) {
            title
        } else {
            format!("{title} – {}", words::shorten(about, 90))
        };
        render::printable(line.trim_end_matches([' ', '–', '.']))
    }
}

fn write_next_question(form: &Form, question: &FieldQuestion) -> String {
    if form.open_list.as_ref() == Some(&question.pointer) && form.is_complete(question) {
        return format!("What else for {}? (“done” when that is all)", form::label(&question.pointer));
    }
    if form.values.pointer(&question.pointer).and_then(|value| value.as_array()).is_some_and(|list| !list.is_empty()) {
        return format!("More are needed. {}", write_question(question));
    }
    write_question(question)
}

/// Returns the question for a value, with all information that is needed to answer it.
pub fn write_question(question: &FieldQuestion) -> String {
    let mut out = write_sentence(question);
    let hints = list_hints(question);
    if !hints.is_empty() {
        out.extend([" (", &hints.join("; "), ")"]);
    }
    let list = if question.integer_range().is_some() {
        String::new()
    } else {
        list_choices(&question.choices, question.is_numbered())
    };
    if !list.is_empty() {
        if !question.is_strict {
            out.push_str(" For example:");
        }
        out.push('\n');
        out.push_str(&list);
    }
    out
}

/// Returns the choices, one per line.
pub fn list_choices(choices: &[Choice], is_numbered: bool) -> String {
    let mut lines = Vec::new();
    for (at, choice) in choices.iter().take(MAX_LISTED_VALUES).enumerate() {
        let mark = if is_numbered { format!("{}.", at + 1) } else { "-".to_owned() };
        let label = if choice.label.is_empty() {
            String::new()
        } else {
            format!(" – {}", words::shorten(words::first_sentence(&choice.label), 70))
        };
        lines.push(format!("  {mark} {}{label}", words::shorten(&scalar::to_line(&choice.value), 80)));
    }
    if choices.len() > MAX_LISTED_VALUES {
        lines.push(format!("  … and {} more: say a part of the one you mean", choices.len() - MAX_LISTED_VALUES));
    }
    lines.join("\n")
}

/// Returns hints for the answer: range, form, default, example.
fn list_hints(question: &FieldQuestion) -> Vec<String> {
    let shape = &question.shape;
    let mut out = Vec::new();
    match &shape.kind {
        Kind::Number(limits) if question.choices.is_empty() => {
            // The bounds of a number type, such as `i64`, do not help a person.
            let near = |bound: Bound<f64>| match bound {
                Included(limit) if limit.abs() >= 2_147_483_647.0 => Unbounded,
                bound => bound,
            };
            let range = (near(limits.range.0), near(limits.range.1));
            let shown = Number { range, ..limits.clone() }.range_in_words();
            out.extend(shown.filter(|_| range != (Included(0.0), Unbounded)));
        }
        Kind::Text(text) if question.choices.is_empty() => {
            let has_no_example = shape.examples.is_empty() && shape.default.is_none();
            match text.format.as_deref() {
                Some("date" | "date-time" | "time" | "email" | "uri" | "url" | "uuid") => {
                    out.push(shape.kind.noun().to_owned());
                }
                _ if has_no_example => {
                    let sample = text.pattern.as_deref().and_then(scalar::make_sample);
                    out.extend(sample.map(|sample| format!("in the form of {sample}")));
                }
                _ => {}
            }
        }
        Kind::List { item, .. } if !item.is_form() => out.push(
            if matches!(item.kind, Kind::Object { .. } | Kind::List { .. } | Kind::Anything) && item.allowed.is_empty()
            {
                "a JSON list".to_owned()
            } else {
                "one, or several with commas; end with a comma to go on".to_owned()
            },
        ),
        Kind::Object { fields, .. } if fields.is_empty() => out.push("as JSON, or as name: value pairs".to_owned()),
        Kind::Object { fields, .. } => {
            let names: Vec<_> = fields.iter().map(|field| field.name.as_str()).collect();
            out.push(format!("any of {} as name: value pairs; or “none”", names.join(", ")));
        }
        Kind::Anything => out.push("as JSON".to_owned()),
        _ => {}
    }
    out.extend(question.integer_range().map(|(first, last)| format!("from {first} to {last}")));
    if let Some(default) = &shape.default {
        let default = words::shorten(&scalar::to_plain_text(default), 40);
        out.push(if default.is_empty() {
            "say “default” for none".into()
        } else {
            format!("say “default” for {default}")
        });
    } else if question.choices.is_empty()
        && let Some(example) = shape.examples.first()
    {
        out.push(format!("for example {}", scalar::to_short_text(example)));
    }
    if question.is_optional {
        out.push("or “skip”".to_owned());
    } else if shape.is_nullable {
        out.push("or “none”".to_owned());
    }
    out
}

/// Returns the question itself, without hints. A question inside an object or list begins with its place.
pub fn write_sentence(question: &FieldQuestion) -> String {
    let (holder, _) = question.pointer.rsplit_once('/').unwrap_or_default();
    let asked = write_bare_question(question);
    if holder.is_empty() {
        words::capitalize(&asked)
    } else {
        format!("{}: {asked}", words::capitalize(&form::label(holder)))
    }
}

fn write_bare_question(question: &FieldQuestion) -> String {
    let (shape, label) = (&question.shape, form::last_label(&question.pointer));
    let label = shape.title.clone().filter(|title| words::fold(title) != words::fold(&label)).unwrap_or(label);
    let details = || {
        let details = words::shorten(words::first_sentence(&shape.description), 160);
        if details.is_empty() { details } else { format!(" {}.", words::capitalize(&details)) }
    };
    if matches!(&shape.kind, Kind::List { item, .. } if item.is_form() && question.choices.is_empty()) {
        return format!("how many {label}? I will ask for each.");
    }
    if shape.kind == Kind::Bool {
        let is_name = words::fold(&shape.description) == words::fold(&label);
        return format!("{label}, yes or no?{}", if is_name { String::new() } else { details() });
    }
    if let Some(asked) = as_question(&shape.description) {
        return format!("{asked}?");
    }
    match noun_phrase(&shape.description).filter(|thing| may_replace_label(thing, &label)) {
        Some(thing) if question.is_strict => format!("which {}?", without_article(&thing)),
        Some(thing) => format!("what {} {}?", if is_plural(&thing) { "are" } else { "is" }, with_article(&thing)),
        None if PREPOSITIONS.contains(&label.as_str()) => format!("{label}?{}", details()),
        None if question.is_strict => format!("which {label}?{}", details()),
        None if is_integer(shape) && is_plural(&label) => format!("how many {label}?{}", details()),
        None => format!("what {} {}?{}", if is_plural(&label) { "are" } else { "is" }, with_article(&label), details()),
    }
}

/// Returns whether a phrase can replace the parameter's name. A phrase such as "no longer needed or by mistake" lists answers, so
/// it cannot.
fn may_replace_label(phrase: &str, label: &str) -> bool {
    let stems = words::tokens(phrase);
    !phrase.contains(" or ") || words::tokens(label).iter().any(|token| stems.contains(token))
}

/// Returns a description as part of a sentence, if it names a thing in a few words.
fn noun_phrase(description: &str) -> Option<String> {
    let sentence = words::first_sentence(description);
    let end = sentence.find([',', '(', ';', ':', '\n', '—']).unwrap_or(sentence.len());
    let end = [" - ", " – ", " e.g", " such as ", " in the format", " in format"]
        .iter()
        .filter_map(|mark| sentence.find(mark))
        .fold(end, usize::min);
    let phrase = sentence[..end].trim().trim_end_matches('.');
    let lists = ["An array of ", "Array of ", "A list of ", "List of ", "The list of "];
    let phrase = lists.iter().find_map(|lead| phrase.strip_prefix(lead)).unwrap_or(phrase);
    let folded = words::fold(phrase);
    let first = folded.split(' ').next().unwrap_or_default();
    let is_other = [INSTRUCTION_WORDS, QUESTION_WORDS, PREPOSITIONS].iter().any(|words| words.contains(&first));
    let is_unusable = is_other || phrase.contains(['`', '?', '"']);
    let count = folded.split(' ').count();
    (!phrase.is_empty() && !is_unusable && count <= 12 && phrase.len() <= 80).then(|| lower_first(phrase))
}

/// Returns a description that already is a question, without its question mark.
fn as_question(description: &str) -> Option<String> {
    let sentence = words::first_sentence(description).trim_end_matches('?');
    let folded = words::fold(sentence);
    let mut words = folded.split(' ');
    let (first, second) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    // "How many people travel" is a question, but "where the journey begins" is a name.
    let is_name = ["a", "an", "he", "it", "she", "the", "there", "they", "this", "we", "you", "your"].contains(&second);
    (QUESTION_WORDS.contains(&first) && !is_name && sentence.len() <= 100).then(|| lower_first(sentence))
}

/// Returns the phrase with its first letter in lower case, unless its first word is an acronym or a name.
fn lower_first(phrase: &str) -> String {
    let first = phrase.split(' ').next().unwrap_or_default();
    let capitals = first.chars().filter(|c| c.is_uppercase()).count();
    if capitals > 1 || first.contains('.') {
        return phrase.to_owned();
    }
    let mut chars = phrase.chars();
    chars.next().map_or_else(String::new, |c| c.to_lowercase().chain(chars).collect())
}

fn with_article(phrase: &str) -> String {
    let first = phrase.split(' ').next().unwrap_or_default();
    if matches!(first, "the" | "a" | "an" | "your" | "his" | "her" | "its" | "their" | "any" | "each" | "one" | "all") {
        phrase.to_owned()
    } else {
        format!("the {phrase}")
    }
}

fn without_article(phrase: &str) -> &str {
    ["the ", "a ", "an "].iter().find_map(|article| phrase.strip_prefix(article)).unwrap_or(phrase)
}

/// Returns whether a phrase is plural: its head, which is before the first preposition or clause, ends in `s`. A name may follow
/// the head, as in "degrees Celsius".
fn is_plural(phrase: &str) -> bool {
    let ends_head =
        |word: &str| PREPOSITIONS.contains(&word) || QUESTION_WORDS.contains(&word) || CLAUSE_WORDS.contains(&word);
    let is_plural_word = |word: &str| {
        let word = words::fold(word);
        word.len() > 2 && word.ends_with('s') && !["ss", "us", "is", "ews"].iter().any(|end| word.ends_with(end))
    };
    let head: Vec<&str> = phrase.split(' ').take_while(|word| !ends_head(&words::fold(word))).collect();
    match head[..] {
        [.., head, name] if name.starts_with(char::is_uppercase) => is_plural_word(name) || is_plural_word(head),
        [.., head] => is_plural_word(head),
        [] => false,
    }
}

fn is_integer(shape: &Shape) -> bool {
    matches!(&shape.kind, Kind::Number(Number { is_integer: true, .. }))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn asked(pointer: &str, schema: &Value) -> String {
        write_question(&FieldQuestion::new(pointer, &Shape::of(schema)))
    }

    #[test]
    fn hints_say_what_is_accepted() {
        for (schema, expected) in [
            (json!({"type": "integer", "minimum": 1, "maximum": 50}), "How many guests? (from 1 to 50)"),
            (json!({"type": "integer", "minimum": 0, "maximum": u64::MAX}), "How many guests?"),
            (
                json!({"type": "number", "exclusiveMinimum": 0, "default": 2}),
                "What are the guests? (more than 0; say “default” for 2)",
            ),
            (json!({"type": "string", "examples": ["Ada, Bob"]}), "What are the guests? (for example Ada, Bob)"),
            (json!({"type": "string", "pattern": "^x+$"}), "What are the guests? (in the form of x)"),
            (json!({"type": "string", "pattern": "^[A-Z]{3}\\d$"}), "What are the guests? (in the form of ABC1)"),
            (json!({"type": "string", "pattern": "^(?!x)"}), "What are the guests?"),
            (json!({"type": ["string", "null"]}), "What are the guests? (or “none”)"),
            (json!({"type": "boolean"}), "Guests, yes or no?"),
            (json!({"enum": ["a", "b"]}), "Which guests?\n  1. a\n  2. b"),
            (json!({"enum": [5, 1]}), "Which guests?\n  - 5\n  - 1"),
            (
                json!({"type": "object", "properties": {"a": {}}}),
                "What are the guests? (any of a as name: value pairs; or “none”)",
            ),
        ] {
            assert_eq!(asked("/guests", &schema), expected);
        }
        let many: Vec<_> = (0..30).map(|n| format!("v{n}")).collect();
        assert!(asked("/x", &json!({"enum": many})).ends_with("  … and 18 more: say a part of the one you mean"));
    }

    #[test]
    fn a_description_becomes_a_question() {
        for (pointer, description, expected) in [
            ("/city", "The city name, e.g. Paris.", "What is the city name?"),
            ("/from", "Airport of departure.", "What is the airport of departure?"),
            ("/from", "", "From?"),
            ("/id", "ID of the order", "What is the ID of the order?"),
            ("/names", "Names of the files to read", "What are the names of the files to read?"),
            ("/hour", "The hour it begins.", "What is the hour it begins?"),
            ("/hour", "The hour when the shop opens", "What is the hour when the shop opens?"),
            ("/ids", "Orders that were sent", "What are the orders that were sent?"),
            ("/who", "Who is travelling?", "Who is travelling?"),
            ("/celsius", "Degrees Celsius.", "What are the degrees Celsius?"),
            ("/options", "What there is to choose from.", "What are the options? What there is to choose from."),
            ("/from", "Where the journey begins.", "From? Where the journey begins."),
            ("/amount", "In euros.", "What is the amount? In euros."),
            ("/first_name", "", "What is the first name?"),
            ("/state", "Filter by state. Default: all.", "What is the state? Filter by state."),
            ("/reason", "No longer needed or by mistake", "What is the reason? No longer needed or by mistake."),
            ("/a/0/b", "", "A 1: what is the b?"),
        ] {
            let shape = Shape::of(&json!({"type": "string", "description": description}));
            assert_eq!(write_sentence(&FieldQuestion::new(pointer, &shape)), expected);
        }
    }
}
