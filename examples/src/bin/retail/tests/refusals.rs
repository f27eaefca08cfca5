//! Refusals of the tools: their words, and that they change nothing.

use serde_json::{Value, json};
use tool_runtime::CallError;

use super::{call, output, shop};

#[test]
fn refusals() {
    let store = shop();
    let pending = "#W2541482";
    let delivered = "#W4316152";
    let kettles = ["7292993796", "7292993796", "7292993796"];
    let card = "gift_card_3377580";
    let items = |order: &str, old: &[&str], new: &[&str], method: &str| json!({"order_id": order, "item_ids": old, "new_item_ids": new, "payment_method_id": method});
    let back = |order: &str, old: &[&str], method: &str| json!({"order_id": order, "item_ids": old, "payment_method_id": method});
    let payment = |order: &str, method: &str| json!({"order_id": order, "payment_method_id": method});
    let cancel = |order: &str| json!({"order_id": order, "reason": "no longer needed"});
    let cases: [(&str, Value, &str); 22] = [
        ("get_order_details", json!({"order_id": "W2541482"}), "order not found"),
        ("get_user_details", json!({"user_id": "sofia"}), "user not found"),
        ("get_product_details", json!({"product_id": "7292993796"}), "product not found"),
        ("find_user_id_by_email", json!({"email": ""}), "user not found"),
        ("calculate", json!({"expression": "2 ^ 3"}), "invalid characters in expression"),
        ("calculate", json!({"expression": "1 / 0"}), "division by zero"),
        ("cancel_pending_order", cancel("#W0"), "order not found"),
        ("cancel_pending_order", cancel(delivered), "non-pending order cannot be cancelled"),
        ("modify_pending_order_payment", payment(delivered, card), "non-pending order cannot be modified"),
        ("modify_pending_order_payment", payment(pending, "paypal_0"), "payment method not found"),
        (
            "modify_pending_order_payment",
            payment(pending, card),
            "the new payment method should be different from the current one",
        ),
        (
            "modify_pending_order_payment",
            payment("#W7602708", "gift_card_8893815"),
            "insufficient gift card balance to pay for the order",
        ),
        ("modify_pending_order_items", items(delivered, &[], &[], card), "non-pending order cannot be modified"),
        (
            "modify_pending_order_items",
            items(pending, &["7497340597"], &[], card),
            "the number of items and new items should match",
        ),
        (
            "modify_pending_order_items",
            items(pending, &["7497340597"], &["6454334990"], card),
            "new item 6454334990 not found or not available",
        ),
        (
            "modify_pending_order_items",
            items(pending, &["7497340597"], &["3815173328"], card),
            "new item 3815173328 not found or not available",
        ),
        ("modify_pending_order_items", items(pending, &["1"], &["2"], card), "item 1 not found in the order"),
        (
            "modify_pending_order_items",
            items(pending, &["3714494375"], &["3951031513"], card),
            "insufficient gift card balance to pay for the new item",
        ),
        ("exchange_delivered_order_items", items(pending, &[], &[], card), "non-delivered order cannot be exchanged"),
        (
            "exchange_delivered_order_items",
            items(delivered, &kettles[..1], &["9747045638"], "paypal_0"),
            "payment method not found",
        ),
        ("return_delivered_order_items", back(pending, &[], card), "non-delivered order cannot be returned"),
        (
            "return_delivered_order_items",
            back(delivered, &kettles, "gift_card_7245904"),
            "item 7292993796 not found in the order",
        ),
    ];
    for (tool, arguments, text) in cases {
        assert_eq!(call(&store, tool, &arguments), Err(format!("Error: {text}")), "{tool} {arguments}");
    }
    assert_eq!(serde_json::to_value(store.changed()).unwrap(), json!({}));
}

#[test]
fn an_order_is_changed_once() {
    let store = shop();
    let modify = json!({
        "order_id": "#W7602708", "item_ids": ["3369928769"], "new_item_ids": ["5206946487"],
        "payment_method_id": "credit_card_9801224",
    });
    call(&store, "modify_pending_order_items", &modify).unwrap();
    let again = call(&store, "modify_pending_order_items", &modify);
    assert_eq!(again, Err("Error: non-pending order cannot be modified".to_owned()));
    let cancel = json!({"order_id": "#W7602708", "reason": "no longer needed"});
    let cancelled = call(&store, "cancel_pending_order", &cancel);
    assert_eq!(cancelled, Err("Error: non-pending order cannot be cancelled".to_owned()));

    let give_back =
        json!({"order_id": "#W4316152", "item_ids": ["7292993796"], "payment_method_id": "gift_card_7245904"});
    call(&store, "return_delivered_order_items", &give_back).unwrap();
    let again = call(&store, "return_delivered_order_items", &give_back);
    assert_eq!(again, Err("Error: non-delivered order cannot be returned".to_owned()));
}

#[test]
fn a_reason_outside_the_policy_cancels_nothing() {
    let store = shop();
    let cancel = json!({"order_id": "#W7602708", "reason": "too expensive"});
    let refused = output(&store, "cancel_pending_order", &cancel).unwrap_err();
    let CallError::Rejected(rejection) = refused else { panic!("{refused}") };
    let paths: Vec<&str> = rejection.problems().iter().map(|problem| problem.path.as_str()).collect();
    assert_eq!(paths, ["/reason"], "{rejection}");
    assert_eq!(serde_json::to_value(store.changed()).unwrap(), json!({}));
}
