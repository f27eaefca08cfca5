//! Questions that a tool asks while it runs, and their answers.

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
        Self { text: text.into(), schema: Some(schema) }
    }

    /// Creates a question for permission.
    pub fn approval(text: impl Into<String>) -> Self {
        Self { text: text.into(), schema: None }
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
