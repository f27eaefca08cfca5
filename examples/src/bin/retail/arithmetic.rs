//! Arithmetic over numbers, `+ - * /` and parentheses.

use std::fmt;

use crate::number::Number;

/// How deep parentheses and signs may nest.
const MAX_DEPTH: usize = 100;

/// Why an expression has no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Problem {
    Characters,
    Syntax,
    Depth,
    DivisionByZero,
    Range,
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Characters => "invalid characters in expression",
            Self::Syntax => "invalid syntax in expression",
            Self::Depth => "expression is nested too deeply",
            Self::DivisionByZero => "division by zero",
            Self::Range => "result is out of range",
        })
    }
}

/// The value of `expression`, which may hold numbers, `+ - * /`, parentheses and spaces.
pub(crate) fn evaluate(expression: &str) -> Result<Number, Problem> {
    let allowed = |byte: u8| byte.is_ascii_digit() || b"+-*/(). ".contains(&byte);
    if !expression.bytes().all(allowed) {
        return Err(Problem::Characters);
    }
    let mut parser = Parser { text: expression, at: 0, depth: 0 };
    let value = parser.sum()?;
    if parser.peek().is_some() {
        return Err(Problem::Syntax);
    }
    if value.value().is_finite() { Ok(value) } else { Err(Problem::Range) }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl Parser<'_> {
    /// The next byte that is not a space.
    fn peek(&mut self) -> Option<u8> {
        let rest = &self.text.as_bytes()[self.at..];
        self.at += rest.iter().take_while(|&&byte| byte == b' ').count();
        self.text.as_bytes().get(self.at).copied()
    }

    fn sum(&mut self) -> Result<Number, Problem> {
        let mut value = self.product()?;
        while let Some(operator @ (b'+' | b'-')) = self.peek() {
            self.at += 1;
            let right = self.product()?;
            value = if operator == b'+' { value + right } else { value - right };
        }
        Ok(value)
    }

    fn product(&mut self) -> Result<Number, Problem> {
        let mut value = self.factor()?;
        while let Some(operator @ (b'*' | b'/')) = self.peek() {
            self.at += 1;
            let right = self.factor()?;
            value = match operator {
                b'*' => value * right,
                _ => value.divided_by(right).ok_or(Problem::DivisionByZero)?,
            };
        }
        Ok(value)
    }

    /// A number, a sum in parentheses, or either of them with a sign.
    fn factor(&mut self) -> Result<Number, Problem> {
        let Some(first @ (b'+' | b'-' | b'(')) = self.peek() else { return self.number() };
        if self.depth == MAX_DEPTH {
            return Err(Problem::Depth);
        }
        self.at += 1;
        self.depth += 1;
        let value = match first {
            b'+' => self.factor()?,
            b'-' => self.factor()?.negated(),
            _ => {
                let value = self.sum()?;
                if self.peek() != Some(b')') {
                    return Err(Problem::Syntax);
                }
                self.at += 1;
                value
            }
        };
        self.depth -= 1;
        Ok(value)
    }

    fn number(&mut self) -> Result<Number, Problem> {
        let rest = &self.text[self.at..];
        let end = rest.find(|character: char| !character.is_ascii_digit() && character != '.').unwrap_or(rest.len());
        let digits = &rest[..end];
        self.at += end;
        let whole = digits.parse().map(Number::Whole);
        whole.or_else(|_| digits.parse().map(Number::Decimal)).map_err(|_| Problem::Syntax)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{MAX_DEPTH, Number, Problem, evaluate};

    /// An expression with every operation in parentheses, and its value; small enough for floats to be exact.
    fn expressions() -> impl Strategy<Value = (String, f64)> {
        let leaf = (0..10u32).prop_map(|number| (number.to_string(), f64::from(number)));
        leaf.prop_recursive(3, 8, 2, |inner| {
            let operation = (inner.clone(), prop::sample::select(vec!['+', '-', '*', '/']), inner.clone());
            let binary = operation.prop_filter_map("no value", |((left, a), operator, (right, b))| {
                let value = match operator {
                    '+' => a + b,
                    '-' => a - b,
                    '*' => a * b,
                    _ => a / b,
                };
                value.is_finite().then(|| (format!("({left} {operator}{right})"), value))
            });
            prop_oneof![binary, inner.prop_map(|(text, value)| (format!("-{text}"), -value))]
        })
    }

    proptest! {
        #[test]
        fn agrees_with_the_machine((expression, value) in expressions()) {
            prop_assert_eq!(evaluate(&expression).map(Number::value), Ok(value), "{}", expression);
        }

        #[test]
        fn never_panics(expression in "[0-9+*/(). -]{0,40}") {
            let _ = evaluate(&expression);
        }
    }

    #[test]
    fn values() {
        for (expression, value) in [
            ("2 + 3 * 4", 14.0),
            ("(2 + 3) * 4", 20.0),
            ("10 - 4 - 3", 3.0),
            ("100 / 10 / 5", 2.0),
            ("7/2", 3.5),
            ("2 * -3", -6.0),
            ("-(1 + 2) - -4", 1.0),
            ("+.5 + 1.", 1.5),
            ("1319.43 - 302.67 + 271.89", 1319.43 - 302.67 + 271.89),
            (" 164.28 ", 164.28),
        ] {
            assert_eq!(evaluate(expression).map(Number::value), Ok(value), "{expression}");
        }
    }

    #[test]
    fn problems() {
        let long = "9".repeat(400);
        let deep = "(".repeat(MAX_DEPTH + 1);
        for (expression, problem) in [
            ("2 ^ 3", Problem::Characters),
            ("1e5", Problem::Characters),
            ("é", Problem::Characters),
            ("", Problem::Syntax),
            ("1 2", Problem::Syntax),
            ("1.2.3", Problem::Syntax),
            (".", Problem::Syntax),
            ("2 ** 3", Problem::Syntax),
            ("7 // 2", Problem::Syntax),
            ("(1", Problem::Syntax),
            ("1)", Problem::Syntax),
            ("()", Problem::Syntax),
            ("1 / (2 - 2)", Problem::DivisionByZero),
            (&long, Problem::Range),
            (&deep, Problem::Depth),
        ] {
            assert_eq!(evaluate(expression), Err(problem), "{expression}");
        }
    }

    #[test]
    fn nests_up_to_the_bound() {
        let expression = format!("{}1{}", "(".repeat(MAX_DEPTH), ")".repeat(MAX_DEPTH));
        assert_eq!(evaluate(&expression).map(Number::value), Ok(1.0));
    }
}
