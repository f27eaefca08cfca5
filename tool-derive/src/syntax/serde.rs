//! `#[serde(…)]`, as far as a name on the wire depends on it, and its rules for names. Serde reports what cannot be read.

use proc_macro2::{Span, TokenTree};
use syn::{Attribute, LitStr, Meta, Token, meta::ParseNestedMeta, parse::ParseBuffer, token::Paren};

/// Which way a name is for, where the two differ: `rename(serialize = "…", deserialize = "…")`.
#[derive(Clone, Copy)]
pub(crate) enum Way {
    Serialize,
    Deserialize,
}

/// The text of `#[serde(key = "…")]`.
pub(crate) fn text(attrs: &[Attribute], key: &str, way: Way) -> Option<LitStr> {
    let way = match way {
        Way::Serialize => "serialize",
        Way::Deserialize => "deserialize",
    };
    let mut found = None;
    each(attrs, |meta| {
        let is_meant = meta.path.is_ident(key);
        if meta.input.peek(Token![=]) {
            let value = meta.value()?;
            if let Some(Ok(text)) = is_meant.then(|| value.fork().parse::<LitStr>()) {
                found = Some(text);
            }
            value.parse::<syn::Expr>()?;
        } else if meta.input.peek(Paren) {
            meta.parse_nested_meta(|inner| {
                let text = inner.value().and_then(ParseBuffer::parse::<LitStr>)?;
                if is_meant && inner.path.is_ident(way) {
                    found = Some(text);
                }
                Ok(())
            })?;
        }
        Ok(())
    });
    found
}

/// The words that attributes called `name` begin their entries with, and where.
pub(crate) fn words(attrs: &[Attribute], name: &str) -> Vec<(String, Span)> {
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
pub(crate) fn says(attrs: &[Attribute], words: &[&str]) -> bool {
    let mut found = false;
    each(attrs, |meta| {
        found |= words.iter().any(|word| meta.path.is_ident(word));
        if meta.input.peek(Token![=]) {
            meta.value()?.parse::<syn::Expr>()?;
        } else if meta.input.peek(Paren) {
            meta.parse_nested_meta(|inner| inner.value()?.parse::<LitStr>().map(drop))?;
        }
        Ok(())
    });
    found
}

fn each(attrs: &[Attribute], mut look: impl FnMut(ParseNestedMeta<'_>) -> syn::Result<()>) {
    for attr in attrs.iter().filter(|attr| attr.path().is_ident("serde")) {
        let _ = attr.parse_nested_meta(&mut look);
    }
}

/// A value of `#[serde(rename_all = "…")]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
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
    /// The rule that serde knows as `name`.
    pub(crate) fn of(name: &str) -> Option<Self> {
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

    /// The name of a variant, which is written `LikeThis`.
    pub(crate) fn apply(self, variant: &str) -> String {
        match self {
            Self::Pascal => variant.to_owned(),
            Self::Lower => variant.to_ascii_lowercase(),
            Self::Upper => variant.to_ascii_uppercase(),
            Self::Camel => {
                let mut chars = variant.chars();
                let first = chars.next().map(|first| first.to_ascii_lowercase());
                first.into_iter().chain(chars).collect()
            }
            Self::Snake => {
                let mut snake = String::new();
                for (index, letter) in variant.char_indices() {
                    if index > 0 && letter.is_uppercase() {
                        snake.push('_');
                    }
                    snake.push(letter.to_ascii_lowercase());
                }
                snake
            }
            Self::ScreamingSnake => Self::Snake.apply(variant).to_ascii_uppercase(),
            Self::Kebab => Self::Snake.apply(variant).replace('_', "-"),
            Self::ScreamingKebab => Self::ScreamingSnake.apply(variant).replace('_', "-"),
        }
    }

    /// The name of a field, which is written `like_this`.
    pub(crate) fn apply_to_field(self, field: &str) -> String {
        match self {
            Self::Lower | Self::Snake => field.to_owned(),
            Self::Upper | Self::ScreamingSnake => field.to_ascii_uppercase(),
            Self::Kebab => field.replace('_', "-"),
            Self::ScreamingKebab => field.to_ascii_uppercase().replace('_', "-"),
            Self::Pascal | Self::Camel => {
                let words = field.split('_').map(|word| {
                    let mut chars = word.chars();
                    let first = chars.next().map(|first| first.to_ascii_uppercase());
                    first.into_iter().chain(chars).collect::<String>()
                });
                let pascal: String = words.collect();
                if self == Self::Pascal { pascal } else { self.apply(&pascal) }
            }
        }
    }
}

/// `a_name` as the name of a type: `AName`.
pub(crate) fn pascal(name: &str) -> String {
    let capital = |word: &str| {
        let mut chars = word.chars();
        chars.next().map(|first| first.to_uppercase().chain(chars).collect::<String>()).unwrap_or_default()
    };
    name.split('_').map(capital).collect()
}

#[cfg(test)]
mod tests {
    use super::Rule;

    #[test]
    fn as_serde_does() {
        let all = [
            ("lowercase", "nightbus"),
            ("UPPERCASE", "NIGHTBUS"),
            ("PascalCase", "NightBus"),
            ("camelCase", "nightBus"),
            ("snake_case", "night_bus"),
            ("SCREAMING_SNAKE_CASE", "NIGHT_BUS"),
            ("kebab-case", "night-bus"),
            ("SCREAMING-KEBAB-CASE", "NIGHT-BUS"),
        ];
        for (rule, expected) in all {
            assert_eq!(Rule::of(rule).map(|rule| rule.apply("NightBus")).as_deref(), Some(expected));
        }
        assert_eq!(Rule::of("Snake"), None);
    }

    #[test]
    fn of_fields_too() {
        let all = [
            ("lowercase", "night_bus"),
            ("UPPERCASE", "NIGHT_BUS"),
            ("PascalCase", "NightBus"),
            ("camelCase", "nightBus"),
            ("snake_case", "night_bus"),
            ("SCREAMING_SNAKE_CASE", "NIGHT_BUS"),
            ("kebab-case", "night-bus"),
            ("SCREAMING-KEBAB-CASE", "NIGHT-BUS"),
        ];
        for (rule, expected) in all {
            assert_eq!(Rule::of(rule).map(|rule| rule.apply_to_field("night_bus")).as_deref(), Some(expected));
        }
    }
}
