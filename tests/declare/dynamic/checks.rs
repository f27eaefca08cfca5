//! Tests of `#[tool(check = …)]`, which checks arguments together after each was accepted alone.

use std::convert::Infallible;

use serde_json::json;
use tool_runtime::{Context, ExecuteWith, Rejection, Validation, tool, tools, toolset};

use super::call;

struct Limit(u32);

/// Pays.
#[tool(check = affordable, approval = when(|input| input.amount > 50))]
fn pay(#[dynamic(validate = amount)] amount: u32, fee: u32, #[state] limit: &Limit) -> String {
    format!("{amount} + {fee} of {}", limit.0)
}

fn amount(value: Option<u32>, known: PayAmount<'_>) -> Validation<u32> {
    assert_eq!(known.limit.0, 100);
    value.map_or_else(|| Validation::reject("how much?"), Validation::accept)
}

fn affordable(input: &pay, known: PayCheck<'_>) -> Result<(), Rejection> {
    assert_eq!(known.call().call_id(), "c");
    if input.amount + input.fee <= known.limit.0 { Ok(()) } else { Err(Rejection::from_message("too much")) }
}

#[test]
fn the_whole_call_is_checked() {
    let tools = toolset!(Limit(100); pay);
    assert_eq!(call(&tools, "pay", json!({ "amount": 90, "fee": 10 })), Ok(json!("90 + 10 of 100")));
    let feedback = call(&tools, "pay", json!({ "amount": 90, "fee": 11 })).unwrap_err();
    assert_eq!(feedback, json!({ "ok": false, "problems": ["too much"] }));
    let feedback = call(&tools, "pay", json!({ "fee": 11 })).unwrap_err();
    assert_eq!(feedback["validationResults"]["amount"]["problems"], json!(["how much?"]));
}

/// Ships something.
#[tool(check = Self::deliverable, state = Limit)]
struct Ship {
    weight: u32,
}

impl Ship {
    async fn deliverable(&self, known: ShipCheck<'_>) -> Result<(), Rejection> {
        futures_util::future::ready(()).await;
        if self.weight <= known.state().0 { Ok(()) } else { Err(Rejection::from_message("too heavy")) }
    }
}

impl ExecuteWith<Limit> for Ship {
    type Output = u32;
    type Error = Infallible;

    async fn execute(self, _: &Limit, _: &Context) -> Result<u32, Infallible> {
        Ok(self.weight)
    }
}

#[test]
fn a_check_needs_no_dynamic_parameter_and_may_wait() {
    let tools = toolset!(Limit(100); Ship);
    assert_eq!(call(&tools, "Ship", json!({ "weight": 90 })), Ok(json!(90)));
    assert_eq!(call(&tools, "Ship", json!({ "weight": 101 })).unwrap_err()["problems"], json!(["too heavy"]));
    let feedback = call(&tools, "Ship", json!({})).unwrap_err();
    assert_eq!(feedback["validationResults"]["weight"]["valid"], json!(false));
}

#[tools]
impl Limit {
    /// Draws cash.
    #[tool(check = Self::in_notes)]
    fn draw(&self, cash: u32) -> u32 {
        self.0 - cash
    }

    fn in_notes(input: &LimitDraw, known: LimitDrawCheck<'_>) -> Result<(), Rejection> {
        if input.cash.is_multiple_of(10) && input.cash <= known.state().0 {
            Ok(())
        } else {
            Err(Rejection::from_message("in notes"))
        }
    }
}

#[test]
fn a_method_can_have_a_check() {
    let tools = Limit(100).toolset();
    assert_eq!(call(&tools, "draw", json!({ "cash": 20 })), Ok(json!(80)));
    assert!(call(&tools, "draw", json!({ "cash": 21 })).is_err());
}
