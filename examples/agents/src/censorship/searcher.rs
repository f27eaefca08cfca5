//! A model without a network: it knows a few synonyms, and reads the answers to its calls.

use serde::Deserialize;
use serde_json::json;
use tool_runtime::{
    Message,
    model::{FunctionModel, Turn},
};
use tool_schema::feedback::Answer;

use super::{library::id_in, thesaurus::synonyms};
use crate::conversation::{Answered, answered, prompts};

/// A model that looks for the word between quotes in what it is asked. It tries the word itself; where it is refused, or
/// finds nothing, it tries words that mean the same.
pub fn searcher() -> FunctionModel {
    FunctionModel::new(|request| next(request.messages))
}

fn next(messages: &[Message]) -> Turn {
    let Some(word) = prompts(messages).next_back().and_then(|prompt| prompt.split('"').nth(1)) else {
        return Turn::say("Tell me the word to look for, between quotes.");
    };
    let calls = answered(messages);
    let tried: Vec<String> = calls.iter().filter_map(|call| call.argument("q")).collect();
    let search = |query: &str| Turn::call("search", json!({ "q": query }));
    let Some(last) = calls.last() else { return search(word) };
    if let Some(id) = found(last, word) {
        return Turn::say(id);
    }
    let wanted = instructed(last);
    let mut words = synonyms(wanted.as_deref().unwrap_or(word)).chain(synonyms(word));
    match words.find(|word| tried.iter().all(|tried| tried != word)) {
        Some(word) => search(word),
        None => Turn::say(format!("I do not find it. I tried {}.", tried.join(", "))),
    }
}

/// The number of the document with `word`, if it was found.
fn found(call: &Answered<'_>, word: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Found {
        results: Vec<String>,
    }
    let found: Found = call.is_done().then(|| call.told())??;
    found.results.iter().find_map(|document| id_in(document, word)).map(str::to_owned)
}

/// The word whose synonyms the tool wants tried.
fn instructed(call: &Answered<'_>) -> Option<String> {
    let Answer::Refused(refusal) = call.told()? else { return None };
    let (_, report) = refusal.reports().iter().find(|(name, _)| name == "q")?;
    report.instructions.iter().find_map(|text| Some(text.split_once("synonymous to ")?.1.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::censorship::{Library, agent, question};

    /// The model's tries, and its answer.
    async fn hunt(library: Library, word: &str) -> (Vec<String>, String) {
        let mut session = agent(searcher(), library).session();
        let reply = session.send(question(word)).await.unwrap();
        let tried = answered(session.messages()).iter().filter_map(|call| call.argument("q")).collect();
        (tried, reply.text)
    }

    #[tokio::test]
    async fn learns_from_refusals() {
        let (tried, answer) = hunt(Library::default(), "little").await;
        assert_eq!(tried, ["little", "small", "tiny", "petite", "minute"]);
        assert_eq!(answer, "302");
    }

    #[tokio::test]
    async fn other_words_other_documents_other_policies() {
        let (tried, answer) = hunt(Library::default(), "swift").await;
        assert_eq!((tried, answer.as_str()), (vec!["swift".to_owned()], "201"));
        let library = Library::new(&["ice icy cold DOC_ID: 7", "coldly DOC_ID: 8", "warm hot DOC_ID: 9"], &["cold"]);
        let (tried, answer) = hunt(library.clone(), "cold").await;
        assert_eq!((tried, answer.as_str()), (["cold", "chilly", "icy"].map(str::to_owned).to_vec(), "7"));
        let (tried, answer) = hunt(library, "ice").await;
        assert_eq!((tried, answer.as_str()), (vec!["ice".to_owned()], "7"));
    }

    #[tokio::test]
    async fn says_when_it_knows_no_other_word() {
        let library = Library::new(&["cold chilly DOC_ID: 7"], &["cold", "chilly", "icy", "frosty"]);
        let (tried, answer) = hunt(library, "cold").await;
        assert_eq!(tried.len(), 4);
        assert_eq!(answer, "I do not find it. I tried cold, chilly, icy, frosty.");
    }
}
