//! Types that serde reads through its buffer, with maps and numbers that the buffer does not have.

use std::{collections::BTreeMap, num::NonZeroU8};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Day;

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind")]
pub enum MapInTagged {
    ByNumber { names: BTreeMap<u32, String> },
    Nothing,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum MapInUntagged {
    ByNumber(BTreeMap<i8, bool>),
    Text(String),
}

#[derive(Serialize, Deserialize, JsonSchema)]
pub struct Names {
    names: Option<BTreeMap<u8, bool>>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
pub struct MapInFlattened {
    #[serde(flatten)]
    names: Names,
}

#[derive(Serialize, Deserialize, JsonSchema, PartialEq, Eq, PartialOrd, Ord)]
pub struct Id(u16);

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind")]
pub enum MapsInTagged {
    All {
        texts: BTreeMap<String, u8>,
        numbers: BTreeMap<Id, u8>,
        signed: Option<Vec<BTreeMap<i64, bool>>>,
        chars: BTreeMap<char, u8>,
        days: BTreeMap<Day, u8>,
    },
    Truths {
        bools: BTreeMap<bool, BTreeMap<u8, u8>>,
        non_zero: BTreeMap<NonZeroU8, u8>,
    },
    Floats {
        floats: BTreeMap<ordered_float::OrderedFloat<f64>, u8>,
    },
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum MapsInUntagged {
    Numbers { by: BTreeMap<u8, u8> },
    Texts { by: BTreeMap<String, bool> },
    Both { numbers: BTreeMap<u8, u8>, texts: BTreeMap<String, u8> },
}

#[derive(Serialize, Deserialize, JsonSchema)]
pub struct MapFlattened {
    name: String,
    #[serde(flatten)]
    rest: BTreeMap<u32, bool>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind")]
pub enum MapAsVariant {
    ByNumber(BTreeMap<u8, u8>),
    ByText(BTreeMap<String, u8>),
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(tag = "t", content = "c")]
pub enum MapInAdjacent {
    ByNumber(BTreeMap<u8, u8>),
    ByText { texts: BTreeMap<String, u8> },
    Unit,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind")]
pub enum WideKeysInTagged {
    Ids { names: BTreeMap<u128, u8> },
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum WidestInUntagged {
    Id(i128),
    Text(String),
}

#[derive(Serialize, Deserialize, JsonSchema)]
pub struct WidestInFlattened {
    #[serde(flatten)]
    id: WidestInside,
}

#[derive(Serialize, Deserialize, JsonSchema)]
pub struct WidestInside {
    id: Option<u128>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(tag = "t", content = "c")]
pub enum WidestInAdjacent {
    Id(u128),
    Text(String),
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind")]
pub enum WidestInTagged {
    Id { value: u128 },
    Nothing,
}
