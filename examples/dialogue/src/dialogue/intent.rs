//! The intent of a person: a word of command, or one of the tools.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{answer, words};
use tool_runtime::tool::ToolSpec;

/// A word that steers the dialogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Drop the current work.
    Cancel,
    /// Take the last answer back.
    Back,
    /// Explain what can be done.
    Help,
    /// Repeat the last call.
    Again,
    /// A greeting.
    Hello,
    /// Thanks, or a farewell.
    Thanks,
    /// Leave the value out.
    Skip,
    /// Take the default.
    Default,
    /// Finish the list.
    Done,
}

pub fn read_command(text: &str) -> Option<Command> {
    let text = text.trim();
    if !text.is_empty() && text.chars().all(|c| c == '?') {
        return Some(Command::Help);
    }
    if answer::unquote(text).is_some() {
        return None;
    }
    let folded = words::fold(text);
    Some(match folded.trim_end_matches(" please") {
        "cancel" | "cancel that" | "cancel it" | "never mind" | "nevermind" | "forget it" | "stop" | "quit"
        | "exit" | "abort" | "drop it" => Command::Cancel,
        "back" | "go back" | "undo" | "previous" | "take that back" => Command::Back,
        "help"
        | "help me"
        | "what can you do"
        | "what can i do"
        | "options"
        | "what are my options"
        | "menu"
        | "tools"
        | "list tools"
        | "commands"
        | "what do you mean"
        | "what"
        | "show options" => Command::Help,
        "again" | "once more" | "repeat" | "retry" | "try again" | "same again" | "do it again" | "repeat that" => {
            Command::Again
        }
        "hi" | "hello" | "hey" | "good morning" | "good evening" | "good afternoon" | "hi there" | "hello there"
        | "start" => Command::Hello,
        "thanks" | "thank you" | "thx" | "great" | "great thanks" | "cool" | "perfect" | "ok thanks"
        | "thanks a lot" | "bye" | "goodbye" | "that's all" | "that is all" | "that's it" | "no thanks"
        | "no thank you" | "nothing" | "nothing else" => Command::Thanks,
        "skip" | "skip it" | "leave it" | "leave it out" | "don't care" | "doesn't matter" | "no matter" => {
            Command::Skip
        }
        "default" | "the default" | "use the default" | "use default" => Command::Default,
        "done" | "finished" | "no more" | "end" => Command::Done,
        _ => return None,
    })
}

/// Returns the subject of `help ABOUT`.
pub fn find_help_topic(text: &str) -> Option<String> {
    let folded = words::fold(text);
    ["help me with ", "help with ", "help on ", "help "]
        .iter()
        .find_map(|lead| folded.strip_prefix(lead))
        .map(str::to_owned)
}

/// A guess at the tool that a sentence is about.
#[derive(Clone, Debug, PartialEq)]
pub enum Guess {
    /// This tool, by its index.
    One(usize),
    /// One of these tools, the most likely first.
    Perhaps(Vec<usize>),
    /// No known tool.
    Unknown,
}

/// The words of all tools, collected once.
pub struct WordIndex {
    tools: Vec<ToolWords>,
    tool_counts: BTreeMap<String, usize>,
}

struct ToolWords {
    /// The name and the title, folded.
    phrases: Vec<String>,
    name: BTreeSet<String>,
    summary: BTreeSet<String>,
    rest: BTreeSet<String>,
}

impl WordIndex {
    /// Collects the words of names, titles, descriptions and parameters.
    pub fn new(tools: &[&ToolSpec]) -> Self {
        let tools: Vec<ToolWords> = tools.iter().map(|spec| ToolWords::new(spec)).collect();
        let mut tool_counts = BTreeMap::new();
        for terms in &tools {
            let all: BTreeSet<&String> = terms.name.iter().chain(&terms.summary).chain(&terms.rest).collect();
            for token in all {
                *tool_counts.entry(token.clone()).or_insert(0) += 1;
            }
        }
        Self { tools, tool_counts }
    }

    /// Returns the stems of a tool's name.
    pub fn name_stems(&self, tool: usize) -> Vec<String> {
        self.tools.get(tool).map(|terms| terms.name.iter().cloned().collect()).unwrap_or_default()
    }

    /// Guesses the tool that a sentence is about. Multiplies the score of each likely tool by `weight` of that tool.
    pub fn guess(&self, text: &str, weight: impl Fn(usize) -> f64) -> Guess {
        let mut scores = self.scores(text);
        let Some(&(_, top)) = scores.first() else { return Guess::Unknown };
        scores.retain(|(_, score)| *score > top * 0.4);
        scores.truncate(8);
        for (tool, score) in &mut scores {
            *score *= weight(*tool);
        }
        scores.sort_by(|one, other| other.1.total_cmp(&one.1));
        let (best, score) = scores[0];
        let rivals: Vec<usize> = scores.iter().filter(|(_, other)| *other > score * 0.78).map(|(at, _)| *at).collect();
        match rivals.len() {
            1 if score >= 1.5 && !self.is_vague(best, text) => Guess::One(best),
            _ if score < 0.5 => Guess::Unknown,
            _ => Guess::Perhaps(rivals.into_iter().take(5).collect()),
        }
    }

    /// Returns all tools that share a word with the text, the most likely first.
    pub fn find_related(&self, text: &str) -> Vec<usize> {
        self.scores(text).into_iter().map(|(at, _)| at).collect()
    }

    /// Returns the tool, other than `current_tool`, that a sentence is certainly about, if there is one.
    pub fn find_certain(&self, text: &str, current_tool: &str) -> Option<usize> {
        let scores = self.scores(text);
        let (best, score) = *scores.first()?;
        let second = scores.get(1).map_or(0.0, |(_, score)| *score);
        let is_current = self.tools[best].phrases.first().is_some_and(|name| *name == words::fold(current_tool));
        let is_clear = score >= 2.5 && second < score * 0.6 && !self.is_vague(best, text);
        (is_clear && !is_current && words::word_ranges(text).len() > 1).then_some(best)
    }

    /// Returns whether a sentence shares too little with a tool. Examples are one verb among other words ("create a table"), and
    /// a word that is secondary for the tool.
    fn is_vague(&self, tool: usize, text: &str) -> bool {
        let terms = &self.tools[tool];
        let tokens = words::tokens(text);
        let is_central = |token: &String| terms.name.contains(token) || terms.summary.contains(token);
        if !tokens.iter().any(|token| is_central(token) || words::synonyms(token).any(|other| is_central(&other))) {
            return true;
        }
        let (shared, other): (Vec<&String>, Vec<&String>) =
            tokens.iter().partition(|token| is_central(token) || terms.rest.contains(*token));
        shared.iter().all(|token| words::is_verb(token)) && !other.is_empty() && shared.len() < 2
    }

    fn scores(&self, text: &str) -> Vec<(usize, f64)> {
        let folded = words::fold(text);
        let mut tokens = words::tokens(text);
        tokens.retain(|token| !token.chars().all(|c| c.is_ascii_digit()));
        tokens.sort();
        tokens.dedup();
        // A capitalized word gets no synonyms: "New" in "New York" is not a verb.
        let names: Vec<String> = (words::word_ranges(text).into_iter().skip(1).map(|range| &text[range]))
            .filter(|word| word.starts_with(char::is_uppercase))
            .flat_map(words::tokens)
            .collect();
        let synonyms = |token: &String| -> Vec<String> {
            if names.contains(token) { Vec::new() } else { words::synonyms(token).collect() }
        };
        let tokens: Vec<(String, Vec<String>)> =
            tokens.into_iter().map(|token| (token.clone(), synonyms(&token))).collect();
        let score = |tool| self.score(tool, &folded, &tokens);
        let mut scores: Vec<(usize, f64)> = self.tools.iter().map(score).enumerate().collect();
        scores.retain(|(_, score)| *score > 0.0);
        scores.sort_by(|one, other| other.1.total_cmp(&one.1));
        scores
    }

    #[expect(clippy::cast_precision_loss, reason = "counts of words and tools are small")]
    fn score(&self, tool: &ToolWords, folded: &str, tokens: &[(String, Vec<String>)]) -> f64 {
        let (mut by_names, mut score) = (0.0, 0.0);
        let mut covered = BTreeSet::new();
        for (token, synonyms) in tokens {
            let (mut best, mut by_name) = (0.0_f64, 0.0_f64);
            let mut count_word = |word: &String, share: f64| {
                let tool_count = self.tool_counts.get(word).copied().unwrap_or(1).max(1) as f64;
                let rare = 1.0 + (self.tools.len() as f64 / tool_count).ln() / 2.0;
                if tool.name.contains(word) {
                    covered.insert(word.clone());
                    by_name = by_name.max(3.0 * rare * share);
                } else if tool.summary.contains(word) {
                    best = best.max(1.5 * rare * share);
                } else if tool.rest.contains(word) {
                    best = best.max(0.7 * rare * share);
                }
            };
            count_word(token, 1.0);
            for other in synonyms {
                count_word(other, 0.6);
            }
            by_names += by_name;
            score += if by_name > 0.0 { 0.0 } else { best };
        }
        // "Book TA480" is an order, like "Book a flight". "My bookings" only contains the word.
        let first = folded.split(' ').next().unwrap_or_default();
        let is_first_word = |phrase: &String| phrase.split(' ').next() == Some(first);
        if words::is_verb(&words::stem(first)) && tool.phrases.iter().any(is_first_word) {
            score += 1.5;
        }
        let whole = tool.name.len().max(1) as f64;
        score += by_names * (0.3 + 0.7 * (covered.len() as f64 / whole));
        for phrase in tool.phrases.iter().filter(|phrase| answer::mentions(folded, phrase)) {
            let count = phrase.split(' ').count() as f64;
            score += if phrase == folded {
                100.0
            } else if count > 1.0 {
                4.0 * count
            } else {
                1.0
            };
        }
        score
    }
}

impl ToolWords {
    fn new(spec: &ToolSpec) -> Self {
        let title = spec.title.as_deref().unwrap_or_default();
        let summary = words::first_sentence(&spec.description);
        let mut rest: BTreeSet<String> = words::tokens(&words::shorten(&spec.description, 2000)).into_iter().collect();
        let properties = spec.input.neutral().get("properties").and_then(Value::as_object);
        for (name, property) in properties.into_iter().flatten() {
            rest.extend(words::tokens(name));
            let about = property.get("description").and_then(Value::as_str).unwrap_or_default();
            rest.extend(words::tokens(words::first_sentence(about)));
            let values = property.get("enum").and_then(Value::as_array).into_iter().flatten();
            rest.extend(values.filter_map(Value::as_str).take(50).flat_map(words::tokens));
        }
        let mut phrases = vec![words::fold(&spec.name), words::fold(title)];
        phrases.retain(|phrase| !phrase.is_empty());
        phrases.dedup();
        Self {
            phrases,
            name: words::tokens(&spec.name).into_iter().chain(words::tokens(title)).collect(),
            summary: words::tokens(summary).into_iter().collect(),
            rest,
        }
    }
}
