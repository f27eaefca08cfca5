//! `1..=50` and its kin, as data.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::{Expr, ExprLit, ExprRange, ExprUnary, Lit, RangeLimits, UnOp};

/// A number that can be a bound.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
pub(crate) enum Number {
    Int(i128),
    Float(f64),
}

impl Number {
    /// The number that `expr` is written as.
    pub(crate) fn of(expr: &Expr) -> Option<Self> {
        match expr {
            Expr::Lit(ExprLit { lit: Lit::Int(int), .. }) => int.base10_parse().ok().map(Self::Int),
            Expr::Lit(ExprLit { lit: Lit::Float(float), .. }) => float.base10_parse().ok().map(Self::Float),
            Expr::Unary(ExprUnary { op: UnOp::Neg(_), expr, .. }) => Self::of(expr).map(|number| match number {
                Self::Int(int) => Self::Int(-int),
                Self::Float(float) => Self::Float(-float),
            }),
            Expr::Group(group) => Self::of(&group.expr),
            Expr::Paren(paren) => Self::of(&paren.expr),
            _ => None,
        }
    }

    pub(crate) fn as_f64(self) -> f64 {
        match self {
            #[allow(clippy::cast_precision_loss, reason = "compared with a float, which is no finer")]
            Self::Int(int) => int as f64,
            Self::Float(float) => float,
        }
    }
}

impl ToTokens for Number {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        tokens.extend(match self {
            Self::Int(int) => quote!(__rt::Number::Int(#int)),
            Self::Float(float) => quote!(__rt::Number::Float(#float)),
        });
    }
}

/// A range between two bounds, either of which may be missing.
#[derive(Clone)]
pub(crate) struct Range {
    pub(crate) min: Option<Number>,
    pub(crate) max: Option<Number>,
    pub(crate) exclusive: bool,
    /// As it was written.
    pub(crate) expr: Expr,
}

/// A mistake in a range: its place, and whether it is a bound.
pub(crate) struct Wrong {
    pub(crate) at: TokenStream,
    pub(crate) is_bound: bool,
}

impl Range {
    /// The range that `expr` is.
    pub(crate) fn of(expr: &Expr) -> Result<Self, Wrong> {
        let Expr::Range(ExprRange { start, limits, end, .. }) = expr else {
            return Err(Wrong { at: expr.to_token_stream(), is_bound: false });
        };
        if start.is_none() && end.is_none() {
            return Err(Wrong { at: expr.to_token_stream(), is_bound: false });
        }
        let bound = |expr: &Option<Box<Expr>>| match expr {
            Some(expr) => Number::of(expr).map(Some).ok_or(Wrong { at: expr.to_token_stream(), is_bound: true }),
            None => Ok(None),
        };
        let (min, max) = (bound(start)?, bound(end)?);
        let exclusive = matches!(limits, RangeLimits::HalfOpen(_)) && max.is_some();
        Ok(Self { min, max, exclusive, expr: expr.clone() })
    }

    /// Returns whether no number is in it.
    pub(crate) fn is_empty(&self) -> bool {
        match (self.min, self.max) {
            (Some(min), Some(max)) => {
                let (min, max) = (min.as_f64(), max.as_f64());
                min > max || (self.exclusive && min >= max)
            }
            _ => false,
        }
    }

    /// Returns whether `number` is in it.
    pub(crate) fn contains(&self, number: f64) -> bool {
        self.min.is_none_or(|min| min.as_f64() <= number)
            && self.max.is_none_or(|max| if self.exclusive { number < max.as_f64() } else { number <= max.as_f64() })
    }
}
