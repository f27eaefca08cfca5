//! Behaviour of the tools that the recorded tasks do not cover.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{call, shop};
use crate::store::Store;

fn balance(store: &Arc<Store>, user: &str, card: &str) -> f64 {
    let user = call(store, "get_user_details", &json!({ "user_id": user })).unwrap();
    user["payment_methods"][card]["balance"].as_f64().unwrap()
}

fn changed(store: &Arc<Store>) -> Value {
    serde_json::to_value(store.changed()).unwrap()
}

#[test]
fn people_are_found_however_they_write_their_names() {
    let store = shop();
    let found = call(&store, "find_user_id_by_email", &json!({"email": "Juan.Rossi2348@example.com"}));
    let by_name = json!({"first_name": "JUAN", "last_name": "rossi", "zip": "77209"});
    assert_eq!(call(&store, "find_user_id_by_name_zip", &by_name).unwrap(), "juan_rossi_6696");
    assert_eq!(found.unwrap(), "juan_rossi_6696");
}

#[test]
fn a_user_is_found_by_the_new_zip_only() {
    let store = shop();
    let moved = json!({
        "user_id": "juan_rossi_6696", "address1": "1 Main St", "address2": "", "city": "Austin", "state": "TX",
        "country": "USA", "zip": "78701",
    });
    let user = call(&store, "modify_user_address", &moved).unwrap();
    let lines: Vec<&String> = user["address"].as_object().unwrap().keys().collect();
    assert_eq!(lines, ["address1", "address2", "city", "state", "country", "zip"]);
    let find = |zip| {
        call(&store, "find_user_id_by_name_zip", &json!({"first_name": "Juan", "last_name": "Rossi", "zip": zip}))
    };
    assert_eq!(find("78701").unwrap(), "juan_rossi_6696");
    assert_eq!(find("77209"), Err("Error: user not found".to_owned()));
}

#[test]
fn product_types_are_listed_by_name() {
    let listed = call(&shop(), "list_all_product_types", &json!({})).unwrap().to_string();
    let expected = r#"{"Action Camera":"3377618313","Espresso Machine":"4354588079","Fleece Jacket":"8560156827","Garden Hose":"6679515468","Tea Kettle":"9832717871"}"#;
    assert_eq!(listed, expected);
}

#[test]
fn results_of_arithmetic_are_decimal_and_rounded() {
    let store = shop();
    for (expression, result) in [("2 + 2", "4.0"), ("10 / 3", "3.33"), ("0.125", "0.12"), ("2 * (3 - 5)", "-4.0")] {
        assert_eq!(call(&store, "calculate", &json!({ "expression": expression })).unwrap(), result);
    }
}

#[test]
fn a_thought_changes_nothing() {
    let store = shop();
    assert_eq!(call(&store, "think", &json!({"thought": "hm"})).unwrap(), "");
    assert_eq!(changed(&store), json!({}));
}

#[test]
fn a_moved_payment_is_refunded_once_and_where_it_went() {
    let store = shop();
    let order = json!({"order_id": "#W4923227", "payment_method_id": "paypal_1621947"});
    call(&store, "modify_pending_order_payment", &order).unwrap();
    let cancel = json!({"order_id": "#W4923227", "reason": "ordered by mistake"});
    let cancelled = call(&store, "cancel_pending_order", &cancel).unwrap();
    let last = json!({"transaction_type": "refund", "amount": 321.18, "payment_method_id": "paypal_1621947"});
    assert_eq!(cancelled["payment_history"].as_array().unwrap().len(), 4);
    assert_eq!(cancelled["payment_history"][3], last);
    assert_eq!(cancelled["cancel_reason"], "ordered by mistake");
}

#[test]
fn a_gift_card_pays_and_is_paid_back_in_cents() {
    let store = shop();
    let pay = |order: &str, old: &str, new: &str, card: &str| {
        let arguments = json!({"order_id": order, "item_ids": [old], "new_item_ids": [new], "payment_method_id": card});
        call(&store, "modify_pending_order_items", &arguments).unwrap()
    };
    let hose = pay("#W7602708", "3369928769", "3230708338", "gift_card_8893815");
    assert_eq!(hose["status"], "pending (item modified)");
    assert_eq!(hose["payment_history"][1]["transaction_type"], "payment");
    assert_eq!(hose["payment_history"][1]["amount"].as_f64(), Some(99.51 - 97.35));
    assert_eq!(balance(&store, "juan_rossi_6696", "gift_card_8893815").to_string(), "15.84");
    let kettle = pay("#W2541482", "7497340597", "9747045638", "gift_card_3377580");
    assert_eq!(kettle["payment_history"][1]["transaction_type"], "refund");
    assert_eq!(balance(&store, "sofia_davis_2103", "gift_card_3377580").to_string(), "24.82");
}

#[test]
fn the_same_item_twice_takes_two_items() {
    let store = shop();
    let twice = |order: &str, new: [&str; 2]| {
        let ids = ["7292993796"; 2];
        let arguments =
            json!({"order_id": order, "item_ids": ids, "new_item_ids": new, "payment_method_id": "gift_card_7245904"});
        call(&store, "exchange_delivered_order_items", &arguments)
    };
    let exchanged = twice("#W4316152", ["9747045638", "3738831434"]).unwrap();
    assert_eq!(exchanged["exchange_new_items"], json!(["3738831434", "9747045638"]));
    assert_eq!(exchanged["exchange_price_difference"].to_string(), "3.3");
    assert!(balance(&store, "aarav_anderson_8794", "gift_card_7245904").to_string() == "17", "nothing is paid yet");
}

#[test]
fn a_return_goes_to_a_gift_card_or_where_it_was_paid() {
    for method in ["credit_card_3124723", "paypal_9497703"] {
        let arguments =
            json!({"order_id": "#W5490111", "item_ids": ["6117189161", "4579334072"], "payment_method_id": method});
        let answer = call(&shop(), "return_delivered_order_items", &arguments);
        match method {
            "credit_card_3124723" => {
                assert_eq!(answer.unwrap()["return_items"], json!(["4579334072", "6117189161"]));
            }
            _ => assert!(answer.unwrap_err().contains("either the original payment method or a gift card")),
        }
    }
}
