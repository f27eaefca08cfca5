//! What is asked about one parameter: its shape, and the values that are offered for it.

use serde_json::Value;

use super::shape::{Choice, Kind, Shape};
use super::words;
use super::{calendar, scalar};

/// One thing to ask for.
#[derive(Clone, Debug)]
pub(super) struct Ask {
    /// Where the value goes: a JSON Pointer into the arguments.
    pub(super) pointer: String,
    /// What it may be.
    pub(super) shape: Shape,
    /// The values that are offered.
    pub(super) choices: Vec<Choice>,
    /// Whether nothing else is allowed.
    pub(super) strict: bool,
    /// Whether it can be left out.
    pub(super) optional: bool,
}

impl Ask {
    /// Asks for a value of `shape`.
    pub(super) fn new(pointer: &str, shape: &Shape) -> Self {
        // The items of a list are chosen from what is allowed for an item.
        let choices = match &shape.kind {
            Kind::List { item, .. } if shape.allowed.is_empty() => item.allowed.clone(),
            _ => shape.allowed.clone(),
        };
        Self {
            pointer: pointer.to_owned(),
            shape: shape.clone(),
            strict: !choices.is_empty(),
            choices,
            optional: false,
        }
    }

    /// Asks for one of `values`; with `strict`, for nothing else.
    pub(super) fn offering(mut self, values: &[Value], strict: bool) -> Self {
        let labels = std::mem::take(&mut self.choices);
        let known = |value: &Value| labels.iter().find(|choice| choice.value == *value).cloned();
        let day = |value: &Value| Choice {
            label: value.as_str().and_then(calendar::day).unwrap_or_default(),
            ..Choice::plain(value)
        };
        let is_day = matches!(&self.shape.kind, Kind::Text(text) if text.format.as_deref() == Some("date"));
        let choice =
            |value: &Value| known(value).unwrap_or_else(|| if is_day { day(value) } else { Choice::plain(value) });
        self.choices = values.iter().map(choice).collect();
        self.strict = strict;
        self
    }

    /// Whether a text is one of the choices as it stands.
    pub(super) fn names(&self, text: &str) -> bool {
        let said = words::fold(text);
        self.choices.iter().any(|choice| words::fold(&scalar::plain(&choice.value)) == said)
    }

    /// The first and the last of the choices, where they are all the whole numbers between, and too many to list.
    pub(super) fn span(&self) -> Option<(i64, i64)> {
        let numbers: Option<Vec<i64>> = self.choices.iter().map(|choice| choice.value.as_i64()).collect();
        let numbers = numbers.filter(|numbers| self.strict && numbers.len() > 3)?;
        let in_turn = numbers.windows(2).all(|pair| pair[0].checked_add(1) == Some(pair[1]));
        in_turn.then(|| (numbers[0], numbers[numbers.len() - 1]))
    }

    /// Whether the choices are numbered when they are listed: a number must not be mistaken for a value.
    pub(super) fn numbered(&self) -> bool {
        numbered(self.choices.iter().map(|choice| &choice.value))
    }
}

/// Whether values can be numbered in a list, and named by that number.
pub(super) fn numbered<'a>(mut values: impl Iterator<Item = &'a Value>) -> bool {
    !values.any(|value| scalar::number(&scalar::plain(value)).is_some())
}

/// A JSON Pointer for people: `/address/city` is `address city`, `/passengers/0/name` is `passengers 1 name`.
pub(super) fn label(pointer: &str) -> String {
    let steps = pointer.split('/').skip(1).map(|step| match step.parse::<usize>() {
        Ok(index) => (index.saturating_add(1)).to_string(),
        Err(_) => words::human(&name(step)),
    });
    steps.collect::<Vec<_>>().join(" ")
}

/// The last name in a JSON Pointer, for people.
pub(super) fn last(pointer: &str) -> String {
    label(&format!("/{}", pointer.rsplit('/').find(|step| step.parse::<usize>().is_err()).unwrap_or_default()))
}

/// A step of a JSON Pointer as the name it stands for.
pub(super) fn name(step: &str) -> String {
    step.replace("~1", "/").replace("~0", "~")
}

/// The pointer to a field of what `pointer` points to.
pub(super) fn field(pointer: &str, name: &str) -> String {
    format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1"))
}

/// The parameter that a pointer points into.
pub(super) fn parameter(pointer: &str) -> String {
    name(pointer.split('/').nth(1).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pointers_for_people() {
        assert_eq!(label("/address/streetName"), "address street name");
        assert_eq!(label("/passengers/0/name"), "passengers 1 name");
        assert_eq!(last("/passengers/0"), "passengers");
        assert_eq!(parameter(&field("", "a/b~c")), "a/b~c");
        assert_eq!(label(""), "");
    }
}
