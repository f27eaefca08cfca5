//! A search for names that an expression uses and does not bind itself.

use proc_macro2::{Ident, Span};
use syn::{Block, Expr, Stmt, Token, parse::Parser as _, punctuated::Punctuated};

/// Returns where `expr` uses the value `name`.
///
/// Skips closures, `match` and `let`, which may bind the name themselves: the compiler reports mistakes in these.
pub fn find_name(expr: &Expr, name: &Ident) -> Option<Span> {
    let find = |expr: &Expr| find_name(expr, name);
    match expr {
        Expr::Path(path) => path.path.get_ident().filter(|ident| *ident == name).map(Ident::span),
        Expr::Array(array) => array.elems.iter().find_map(find),
        Expr::Await(wait) => find(&wait.base),
        Expr::Binary(binary) if !binds(expr) => find(&binary.left).or_else(|| find(&binary.right)),
        Expr::Block(block) if block.label.is_none() => find_in_block(&block.block, name),
        Expr::Call(call) => {
            let called = if matches!(&*call.func, Expr::Path(_)) { None } else { find(&call.func) };
            called.or_else(|| call.args.iter().find_map(find))
        }
        Expr::Cast(cast) => find(&cast.expr),
        Expr::Field(field) => find(&field.base),
        Expr::Group(group) => find(&group.expr),
        Expr::If(choice) if !binds(&choice.cond) => {
            let otherwise = || choice.else_branch.as_ref().and_then(|(_, expr)| find(expr));
            find(&choice.cond).or_else(|| find_in_block(&choice.then_branch, name)).or_else(otherwise)
        }
        Expr::Index(index) => find(&index.expr).or_else(|| find(&index.index)),
        Expr::Macro(call) => {
            let args = Punctuated::<Expr, Token![,]>::parse_terminated.parse2(call.mac.tokens.clone());
            args.ok()?.iter().find_map(find)
        }
        Expr::MethodCall(call) => find(&call.receiver).or_else(|| call.args.iter().find_map(find)),
        Expr::Paren(paren) => find(&paren.expr),
        Expr::Range(range) => [&range.start, &range.end].into_iter().flatten().find_map(|bound| find(bound)),
        Expr::Reference(reference) => find(&reference.expr),
        Expr::Repeat(repeat) => find(&repeat.expr),
        Expr::Struct(fields) => {
            let rest = || fields.rest.as_deref().and_then(find);
            fields.fields.iter().find_map(|field| find(&field.expr)).or_else(rest)
        }
        Expr::Try(attempt) => find(&attempt.expr),
        Expr::Tuple(tuple) => tuple.elems.iter().find_map(find),
        Expr::Unary(unary) => find(&unary.expr),
        _ => None,
    }
}

/// Searches a block of expressions. Skips a block with declarations, which may bind the name.
fn find_in_block(block: &Block, name: &Ident) -> Option<Span> {
    let exprs: Option<Vec<&Expr>> =
        block.stmts.iter().map(|stmt| if let Stmt::Expr(expr, _) = stmt { Some(expr) } else { None }).collect();
    exprs?.into_iter().find_map(|expr| find_name(expr, name))
}

/// Returns whether a condition binds names: `let Some(x) = y && x > 0`.
fn binds(condition: &Expr) -> bool {
    match condition {
        Expr::Let(_) => true,
        Expr::Binary(binary) => binds(&binary.left) || binds(&binary.right),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use quote::format_ident;

    use super::find_name;

    fn finds(expr: &str) -> bool {
        find_name(&syn::parse_str(expr).expect("an expression"), &format_ident!("city")).is_some()
    }

    #[test]
    fn uses_are_found() {
        let uses = [
            "city",
            "&city",
            "city.len()",
            "[0, city]",
            "format!(\"{}|\", city)",
            "String::from(city)",
            "if city.is_empty() { 1 } else { 2 }",
            "(1, -city)",
            "Place { city }",
            "\"|\".to_owned() + city",
        ];
        for expr in uses {
            assert!(finds(expr), "{expr}");
        }
    }

    #[test]
    fn other_names_are_not() {
        let others = [
            "city()",
            "city::NAME",
            "self.city",
            "place.city()",
            "\"city\"",
            "|city: u8| city",
            "match x { city => city }",
            "if let Some(city) = find() { city } else { 0 }",
            "{ let city = 1; city }",
            "city!()",
            "Place { city: 1 }",
        ];
        for expr in others {
            assert!(!finds(expr), "{expr}");
        }
    }
}
