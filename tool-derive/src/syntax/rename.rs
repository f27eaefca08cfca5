//! The rules by which serde renames fields and variants.

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
