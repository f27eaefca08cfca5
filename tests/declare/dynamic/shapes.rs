//! Tests of dynamic parameters of structs, functions and methods, with and without state, and of validators that wait.

use std::{
    convert::Infallible,
    sync::atomic::{AtomicUsize, Ordering},
};

use serde_json::json;
use tool_runtime::{Context, DynamicInput, Execute, ExecuteWith, Failure, Judged, Validation, tool, tools, toolset};

use super::call;

/// Books a trip.
#[tool]
struct Trip {
    /// The start.
    #[dynamic(validate = from, requires(class))]
    from: String,
    #[dynamic(validate = to, requires(from), hints(seats))]
    to: String,
    #[dynamic(validate = seats, after(to))]
    seats: u8,
    class: String,
}

fn from(value: Option<String>, known: TripFrom<'_>) -> Validation<String> {
    assert!(!known.class.is_empty());
    let all = ["Berlin", "Paris"].map(str::to_owned);
    match value.and_then(|value| all.iter().find(|known| known.eq_ignore_ascii_case(&value)).cloned()) {
        Some(value) => Validation::accept(value),
        None => Validation::reject("no flights from there").allowed(&all),
    }
}

async fn to(value: Option<String>, known: TripTo<'_>) -> Result<Validation<String>, Failure> {
    if known.seats == Some(&200) {
        return Err(Failure::new("no flight is that large"));
    }
    futures_util::future::ready(()).await;
    Ok(match value {
        Some(value) if value != *known.from => Validation::accept(value).remark("a fine choice"),
        _ => Validation::reject("somewhere else").suggested(["Rome".to_owned()]),
    })
}

fn seats(value: Option<u8>, known: TripSeats<'_>) -> Validation<u8> {
    assert_eq!(known.call().call_id(), "c");
    match known.to {
        Judged::Accepted(_) => Validation::accept(value.unwrap_or(1)),
        Judged::Refused(to) => Validation::reject(format!("nobody flies to {to}")),
        Judged::Missing => Validation::reject("nobody knows yet"),
    }
}

impl Execute for Trip {
    type Output = String;
    type Error = Infallible;

    async fn execute(self, _: &Context) -> Result<String, Infallible> {
        Ok(format!("{} {} {} {}", self.from, self.to, self.seats, self.class))
    }
}

#[test]
fn a_struct_can_have_dynamic_fields() {
    let tools = toolset!(Trip);
    let feedback = json!({ "ok": false, "validationResults": {
        "from": { "valid": true, "normalizedValue": "Berlin" },
        "to": { "valid": false, "problems": ["somewhere else"], "suggestedValues": ["Rome"] },
        "seats": { "valid": false, "problems": ["nobody knows yet"] },
    }});
    let given = json!({ "from": "berlin", "class": "first" });
    assert_eq!(call(&tools, "Trip", given).unwrap_err().to_string(), feedback.to_string());
    let given = json!({ "from": "Berlin", "to": "Rome", "class": "first" });
    assert_eq!(call(&tools, "Trip", given), Ok(json!("Berlin Rome 1 first")));
    let feedback =
        call(&tools, "Trip", json!({ "from": "Berlin", "to": "Rome", "seats": 200, "class": "x" })).unwrap_err();
    assert_eq!(feedback["validationResults"]["to"]["problems"], json!(["no flight is that large"]));
    assert_eq!(feedback["validationResults"]["seats"]["problems"], json!(["nobody flies to Rome"]));
    let feedback = call(&tools, "Trip", json!({ "from": "Berlin", "to": "Rome" })).unwrap_err();
    assert_eq!(feedback["validationResults"]["from"], json!({ "valid": false, "requiresValidParameters": ["class"] }));
}

struct Lines {
    cities: Vec<&'static str>,
    asked: AtomicUsize,
}

/// Books a bus.
#[tool(effect = read_only)]
async fn book_bus(
    /// The start.
    #[dynamic(validate = stop)]
    stop: String,
    #[state] lines: &Lines,
) -> String {
    format!("{stop} {}", lines.asked.load(Ordering::SeqCst))
}

fn stop(value: Option<String>, known: BookBusStop<'_>) -> Validation<String> {
    known.lines.asked.fetch_add(1, Ordering::SeqCst);
    match value.filter(|stop| known.lines.cities.contains(&stop.as_str())) {
        Some(stop) => Validation::accept(stop),
        None => Validation::reject("no stop").allowed(known.lines.cities.iter().map(|&stop| stop.to_owned())),
    }
}

#[test]
fn validators_of_a_function_receive_its_state() {
    let tools = toolset!(Lines { cities: vec!["Bonn"], asked: AtomicUsize::new(0) }; book_bus);
    assert_eq!(call(&tools, "book_bus", json!({ "stop": "Bonn" })), Ok(json!("Bonn 1")));
    let feedback = call(&tools, "book_bus", json!({})).unwrap_err();
    assert_eq!(feedback["validationResults"]["stop"]["allowedValues"], json!(["Bonn"]));
}

/// Books a train.
#[tool(state = Lines)]
struct Train {
    #[dynamic(validate = station)]
    station: String,
}

async fn station(value: Option<String>, known: TrainStation<'_>) -> Validation<String> {
    match value.filter(|stop| known.state().cities.contains(&stop.as_str())) {
        Some(stop) => Validation::accept(stop),
        None => Validation::reject("no station"),
    }
}

impl ExecuteWith<Lines> for Train {
    type Output = String;
    type Error = Infallible;

    async fn execute(self, state: &Lines, _: &Context) -> Result<String, Infallible> {
        Ok(format!("{} of {}", self.station, state.cities.len()))
    }
}

#[test]
fn validators_of_a_struct_receive_its_state() {
    let tools = toolset!(Lines { cities: vec!["Bonn"], asked: AtomicUsize::new(0) }; Train);
    assert_eq!(call(&tools, "Train", json!({ "station": "Bonn" })), Ok(json!("Bonn of 1")));
    assert!(call(&tools, "Train", json!({ "station": "Berlin" })).is_err());
}

struct Desk {
    rooms: Vec<u16>,
}

#[tools]
impl Desk {
    /// Books a room.
    #[tool]
    fn book_room(
        &self,
        #[dynamic(validate = Self::room, requires(nights))] room: u16,
        #[dynamic(validate = nights)] nights: u8,
    ) -> String {
        format!("{room} of {} for {nights}", self.rooms.len())
    }

    fn room(value: Option<u16>, known: DeskBookRoomRoom<'_>) -> Validation<u16> {
        let desk: &Self = known.state();
        match value.filter(|room| desk.rooms.contains(room) && *known.nights < 9) {
            Some(room) => Validation::accept(room),
            None => Validation::reject("no such room").allowed(&desk.rooms),
        }
    }
}

async fn nights(value: Option<u8>, known: DeskBookRoomNights<'_>) -> Validation<u8> {
    value.map_or_else(|| Validation::reject(format!("how many in {:?}?", known.state().rooms)), Validation::accept)
}

#[test]
fn a_method_can_have_dynamic_parameters() {
    let tools = Desk { rooms: vec![7, 8] }.toolset();
    assert_eq!(call(&tools, "book_room", json!({ "room": 7, "nights": 2 })), Ok(json!("7 of 2 for 2")));
    let feedback = call(&tools, "book_room", json!({ "room": 9, "nights": 2 })).unwrap_err();
    assert_eq!(feedback["validationResults"]["room"]["allowedValues"], json!([7, 8]));
    let feedback = call(&tools, "book_room", json!({})).unwrap_err();
    assert_eq!(feedback["validationResults"]["nights"]["problems"], json!(["how many in [7, 8]?"]));
    assert_eq!(feedback["validationResults"]["room"]["requiresValidParameters"], json!(["nights"]));
}

/// A struct of validators that several tools share.
struct Rooms(Vec<u16>);

impl Rooms {
    fn validate(&self, value: Option<u16>, nights: u8) -> Validation<u16> {
        match value.filter(|room| self.0.contains(room) && nights < 9) {
            Some(room) => Validation::accept(room),
            None => Validation::reject("no such room").allowed(&self.0),
        }
    }

    async fn validate_later(&self, value: Option<u16>) -> Result<Validation<u16>, Failure> {
        futures_util::future::ready(()).await;
        Ok(self.validate(value, 1))
    }
}

/// Reserves a room.
#[tool]
fn reserve(
    #[dynamic(validate = |value, known| known.rooms.validate(value, *known.nights), requires(nights))] room: u16,
    nights: u8,
    #[state] rooms: &Rooms,
) -> String {
    format!("{room} of {} for {nights}", rooms.0.len())
}

/// Cleans a room.
#[tool(state = Rooms)]
struct Clean {
    #[dynamic(validate = |value: Option<u16>, known| known.state().validate_later(value))]
    room: u16,
}

impl ExecuteWith<Rooms> for Clean {
    type Output = u16;
    type Error = Infallible;

    async fn execute(self, _: &Rooms, _: &Context) -> Result<u16, Infallible> {
        Ok(self.room)
    }
}

#[test]
fn tools_share_a_validator() {
    let tools = toolset!(Rooms(vec![7, 8]); reserve, Clean);
    assert_eq!(call(&tools, "reserve", json!({ "room": 7, "nights": 2 })), Ok(json!("7 of 2 for 2")));
    assert_eq!(call(&tools, "Clean", json!({ "room": 8 })), Ok(json!(8)));
    for (name, given) in [("reserve", json!({ "room": 7, "nights": 9 })), ("Clean", json!({ "room": 9 }))] {
        let feedback = call(&tools, name, given).unwrap_err();
        assert_eq!(feedback["validationResults"]["room"]["allowedValues"], json!([7, 8]));
    }
}

/// A place that a validator looks up, and that cannot be cloned.
#[derive(Debug)]
struct Place {
    zone: u8,
}

/// Sends a parcel.
#[tool]
async fn send_parcel(
    #[derived] weight: String,
    #[dynamic(validate = place, derives(origin: Place))] from: String,
    #[dynamic(validate = Place::validate, requires(from), derives(target: Place))] to: String,
    #[dynamic(validate = grams, requires(from, to), derives(weight: String))] grams: u32,
    #[state] scale: &u32,
    #[derived] target: Place,
) -> String {
    format!("{weight} from {from} to {to} in zone {}, {grams} of {scale}", target.zone)
}

fn place<C>(value: Option<String>, _: C) -> Validation<String, Place> {
    match value {
        Some(name) if name == "Rome" || name == "Roma" => {
            Validation::accept("Roma".to_owned()).derive(Place { zone: 2 })
        }
        _ => Validation::reject("no such place").derive(Place { zone: 0 }),
    }
}

impl Place {
    async fn validate(value: Option<String>, known: SendParcelTo<'_>) -> Result<Validation<String, Self>, Failure> {
        futures_util::future::ready(()).await;
        let zone = known.origin.zone + 1;
        Ok(match value {
            Some(name) if name != *known.from => Validation::accept(name).derive(Self { zone }),
            _ => Validation::reject(format!("stay in zone {zone}?")),
        })
    }
}

fn grams(value: Option<u32>, known: SendParcelGrams<'_>) -> Validation<u32, String> {
    let most = known.scale * u32::from(known.target.zone + known.origin.zone);
    match value.filter(|grams| *grams <= most) {
        Some(grams) => Validation::accept(grams).derive(format!("{} kg", grams / 1000)),
        None => Validation::reject(format!("at most {most} g")),
    }
}

#[test]
fn derived_data_reaches_validators_and_the_tool() {
    let tools = toolset!(1000_u32; send_parcel);
    let shown = tools.get("send_parcel").unwrap().spec().input.neutral().to_string();
    assert!(!shown.contains("weight") && !shown.contains("origin"), "{shown}");
    let feedback = call(&tools, "send_parcel", json!({ "from": "Rome", "to": "Roma" })).unwrap_err();
    assert_eq!(feedback["validationResults"]["to"]["problems"], json!(["stay in zone 3?"]));
    let feedback = call(&tools, "send_parcel", json!({ "from": "Rome", "to": "Oslo", "grams": 5001 })).unwrap_err();
    assert_eq!(feedback["validationResults"]["grams"]["problems"], json!(["at most 5000 g"]));
    let feedback = call(&tools, "send_parcel", json!({ "from": "Mars", "to": "Oslo", "grams": 1 })).unwrap_err();
    assert_eq!(feedback["validationResults"]["to"]["requiresValidParameters"], json!(["from"]));
    let sent = call(&tools, "send_parcel", json!({ "from": "Rome", "to": "Oslo", "grams": 4000 }));
    assert_eq!(sent, Ok(json!("4 kg from Roma to Oslo in zone 3, 4000 of 1000")));
}

/// A leg of a journey.
#[derive(DynamicInput)]
struct Leg {
    #[dynamic(validate = place, derives(place: Place))]
    start: String,
    #[dynamic(validate = |value, known| leg_end(value, known.place), requires(start))]
    end: u8,
}

fn leg_end(value: Option<u8>, place: &Place) -> Validation<u8> {
    match value.filter(|end| *end > place.zone) {
        Some(end) => Validation::accept(end),
        None => Validation::reject(format!("beyond {}", place.zone)),
    }
}

/// Travels.
#[tool]
fn travel(#[dynamic(nested)] leg: Leg) -> String {
    format!("{} {}", leg.start, leg.end)
}

#[test]
fn fields_of_nested_inputs_derive_data() {
    let tools = toolset!(travel);
    assert_eq!(call(&tools, "travel", json!({ "leg": { "start": "Rome", "end": 3 } })), Ok(json!("Roma 3")));
    let feedback = call(&tools, "travel", json!({ "leg": { "start": "Rome", "end": 2 } })).unwrap_err();
    assert_eq!(feedback["validationResults"]["leg.end"]["problems"], json!(["beyond 2"]));
}
