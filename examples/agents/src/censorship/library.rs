//! The documents, the policy, and the tool.

use schemars::JsonSchema;
use serde::Serialize;
use tool_runtime::{Rejection, feedback::Report, tool};

const DOCUMENTS: [&str; 7] = [
    "secret hidden covert confidential clandestine undercover hush cryptic arcane veiled DOC_ID: 203",
    "happy cheerful joyful glad pleased content elated merry jovial jubilant DOC_ID: 101",
    "sad unhappy sorrowful dejected gloomy downcast melancholy mournful somber blue DOC_ID: 102",
    "fast quick rapid speedy swift brisk nimble prompt agile expeditious DOC_ID: 201",
    "slow sluggish lethargic tardy gradual plodding deliberate lagging creeping unhurried DOC_ID: 202",
    "big large huge massive vast immense colossal gigantic enormous mammoth DOC_ID: 301",
    "small little tiny minor minute petite compact slight miniature diminutive puny DOC_ID: 302",
];

const FORBIDDEN: [&str; 4] = ["small", "little", "tiny", "petite"];

/// Documents of a line each, and the words that nobody may search for.
#[derive(Clone, Debug)]
pub struct Library {
    documents: Vec<String>,
    forbidden: Vec<String>,
}

impl Library {
    /// A library of `documents`, in which nobody may search for a word of `forbidden` (in lower case).
    pub fn new(documents: &[&str], forbidden: &[&str]) -> Self {
        let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        Self { documents: owned(documents), forbidden: owned(forbidden) }
    }

    /// The number of the first document that has the word `word`: what a search should lead to.
    pub fn id_of(&self, word: &str) -> Option<&str> {
        self.documents.iter().find_map(|document| id_in(document, word))
    }

    fn forbids(&self, query: &str) -> bool {
        let query = query.to_lowercase();
        let mut words = query.split(|c: char| !c.is_ascii_alphanumeric());
        words.any(|word| self.forbidden.iter().any(|forbidden| forbidden == word))
    }
}

/// The seven documents and four words that the example is about.
impl Default for Library {
    fn default() -> Self {
        Self::new(&DOCUMENTS, &FORBIDDEN)
    }
}

/// The number of `document`, if it has the word `word`.
pub(super) fn id_in<'a>(document: &'a str, word: &str) -> Option<&'a str> {
    let (words, id) = document.split_once(" DOC_ID: ")?;
    words.split_whitespace().any(|known| known.eq_ignore_ascii_case(word)).then_some(id)
}

/// What was found.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Found {
    /// The documents that match.
    pub results: Vec<String>,
}

/// Exact-match search over a dataset.
#[tool(effect = read_only)]
pub fn search(
    /// What to search for. Upper and lower case are alike.
    #[arg(default, example = "cheerful")]
    q: String,
    #[state] library: &Library,
) -> Result<Found, Rejection> {
    let query = q.trim();
    if query.is_empty() {
        return Err(Rejection::of("q", "Provide a non-empty query").and("Missing query string"));
    }
    if library.forbids(query) {
        let refused = Report::refused("The requested term is not allowed by policy");
        return Err(Rejection::of("q", refused.instruct(format!("Try a different term, synonymous to {query}"))));
    }
    let query = query.to_lowercase();
    let found = library.documents.iter().filter(|document| document.to_lowercase().contains(&query));
    Ok(Found { results: found.cloned().collect() })
}
