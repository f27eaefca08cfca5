//! The parts of `#[serde(…)]` that determine names on the wire, and serde's rules for names. Serde reports what cannot be read.

use proc_macro2::{Span, TokenTree};
use syn::{Attribute, LitStr, Meta, Path, Token, parse::ParseBuffer, token::Paren};

/// The direction of a name, if the two differ: `rename(serialize = "…", deserialize = "…")`.
#[derive(Clone, Copy)]
pub enum Way {
    Serialize,
    Deserialize,
}

/// Returns the text of `#[serde(key = "…")]`.
pub fn text(attrs: &[Attribute], key: &str, way: Way) -> Option<LitStr> {
    let way = match way {
        Way::Serialize => "serialize",
        Way::Deserialize => "deserialize",
    };
    let mut found = None;
    each(attrs, |path, inner, text| {
        if path.is_ident(key) && inner.is_none_or(|inner| inner.is_ident(way)) {
            found = text.or(found.take());
        }
    });
    found
}

/// Returns the words with which the entries of attributes called `name` begin, with their places.
pub fn words(attrs: &[Attribute], name: &str) -> Vec<(String, Span)> {
    let mut words = Vec::new();
    for attr in attrs.iter().filter(|attr| attr.path().is_ident(name)) {
        let Meta::List(list) = &attr.meta else { continue };
        let mut starts = true;
        for token in list.tokens.clone() {
            match token {
                TokenTree::Ident(word) if starts => {
                    words.push((word.to_string(), word.span()));
                    starts = false;
                }
                TokenTree::Punct(punct) => starts = punct.as_char() == ',',
                _ => {}
            }
        }
    }
    words
}

/// Returns whether one of `words` is given: `#[serde(word)]`.
pub fn says(attrs: &[Attribute], words: &[&str]) -> bool {
    let mut found = false;
    each(attrs, |path, _, _| found |= words.iter().any(|word| path.is_ident(word)));
    found
}

/// Calls `look` with each entry of `#[serde(…)]`: its key and its text, or its key, a key in its brackets, and the text of that.
fn each(attrs: &[Attribute], mut look: impl FnMut(&Path, Option<&Path>, Option<LitStr>)) {
    for attr in attrs.iter().filter(|attr| attr.path().is_ident("serde")) {
        let _ = attr.parse_nested_meta(|meta| {
            if meta.input.peek(Token![=]) {
                let value = meta.value()?;
                look(&meta.path, None, value.fork().parse().ok());
                value.parse::<syn::Expr>()?;
                return Ok(());
            }
            look(&meta.path, None, None);
            if meta.input.peek(Paren) {
                meta.parse_nested_meta(|inner| {
                    let text = inner.value().and_then(ParseBuffer::parse)?;
                    look(&meta.path, Some(&inner.path), Some(text));
                    Ok(())
                })?;
            }
            Ok(())
        });
    }
}

/// A value of `#[serde(rename_all = "…")]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    Lower,
    Upper,
    Pascal,
    Camel,
    Snake,
    ScreamingSnake,
    Kebab,
    ScreamingKebab,
}

impl Rule {
    /// Returns the rule that serde calls `name`.
    pub fn of(name: &str) -> Option<Self> {
        Some(match name {
            "lowercase" => Self::Lower,
            "UPPERCASE" => Self::Upper,
            "PascalCase" => Self::Pascal,
            "camelCase" => Self::Camel,
            "snake_case" => Self::Snake,
            "SCREAMING_SNAKE_CASE" => Self::ScreamingSnake,
            "kebab-case" => Self::Kebab,
            "SCREAMING-KEBAB-CASE" => Self::ScreamingKebab,
            _ => return None,
        })
    }

    /// Applies the rule to the name of a variant, which is written `LikeThis`.
    pub fn apply(self, variant: &str) -> String {
        match self {
            Self::Pascal => variant.to_owned(),
            Self::Lower => variant.to_ascii_lowercase(),
            Self::Upper => variant.to_ascii_uppercase(),
            Self::Camel => with_first(variant, |first| first.to_ascii_lowercase()),
            Self::Snake | Self::ScreamingSnake | Self::Kebab | Self::ScreamingKebab => {
                let mut snake = String::new();
                for (index, letter) in variant.char_indices() {
                    if index > 0 && letter.is_uppercase() {
                        snake.push('_');
                    }
                    snake.push(letter.to_ascii_lowercase());
                }
                self.apply_to_field(&snake)
            }
        }
    }

    /// Applies the rule to the name of a field, which is written `like_this`.
    pub fn apply_to_field(self, field: &str) -> String {
        match self {
            Self::Lower | Self::Snake => field.to_owned(),
            Self::Upper | Self::ScreamingSnake => field.to_ascii_uppercase(),
            Self::Kebab => field.replace('_', "-"),
            Self::ScreamingKebab => field.to_ascii_uppercase().replace('_', "-"),
            Self::Pascal | Self::Camel => {
                let pascal: String =
                    field.split('_').map(|word| with_first(word, |first| first.to_ascii_uppercase())).collect();
                if self == Self::Pascal { pascal } else { self.apply(&pascal) }
            }
        }
    }
}

/// Returns `a_name` in the form of a type's name: `AName`.
pub fn pascal(name: &str) -> String {
    let capital = |word: &str| with_first(word, |first| first.to_uppercase().collect::<String>());
    name.split('_').map(capital).collect()
}

/// Returns `word` with its first letter changed by `change`.
fn with_first<T: ToString>(word: &str, change: impl FnOnce(char) -> T) -> String {
    let mut chars = word.chars();
    let first = chars.next().map(|first| change(first).to_string()).unwrap_or_default();
    first + chars.as_str()
}

#[cfg(test)]
mod tests {
    use super::Rule;

    #[test]
    fn as_serde_does() {
        let all = [
            ("lowercase", "nightbus", "night_bus"),
            ("UPPERCASE", "NIGHTBUS", "NIGHT_BUS"),
            ("PascalCase", "NightBus", "NightBus"),
            ("camelCase", "nightBus", "nightBus"),
            ("snake_case", "night_bus", "night_bus"),
            ("SCREAMING_SNAKE_CASE", "NIGHT_BUS", "NIGHT_BUS"),
            ("kebab-case", "night-bus", "night-bus"),
            ("SCREAMING-KEBAB-CASE", "NIGHT-BUS", "NIGHT-BUS"),
        ];
        for (name, variant, field) in all {
            let rule = Rule::of(name).expect(name);
            assert_eq!((&*rule.apply("NightBus"), &*rule.apply_to_field("night_bus")), (variant, field), "{name}");
        }
        assert_eq!(Rule::of("Snake"), None);
    }
}
