//! Parameters of the types that real programs have, each as a tool with the one parameter `it`.

#![allow(clippy::boxed_local, clippy::implicit_hasher, reason = "the parameters have the types that are tested")]
#![allow(missing_docs, missing_debug_implementations, reason = "nobody uses the types")]
#![allow(
    dead_code,
    clippy::option_option,
    clippy::struct_field_names,
    clippy::zero_sized_map_values,
    reason = "only their schemas and values matter"
)]

mod buffered;

use std::{
    borrow::Cow,
    cell::{Cell, RefCell},
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet, LinkedList, VecDeque},
    ffi::{CString, OsString},
    marker::PhantomData,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4},
    num::{NonZeroI8, NonZeroI32, NonZeroU8, NonZeroU64, NonZeroU128, Wrapping},
    ops::{Bound, Range, RangeInclusive},
    path::PathBuf,
    sync::{Arc, Mutex, atomic::AtomicU8},
    time::{Duration, SystemTime},
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::{
    DefaultOnError, DisplayFromStr, DurationSeconds, OneOrMany, VecSkipError, serde_as, skip_serializing_none,
};
use tool_runtime::{Toolset, tool, toolset};

pub use buffered::*;

macro_rules! types {
    ($($name:ident: $type:ty,)*) => {
        $(
            /// Take a value.
            #[tool]
            pub fn $name(/** The value. */ it: $type) {
                let _ = it;
            }
        )*

        /// Returns all tools.
        pub fn tools() -> Toolset {
            toolset!($($name),*)
        }
    };
}

types! {
    // The standard library.
    bool_: bool,
    char_: char,
    text: String,
    boxed_text: Box<str>,
    cow: Cow<'static, str>,
    unit: (),
    small: i8,
    wide: u64,
    widest: u128,
    widest_signed: i128,
    single: f32,
    double: f64,
    non_zero: NonZeroU8,
    non_zero_signed: NonZeroI32,
    non_zero_small: NonZeroI8,
    non_zero_wide: NonZeroU64,
    non_zero_widest: NonZeroU128,
    wrapping: Wrapping<u16>,
    option: Option<u8>,
    option_of_option: Option<Option<u8>>,
    option_of_box: Option<Box<Point>>,
    option_of_unit: Option<()>,
    option_of_any: Option<serde_json::Value>,
    reverse: Reverse<u8>,
    atomic: AtomicU8,
    ref_cell: RefCell<u8>,
    list: Vec<Option<i16>>,
    deque: VecDeque<bool>,
    linked: LinkedList<u8>,
    heap: BinaryHeap<u8>,
    set: BTreeSet<String>,
    hash_set: HashSet<u8>,
    array: [u8; 3],
    empty_array: [u8; 0],
    arrays: [[u8; 2]; 2],
    pair: (u8, String),
    triple: (i32, Option<bool>, char),
    map: BTreeMap<String, u8>,
    map_of_numbers: BTreeMap<u32, String>,
    map_of_signed: HashMap<i64, u8>,
    map_of_wide: BTreeMap<u128, u8>,
    map_of_chars: BTreeMap<char, u8>,
    map_of_bools: BTreeMap<bool, u8>,
    map_of_enums: BTreeMap<Day, u8>,
    map_of_non_zero: BTreeMap<NonZeroU8, u8>,
    map_of_uuids: BTreeMap<uuid::Uuid, u8>,
    nested_maps: HashMap<String, HashMap<String, Vec<u8>>>,
    result: Result<u8, String>,
    range: Range<u32>,
    range_inclusive: RangeInclusive<i8>,
    bound: Bound<u8>,
    duration: Duration,
    system_time: SystemTime,
    ip: IpAddr,
    ipv4: Ipv4Addr,
    ipv6: Ipv6Addr,
    socket: SocketAddr,
    socket_v4: SocketAddrV4,
    os_string: OsString,
    path: PathBuf,
    c_string: CString,
    cell: Cell<u8>,
    mutex: Mutex<String>,
    arc: Arc<[u8]>,
    arc_text: Arc<str>,
    cow_list: Cow<'static, [u8]>,
    boxed: Box<Point>,
    any: serde_json::Value,
    any_map: serde_json::Map<String, serde_json::Value>,
    any_number: serde_json::Number,
    // chrono.
    chrono_date: chrono::NaiveDate,
    chrono_time: chrono::NaiveTime,
    chrono_date_time: chrono::NaiveDateTime,
    chrono_utc: chrono::DateTime<chrono::Utc>,
    chrono_fixed: chrono::DateTime<chrono::FixedOffset>,
    chrono_weekday: chrono::Weekday,
    chrono_delta: chrono::TimeDelta,
    // jiff.
    jiff_date: jiff::civil::Date,
    jiff_time: jiff::civil::Time,
    jiff_date_time: jiff::civil::DateTime,
    jiff_timestamp: jiff::Timestamp,
    jiff_zoned: jiff::Zoned,
    jiff_duration: jiff::SignedDuration,
    jiff_span: jiff::Span,
    // time.
    time_instant: Instant,
    // Others.
    uuid_: uuid::Uuid,
    url_: url::Url,
    decimal: rust_decimal::Decimal,
    big_decimal: bigdecimal::BigDecimal,
    index_map: indexmap::IndexMap<String, u8>,
    index_set: indexmap::IndexSet<u8>,
    either_: either::Either<u8, String>,
    smol: smol_str::SmolStr,
    version: semver::Version,
    utf8_path: Utf8,
    ordered: ordered_float::OrderedFloat<f64>,
    not_nan: ordered_float::NotNan<f32>,
    small_vec: smallvec::SmallVec<[u8; 2]>,
    array_vec: arrayvec::ArrayVec<u8, 3>,
    array_string: arrayvec::ArrayString<4>,
    bytes_: bytes::Bytes,
    // serde_with.
    displayed: Displayed,
    one_or_many: Few,
    default_on_error: Lenient,
    skips_errors: Skipping,
    seconds: Seconds,
    hex: Hex,
    skips_none: SkipsNone,
    // serde's representations and attributes.
    point: Point,
    closed: Closed,
    tuple_struct: Tuple,
    newtype: Newtype,
    newtypes: Newtypes,
    unit_struct: Unit,
    phantom: PhantomData<u8>,
    tagged_struct: TaggedStruct,
    all_renamed: AllRenamed,
    skipped_variants: SkippedVariants,
    units: Units,
    untagged_variant: UntaggedVariant,
    untagged_flat: UntaggedFlat,
    untagged_numbers: UntaggedNumbers,
    closed_defaults: ClosedDefaults,
    with_module: WithModule,
    remote: Remote,
    double_option: DoubleOption,
    external: External,
    internal: Internal,
    internal_closed: InternalClosed,
    internal_newtype: InternalNewtype,
    adjacent: Adjacent,
    adjacent_closed: AdjacentClosed,
    untagged: Untagged,
    untagged_structs: UntaggedStructs,
    day: Day,
    tree: Tree,
    expression: Expression,
    generic: Generic<u8, Vec<bool>>,
    transparent: Transparent,
    aliased: Aliased,
    aliased_variants: AliasedVariants,
    other: Other,
    other_tagged: OtherTagged,
    defaults: Defaults,
    skipped: Skipped,
    renamed: Renamed,
    converted: Converted,
    try_converted: TryConverted,
    flat_struct: FlatStruct,
    flat_option: FlatOption,
    flat_external: FlatExternal,
    flat_option_external: FlatOptionExternal,
    flat_internal: FlatInternal,
    flat_untagged: FlatUntagged,
    flat_map: FlatMap,
    flat_closed: FlatClosed,
    flat_two: FlatTwo,
    map_in_tagged: MapInTagged,
    map_in_untagged: MapInUntagged,
    map_in_flattened: MapInFlattened,
    maps_in_tagged: MapsInTagged,
    maps_in_untagged: MapsInUntagged,
    map_flattened: MapFlattened,
    map_as_variant: MapAsVariant,
    map_in_adjacent: MapInAdjacent,
    map_in_list: Vec<MapInTagged>,
    wide_keys_in_tagged: WideKeysInTagged,
    widest_in_tagged: WidestInTagged,
    widest_in_untagged: WidestInUntagged,
    widest_in_flattened: WidestInFlattened,
    widest_in_adjacent: WidestInAdjacent,
    // Limits of schemars.
    limited: Limited,
    limited_newtypes: LimitedNewtypes,
    inner_limits: InnerLimits,
}

#[derive(Serialize, Deserialize, JsonSchema)]
pub struct Point {
    x: i32,
    y: Option<u16>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Closed {
    first_name: String,
    #[serde(default)]
    last_name: Option<String>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
pub struct Tuple(u8, String);

#[derive(Serialize, Deserialize, JsonSchema)]
pub struct Newtype(BTreeMap<String, u8>);

#[derive(Serialize, Deserialize, JsonSchema)]
pub struct Newtypes {
    option: NewOption,
    list: NewList,
    text: Option<NewText>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
pub struct NewOption(Option<NonZeroU8>);

#[derive(Serialize, Deserialize, JsonSchema)]
pub struct NewList(Vec<NewOption>);

#[derive(Serialize, Deserialize, JsonSchema)]
pub struct NewText(Box<str>);

#[derive(Serialize, Deserialize, JsonSchema)]
pub struct Unit;

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type")]
pub struct TaggedStruct {
    x: u8,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE", rename_all_fields = "camelCase")]
pub enum AllRenamed {
    FirstCase { some_name: u8 },
    SecondCase,
}

#[derive(Serialize, Deserialize, JsonSchema)]
pub enum SkippedVariants {
    Kept(u8),
    #[serde(skip)]
    Gone,
    #[serde(skip_deserializing)]
    Written,
    #[serde(skip_serializing)]
    Read,
}

#[derive(Serialize, Deserialize, JsonSchema)]
pub enum Units {
    Empty(),
    Fieldless {},
    OfUnit(()),
    OfUnitStruct(Unit),
    OfOption(Option<NonZeroI8>),
}

#[derive(Serialize, Deserialize, JsonSchema)]
pub enum UntaggedVariant {
    Named(u8),
    Plain,
    #[serde(untagged)]
    Other {
        x: u8,
    },
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum UntaggedFlat {
    At {
        id: u8,
        #[serde(flatten)]
        at: Point,
    },
    Rest {
        name: String,
        #[serde(flatten)]
        rest: BTreeMap<String, u8>,
    },
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum UntaggedNumbers {
    Small(u8),
    Float(f64),
    Char(char),
    Pair(i64, bool),
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ClosedDefaults {
    a: u8,
    inner: Defaults,
}

impl Default for ClosedDefaults {
    fn default() -> Self {
        Self { a: 1, inner: Defaults::default() }
    }
}

#[derive(Serialize, Deserialize, JsonSchema)]
pub struct WithModule {
    #[serde(with = "as_text")]
    #[schemars(with = "String", regex(pattern = "^[0-9]$"))]
    digit: u8,
}

mod as_text {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    pub fn serialize<S: Serializer>(digit: &u8, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(digit)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u8, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

pub struct Foreign {
    seconds: i64,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(remote = "Foreign")]
pub struct ForeignForm {
    seconds: i64,
}

#[derive(Serialize, Deserialize, JsonSchema)]
pub struct Remote {
    #[serde(with = "ForeignForm")]
    at: Foreign,
}

#[derive(Serialize, Deserialize, JsonSchema)]
pub struct DoubleOption {
    #[serde(default, with = "serde_with::rust::double_option", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("examples" = [null]))]
    name: Option<Option<String>>,
    plain: Option<Option<u8>>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum External {
    Dot,
    Circle(f64),
    Line(Point, Point),
    Rect { at: Point, size: u8 },
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind")]
pub enum Internal {
    Nothing,
    Named { name: String },
    Numbered { number: i64, unit: Option<Day> },
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", deny_unknown_fields)]
pub enum InternalClosed {
    Nothing,
    Named { name: String },
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind")]
pub enum InternalNewtype {
    At(Point),
    Of(Closed),
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(tag = "t", content = "c")]
pub enum Adjacent {
    Unit,
    Tuple(u8, String),
    Struct { x: u8 },
    Newtype(Point),
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(tag = "t", content = "c", deny_unknown_fields)]
pub enum AdjacentClosed {
    Unit,
    Newtype(Option<u8>),
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Untagged {
    Number(i64),
    Text(String),
    List(Vec<u8>),
    Nothing,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum UntaggedStructs {
    At { x: i32, y: i32 },
    Named { name: String },
    Closed(Closed),
}

#[derive(Serialize, Deserialize, JsonSchema, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "kebab-case")]
pub enum Day {
    WorkDay,
    /// A day without work.
    RestDay,
}

#[derive(Serialize, Deserialize, JsonSchema)]
pub struct Tree {
    value: i8,
    children: Vec<Tree>,
    parent: Option<Box<Tree>>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
pub enum Expression {
    Number(f64),
    Add(Box<Expression>, Box<Expression>),
    Not(Box<Expression>),
}

#[derive(Serialize, Deserialize, JsonSchema)]
pub struct Generic<A, B> {
    a: A,
    b: B,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Transparent {
    inner: Closed,
}

#[derive(Serialize, Deserialize, JsonSchema)]
pub struct Aliased {
    #[serde(alias = "userName")]
    user_name: String,
}

#[derive(Serialize, Deserialize, JsonSchema)]
pub enum AliasedVariants {
    #[serde(alias = "colour")]
    Color,
    Size,
}

#[derive(Serialize, Deserialize, JsonSchema)]
pub enum Other {
    Low,
    High,
    #[serde(other)]
    Unknown,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind")]
pub enum OtherTagged {
    Low {
        by: u8,
    },
    #[serde(other)]
    Unknown,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Defaults {
    a: u8,
    b: String,
    c: Option<bool>,
}

impl Default for Defaults {
    fn default() -> Self {
        Self { a: 3, b: "x".to_owned(), c: None }
    }
}

#[derive(Serialize, Deserialize, JsonSchema)]
pub struct Skipped {
    a: u8,
    #[serde(skip)]
    b: u8,
    #[serde(skip_deserializing)]
    c: u8,
    #[serde(skip_serializing)]
    d: u8,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all(serialize = "snake_case", deserialize = "camelCase"))]
pub struct Renamed {
    server_time: String,
    #[serde(rename(serialize = "symbol", deserialize = "ticker"))]
    instrument: String,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(from = "u8", into = "u8")]
pub struct Converted(u8);

impl From<u8> for Converted {
    fn from(number: u8) -> Self {
        Self(number)
    }
}

impl From<Converted> for u8 {
    fn from(number: Converted) -> Self {
        number.0
    }
}

impl Clone for Converted {
    fn clone(&self) -> Self {
        Self(self.0)
    }
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "u8")]
pub struct TryConverted(u8);

impl TryFrom<u8> for TryConverted {
    type Error = &'static str;

    fn try_from(number: u8) -> Result<Self, Self::Error> {
        if number.is_multiple_of(2) { Ok(Self(number)) } else { Err("the number must be even") }
    }
}

#[derive(Serialize, Deserialize, JsonSchema)]
pub struct FlatStruct {
    text: String,
    #[serde(flatten)]
    page: Defaults,
}

#[derive(Serialize, Deserialize, JsonSchema)]
pub struct Price {
    least: u8,
    most: u8,
}

#[derive(Serialize, Deserialize, JsonSchema)]
pub struct FlatOption {
    words: String,
    #[serde(flatten)]
    price: Option<Price>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
pub enum Weight {
    Light,
    Heavy(u32),
    Exact { grams: u8 },
}

#[derive(Serialize, Deserialize, JsonSchema)]
pub struct FlatExternal {
    name: String,
    #[serde(flatten)]
    weight: Weight,
}

#[derive(Serialize, Deserialize, JsonSchema)]
pub struct FlatOptionExternal {
    name: String,
    #[serde(flatten)]
    weight: Option<Weight>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
pub struct FlatInternal {
    id: u32,
    #[serde(flatten)]
    shape: Internal,
}

#[derive(Serialize, Deserialize, JsonSchema)]
pub struct FlatUntagged {
    id: u32,
    #[serde(flatten)]
    shape: UntaggedStructs,
}

#[derive(Serialize, Deserialize, JsonSchema)]
pub struct FlatMap {
    id: u8,
    #[serde(flatten)]
    rest: HashMap<String, bool>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FlatClosed {
    id: u8,
    #[serde(flatten)]
    at: Point,
}

#[derive(Serialize, Deserialize, JsonSchema)]
pub struct FlatTwo {
    #[serde(flatten)]
    at: Point,
    #[serde(flatten)]
    weight: Weight,
}

#[derive(Serialize, Deserialize, JsonSchema)]
pub struct Limited {
    #[schemars(range(min = 1, max = 5))]
    number: u32,
    #[schemars(length(min = 2), regex(pattern = "^[a-z]+$"))]
    name: Option<String>,
    #[schemars(email)]
    mail: Option<String>,
    #[schemars(length(max = 2))]
    list: Vec<u8>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
pub struct Euros(u8);

#[derive(Serialize, Deserialize, JsonSchema)]
pub struct LimitedNewtypes {
    #[schemars(range(min = 1, max = 9))]
    amount: Euros,
    #[schemars(range(max = 5))]
    tip: Option<Euros>,
    #[schemars(length(min = 2))]
    name: Option<Name>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
pub struct Name(String);

#[derive(Serialize, Deserialize, JsonSchema)]
pub struct InnerLimits {
    #[schemars(inner(range(max = 5)))]
    list: Vec<Euros>,
    #[schemars(extend("maxProperties" = 1))]
    map: BTreeMap<String, u8>,
}

#[serde_as]
#[derive(Serialize, Deserialize, JsonSchema)]
pub struct Displayed {
    #[serde_as(as = "DisplayFromStr")]
    number: u8,
}

#[serde_as]
#[derive(Serialize, Deserialize, JsonSchema)]
pub struct Few {
    #[serde_as(as = "OneOrMany<_>")]
    names: Vec<u8>,
}

#[serde_as]
#[derive(Serialize, Deserialize, JsonSchema)]
pub struct Lenient {
    #[serde_as(deserialize_as = "DefaultOnError")]
    #[serde(default)]
    number: u8,
}

#[serde_as]
#[derive(Serialize, Deserialize, JsonSchema)]
pub struct Skipping {
    #[serde_as(as = "VecSkipError<_>")]
    numbers: Vec<u8>,
}

#[serde_as]
#[derive(Serialize, Deserialize, JsonSchema)]
pub struct Seconds {
    #[serde_as(as = "DurationSeconds<u64>")]
    wait: Duration,
}

#[serde_as]
#[derive(Serialize, Deserialize, JsonSchema)]
pub struct Hex {
    #[serde_as(as = "serde_with::hex::Hex")]
    hash: Vec<u8>,
}

#[skip_serializing_none]
#[derive(Serialize, Deserialize, JsonSchema)]
pub struct SkipsNone {
    a: Option<u8>,
    b: Option<String>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
pub struct Instant {
    #[serde(with = "time::serde::rfc3339")]
    #[schemars(with = "String", extend("format" = "date-time"))]
    at: time::OffsetDateTime,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Utf8(#[schemars(with = "String")] camino::Utf8PathBuf);
