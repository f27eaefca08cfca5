//! A filter for texts that no model may see.

use std::{borrow::Cow, fmt};

use regex::{NoExpand, Regex};

use crate::feedback::Rejection;
use crate::message::{Media, Part, ResourceContents, Source};
use crate::tool::{CallError, CallFuture, Failure, Output, ToolSpec};
use crate::toolset::{Invocation, Layer, Next};

/// A layer that keeps secret texts out of the results of tools. It rejects an output that contains such a text, with a problem,
/// or replaces the text ([`redact`](Self::redact)).
///
/// It searches the value and the content of outputs, the texts of failures, feedback on arguments, and answers of clients. In
/// JSON it searches every text, name and number at any depth, however escaped, and the JSON as it is written. It does not
/// search binary content, nor causes, which only hooks and observers get. It does not find a secret that is split over several texts. Preliminary
/// outputs, which only people see, pass unchanged.
///
/// ```
/// use tool_runtime::{Context, layer::SecretFilter, tool, toolset};
///
/// /// Reads a file.
/// #[tool(effect = read_only)]
/// fn read(/** Its name. */ name: String) -> Vec<String> {
///     vec![format!("{name} says: the password is hunter2")]
/// }
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let (cx, secrets) = (Context::new("1"), SecretFilter::new(["hunter2"]).pattern("sk-[A-Za-z0-9]{8,}").unwrap());
/// let refused = toolset!(read).layer(secrets.clone()).call("read", r#"{"name":"a"}"#, &cx).await.unwrap_err();
/// let expected = "The call was rejected:\ncall: the output contains a secret which is not allowed";
/// assert_eq!(refused.for_model().as_text(), Some(expected));
///
/// let output = toolset!(read).layer(secrets.redact("***")).call("read", r#"{"name":"a"}"#, &cx).await.unwrap();
/// assert_eq!(output.as_json(), Some(r#"["a says: the password is ***"]"#));
/// # });
/// ```
#[derive(Clone)]
pub struct SecretFilter {
    /// The texts, longest first: one may be part of another.
    texts: Vec<String>,
    patterns: Vec<Regex>,
    replacement: Option<String>,
    problem: Cow<'static, str>,
}

/// The error of an invalid pattern, with the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatternError(String);

impl SecretFilter {
    /// Creates a filter for `texts`, which are matched exactly. Empty ones are left out, because they match everywhere.
    pub fn new(texts: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let mut texts: Vec<String> = texts.into_iter().map(Into::into).filter(|text| !text.is_empty()).collect();
        texts.sort_by_key(|text| std::cmp::Reverse(text.len()));
        // The text of tool2agent's filter, so that models read one text.
        let problem = Cow::Borrowed("the output contains a secret which is not allowed");
        Self { texts, patterns: Vec::new(), replacement: None, problem }
    }

    /// Also filters texts that match `pattern`, a regular expression in the syntax of the crate `regex`.
    ///
    /// Fails when the pattern is invalid.
    pub fn pattern(mut self, pattern: &str) -> Result<Self, PatternError> {
        self.patterns.push(Regex::new(pattern).map_err(|error| PatternError(error.to_string()))?);
        Ok(self)
    }

    /// Replaces secrets with `replacement`. An output that still has a secret afterwards is refused.
    pub fn redact(mut self, replacement: impl Into<String>) -> Self {
        self.replacement = Some(replacement.into());
        self
    }

    /// Sets the problem that the model receives when an output is refused.
    pub fn problem(mut self, text: impl Into<String>) -> Self {
        self.problem = Cow::Owned(text.into());
        self
    }

    fn is_in(&self, text: &str) -> bool {
        self.texts.iter().any(|secret| text.contains(&**secret))
            || self.patterns.iter().any(|pattern| pattern.is_match(text))
    }

    fn is_in_json(&self, json: &str) -> bool {
        self.is_in(json) || replace_words(json, |word| self.is_in(word).then(String::new)).is_some()
    }

    fn is_in_part(&self, part: &Part) -> bool {
        match part {
            Part::Text { text } => self.is_in(text),
            Part::Json { json } => self.is_in_json(json),
            Part::Resource { uri, contents: ResourceContents::Text(text), .. } => self.is_in(uri) || self.is_in(text),
            Part::Resource { uri, .. } => self.is_in(uri),
            Part::Image(media) | Part::Audio(media) | Part::Document(media) => {
                media_texts(media).any(|text| self.is_in(text))
            }
        }
    }

    /// Returns `text` without secrets; `None` if one would remain.
    fn clean(&self, text: String) -> Option<String> {
        if !self.is_in(&text) {
            return Some(text);
        }
        let with = self.replacement.as_deref()?;
        let mut text = self.texts.iter().fold(text, |text, secret| text.replace(&**secret, with));
        for pattern in &self.patterns {
            text = pattern.replace_all(&text, NoExpand(with)).into_owned();
        }
        (!self.is_in(&text)).then_some(text)
    }

    fn clean_json(&self, json: String) -> Option<String> {
        if !self.is_in_json(&json) {
            return Some(json);
        }
        self.replacement.as_ref()?;
        let word =
            |word: &str| self.is_in(word).then(|| self.clean(word.to_owned()).unwrap_or_else(|| word.to_owned()));
        // A secret that could not be replaced is still there.
        let json = replace_words(&json, word)?;
        (!self.is_in_json(&json)).then_some(json)
    }

    fn clean_part(&self, part: Part) -> Option<Part> {
        Some(match part {
            Part::Text { text } => Part::Text { text: self.clean(text)? },
            Part::Json { json } => Part::Json { json: self.clean_json(json)? },
            Part::Resource { uri, media_type, contents } => Part::Resource {
                uri: self.clean(uri)?,
                media_type,
                contents: match contents {
                    ResourceContents::Text(text) => ResourceContents::Text(self.clean(text)?),
                    bytes @ ResourceContents::Base64(_) => bytes,
                },
            },
            Part::Image(media) => Part::Image(self.clean_media(media)?),
            Part::Audio(media) => Part::Audio(self.clean_media(media)?),
            Part::Document(media) => Part::Document(self.clean_media(media)?),
        })
    }

    fn clean_media(&self, mut media: Media) -> Option<Media> {
        media.name = media.name.map(|name| self.clean(name).ok_or(())).transpose().ok()?;
        if let Source::Url(url) = &mut media.source {
            *url = self.clean(std::mem::take(url))?;
        }
        Some(media)
    }

    fn clean_output(&self, output: Output) -> Result<Output, CallError> {
        let (json, content) = output.into_parts();
        let json = json.map(|json| self.clean_json(json).ok_or(()));
        let content = content
            .map(|parts| parts.into_iter().map(|part| self.clean_part(part).ok_or(())).collect::<Result<Vec<_>, ()>>());
        match (json.transpose(), content.transpose()) {
            (Ok(json), Ok(content)) => Ok(Output::from_parts(json, content)),
            _ => Err(Failure::from(Rejection::from_message(&*self.problem)).into()),
        }
    }

    fn clean_error(&self, error: CallError) -> CallError {
        if !self.is_in_part(&error.for_model()) {
            return error;
        }
        self.redacted(&error).filter(|error| !self.is_in_part(&error.for_model())).unwrap_or_else(|| {
            let (rejection, log) = (Rejection::from_message(&*self.problem), error.for_log());
            if error.did_not_run() {
                rejection.with_causes([log]).into()
            } else {
                Failure::from(rejection).source(format_args!("{log}")).marked_like(&error).into()
            }
        })
    }

    fn redacted(&self, error: &CallError) -> Option<CallError> {
        self.replacement.as_ref()?;
        let reason = |reason: &Option<String>| reason.clone().map(|reason| self.clean(reason));
        Some(match error {
            CallError::Rejected(rejection) => self.clean_rejection(rejection)?.into(),
            CallError::Failed(failure) => {
                let clean = match failure.rejection() {
                    Some(feedback) => Failure::from(self.clean_rejection(feedback)?),
                    None => Failure::new(self.clean(failure.for_model().to_owned())?),
                };
                clean.source(format_args!("{}", failure.for_log())).marked_like(error).into()
            }
            CallError::PolicyDenied { reason: given } => CallError::PolicyDenied { reason: reason(given)? },
            CallError::Denied { reason: given } => CallError::Denied { reason: reason(given)? },
            CallError::LimitReached { limit } => CallError::LimitReached { limit: self.clean(limit.clone())? },
            _ => return None,
        })
    }

    fn clean_rejection(&self, rejection: &Rejection) -> Option<Rejection> {
        let json = self.clean_json(serde_json::to_string(rejection).ok()?)?;
        let clean: Rejection = serde_json::from_str(&json).ok()?;
        Some(clean.with_causes(rejection.causes().iter().cloned()))
    }
}

/// Returns the texts of media: the name and the address. The bytes are not searched.
fn media_texts(media: &Media) -> impl Iterator<Item = &str> {
    let url = match &media.source {
        Source::Url(url) => Some(url.as_str()),
        _ => None,
    };
    media.name.as_deref().into_iter().chain(url)
}

impl Layer for SecretFilter {
    fn call<'a>(&'a self, _: Invocation<'a>, mut next: Next<'a>) -> CallFuture<'a> {
        Box::pin(async move {
            match next.run().await {
                Ok(output) => self.clean_output(output),
                Err(error) => Err(self.clean_error(error)),
            }
        })
    }

    fn translate_error(&self, _: &ToolSpec, error: CallError) -> CallError {
        self.clean_error(error)
    }

    fn translate_external_output(&self, _: &ToolSpec, output: Output) -> Result<Output, CallError> {
        self.clean_output(output)
    }
}

// The secrets are kept out of logs, too.
impl fmt::Debug for SecretFilter {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("SecretFilter")
            .field("texts", &self.texts.len())
            .field("patterns", &self.patterns.len())
            .field("replacement", &self.replacement)
            .finish_non_exhaustive()
    }
}

impl fmt::Display for PatternError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "not a regular expression: {}", self.0)
    }
}

impl std::error::Error for PatternError {}

/// Returns `json` with its words (texts, names, numbers and literals) replaced where `change` returns a text; `None` if it never
/// does. Everything else stays as it is written. `change` gets texts and names without quotes and escapes.
fn replace_words(json: &str, mut change: impl FnMut(&str) -> Option<String>) -> Option<String> {
    let (bytes, mut at) = (json.as_bytes(), 0);
    let (mut out, mut copied) = (String::new(), 0);
    while at < bytes.len() {
        let start = at;
        let changed = match bytes[at] {
            b'"' => {
                at += 1;
                while at < bytes.len() && bytes[at] != b'"' {
                    at += if bytes[at] == b'\\' { 2 } else { 1 };
                }
                at = (at + 1).min(bytes.len());
                // An invalid text is left to the reader of the result.
                serde_json::from_str::<String>(json.get(start..at).unwrap_or_default())
                    .ok()
                    .and_then(|text| change(&text))
            }
            byte if byte.is_ascii_alphanumeric() || byte == b'-' => {
                while at < bytes.len() && (bytes[at].is_ascii_alphanumeric() || b"+-.".contains(&bytes[at])) {
                    at += 1;
                }
                change(&json[start..at])
            }
            _ => {
                at += 1;
                None
            }
        };
        if let Some(text) = changed {
            out.push_str(&json[copied..start]);
            out.push_str(&serde_json::Value::from(text).to_string());
            copied = at;
        }
    }
    if copied == 0 {
        return None;
    }
    out.push_str(&json[copied..]);
    Some(out)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::replace_words;

    #[test]
    fn words_are_replaced_and_the_rest_is_as_written() {
        let upper = |word: &str| word.contains('a').then(|| word.to_uppercase());
        let json = r#"{ "\u0061\"": [1.50, "b", false, {"n": "aé\\"}] }"#;
        assert_eq!(replace_words(json, upper).unwrap(), r#"{ "A\"": [1.50, "b", "FALSE", {"n": "AÉ\\"}] }"#);
        assert_eq!(replace_words(json, |_| None), None);
        assert_eq!(replace_words("-12e+3", |word| Some(format!("<{word}>"))).unwrap(), r#""<-12e+3>""#);
    }

    fn json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            any::<Option<bool>>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            "\\PC{0,6}".prop_map(Value::from)
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map("\\PC{0,4}", inner, 0..4)
                    .prop_map(|map| map.into_iter().collect::<serde_json::Map<_, _>>().into()),
            ]
        })
    }

    proptest! {
        #[test]
        fn any_text_is_walked_without_a_panic(text in "[\"\\\\{}a-c0-9é\\-.]{0,20}") {
            let _ = replace_words(&text, |word| Some(word.to_owned()));
        }

        #[test]
        fn every_word_is_seen_once(value in json()) {
            fn words(value: &Value, all: &mut Vec<String>) {
                match value {
                    Value::Array(items) => items.iter().for_each(|item| words(item, all)),
                    Value::Object(map) => map.iter().for_each(|(name, value)| {
                        all.push(name.clone());
                        words(value, all);
                    }),
                    Value::String(text) => all.push(text.clone()),
                    other => all.push(other.to_string()),
                }
            }
            let (mut expected, mut seen) = (Vec::new(), Vec::new());
            words(&value, &mut expected);
            let note = |word: &str| {
                seen.push(word.to_owned());
                None
            };
            prop_assert_eq!(replace_words(&value.to_string(), note), None);
            prop_assert_eq!(seen, expected);
        }
    }
}
