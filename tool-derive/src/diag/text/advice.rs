//! What is not wrong and could be better, as warnings. Each can be allowed by the name that it ends with.

/// A kind of advice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Advice {
    /// A parameter without a description.
    Undescribed,
    /// A description longer than providers take.
    LongDescription,
    /// An approval predicate that does not look at the arguments.
    IgnoredArguments,
}

impl Advice {
    /// All of it, by the names that `allow(…)` knows.
    pub(crate) const ALL: [(&'static str, Self); 3] = [
        ("undescribed", Self::Undescribed),
        ("long_description", Self::LongDescription),
        ("ignored_arguments", Self::IgnoredArguments),
    ];

    /// Its names.
    pub(crate) const NAMES: &'static [&'static str] = &[Self::ALL[0].0, Self::ALL[1].0, Self::ALL[2].0];

    /// Its name.
    pub(crate) fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, advice)| *advice == self).map_or("", |(name, _)| name)
    }

    /// Returns the sentence.
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::Undescribed => {
                "the model learns nothing about this parameter but its name and type: write a doc comment on it, or `#[tool(allow(undescribed))]`"
            }
            Self::LongDescription => {
                "some providers take descriptions of at most 1024 characters: say less, put what is about one parameter on it, or write `#[tool(allow(long_description))]`"
            }
            Self::IgnoredArguments => {
                "this predicate decides without looking at the arguments: write `approval = always` or `approval = never`, or `#[tool(allow(ignored_arguments))]`"
            }
        }
    }
}
