//! Reads the parts of `#[serde(…)]` that determine names in JSON, and applies serde's rules for names. Serde itself reports
//! invalid attributes.

use proc_macro2::{Span, TokenTree};
use syn::{Attribute, LitStr, Meta, Path, Token, parse::ParseBuffer, token::Paren};

/// The direction for which a name holds, because names may differ: `rename(serialize = "…", deserialize = "…")`.
#[derive(Clone, Copy)]
pub enum Direction {
    Serialize,
    Deserialize,
}

/// Returns the text of `#[serde(key = "…")]`, or of `#[serde(key(serialize = "…"))]` if its direction is `direction`.
pub fn text(attrs: &[Attribute], key: &str, direction: Direction) -> Option<LitStr> {
    let direction = match direction {
        Direction::Serialize => "serialize",
        Direction::Deserialize => "deserialize",
    };
    let mut found = None;
    each_entry(attrs, |path, inner, text| {
        if path.is_ident(key) && inner.is_none_or(|inner| inner.is_ident(direction)) {
            found = text.or(found.take());
        }
    });
    found
}

/// Returns the key of each entry in the attributes called `name`, with its place.
pub fn entry_keys(attrs: &[Attribute], name: &str) -> Vec<(String, Span)> {
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

/// Returns whether serde's attributes have one of `words` as a key, as in `#[serde(word)]`.
pub fn has_flag(attrs: &[Attribute], words: &[&str]) -> bool {
    let mut found = false;
    each_entry(attrs, |path, _, _| found |= words.iter().any(|word| path.is_ident(word)));
    found
}

/// Calls `visit` with the key, the inner key and the text of each entry: `key`, `key = "text"` or `key(inner = "text")`.
fn each_entry(attrs: &[Attribute], mut visit: impl FnMut(&Path, Option<&Path>, Option<LitStr>)) {
    for attr in attrs.iter().filter(|attr| attr.path().is_ident("serde")) {
        let _ = attr.parse_nested_meta(|meta| {
            if meta.input.peek(Token![=]) {
                let value = meta.value()?;
                visit(&meta.path, None, value.fork().parse().ok());
                value.parse::<syn::Expr>()?;
                return Ok(());
            }
            visit(&meta.path, None, None);
            if meta.input.peek(Paren) {
                meta.parse_nested_meta(|inner| {
                    let text = inner.value().and_then(ParseBuffer::parse)?;
                    visit(&meta.path, Some(&inner.path), Some(text));
                    Ok(())
                })?;
            }
            Ok(())
        });
    }
}

/// A value of `#[serde(rename_all = "…")]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RenameRule {
    Lower,
    Upper,
    Pascal,
    Camel,
    Snake,
    ScreamingSnake,
    Kebab,
    ScreamingKebab,
}

impl RenameRule {
    /// Returns the rule that serde calls `name`.
    pub fn from_name(name: &str) -> Option<Self> {
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
    pub fn apply_to_variant(self, variant: &str) -> String {
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
                if self == Self::Pascal { pascal } else { self.apply_to_variant(&pascal) }
            }
        }
    }
}

/// Returns `a_name` in the form of a type's name: `AName`.
pub fn pascal_case(name: &str) -> String {
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
    use super::RenameRule;

    #[test]
    fn rules_rename_as_serde_does() {
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
            let rule = RenameRule::from_name(name).expect(name);
            assert_eq!(
                (&*rule.apply_to_variant("NightBus"), &*rule.apply_to_field("night_bus")),
                (variant, field),
                "{name}"
            );
        }
        assert_eq!(RenameRule::from_name("Snake"), None);
    }
}
