//! Questions that a tool asks while it runs, and what a call needs before it starts.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::schema::{canonical_value, without_texts};
use crate::tool::fingerprint::Digest;

/// A question of a running tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Question {
    /// The text of the question.
    pub text: String,
    /// The JSON Schema of the answer; `None` if the tool asks for permission.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Value>,
    /// The thing that the call lacks, if its tool has not begun and waits for this. An approval lets the call try again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub need: Option<Need>,
}

/// A thing that a call lacks, and without which its tool cannot begin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Need {
    /// The kind of thing, for programs: `secret` for a secret of the caller.
    pub kind: String,
    /// The page where a person can provide it, such as a page for signing in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

/// The answer to a tool's question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QuestionAnswer {
    /// The answer, as a value.
    Given(Value),
    /// The permission is given.
    Approved,
    /// The person refused the permission or the answer, perhaps with a reason.
    Denied(Option<String>),
}

/// The beginning of the reason of a denial that no person made.
pub(crate) const UNDECIDED: &str = "somebody would have to decide, and ";

impl QuestionAnswer {
    /// Returns whether the question was denied because nobody could decide: see
    /// [`Decision::deny_undecided`](crate::run::Decision::deny_undecided). No person has refused it then.
    pub fn is_undecided(&self) -> bool {
        matches!(self, Self::Denied(Some(reason)) if reason.starts_with(UNDECIDED))
    }
}

impl Question {
    /// Creates a question whose answer must fit `schema`.
    pub fn ask(text: impl Into<String>, schema: Value) -> Self {
        Self { text: text.into(), schema: Some(schema), need: None }
    }

    /// Creates a question for permission.
    pub fn approval(text: impl Into<String>) -> Self {
        Self { text: text.into(), schema: None, need: None }
    }

    /// Creates the question of a call that cannot begin before a person has provided something of this kind. `text` says what to do.
    pub fn need(text: impl Into<String>, kind: impl Into<String>, url: Option<String>) -> Self {
        Self { need: Some(Need { kind: kind.into(), url }), ..Self::approval(text) }
    }

    /// Returns the text for a person, with the URL of what the call needs on a line of its own.
    pub fn for_people(&self) -> String {
        let url = self.need.as_ref().and_then(|need| need.url.as_deref());
        [self.text.as_str()].into_iter().chain(url).collect::<Vec<_>>().join("\n")
    }

    /// Returns the digest of the question's text and schema, to which an answer is bound. Texts in the schema do not count, as
    /// in a [`Fingerprint`](super::Fingerprint).
    pub fn digest(&self) -> Digest {
        self.digest_of(self.schema.as_ref().map(without_texts).as_ref())
    }

    /// Returns whether a recorded answer belongs to this question. Earlier versions recorded a digest that includes the
    /// schema's texts.
    pub fn matches(&self, recorded: Digest) -> bool {
        recorded == self.digest() || recorded == self.digest_of(self.schema.as_ref())
    }

    fn digest_of(&self, schema: Option<&Value>) -> Digest {
        let schema = schema.map(canonical_value).unwrap_or_default();
        Digest::of(format!("{}\n{schema}", self.text))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Question;
    use crate::schema::canonical_value;
    use crate::tool::fingerprint::Digest;

    #[test]
    fn an_answer_stays_good_when_a_text_is_mended() {
        let schema = |text: &str, kind: &str| json!({ "title": text, "type": kind, "description": text });
        let question = Question::ask("Which?", schema("a", "string"));
        let before = Digest::of(format!("Which?\n{}", canonical_value(&schema("a", "string"))));
        assert!(question.matches(question.digest()) && question.matches(before), "records of earlier versions");
        assert!(Question::ask("Which?", schema("b", "string")).matches(question.digest()));
        assert!(!Question::ask("Which?", schema("a", "integer")).matches(question.digest()));
        assert!(!Question::ask("Who?", schema("a", "string")).matches(question.digest()));
    }
}
