//! The tools, as users of rig declare them.

use rig_agent::{
    AgentBuilder,
    test_utils::{MockCompletionModel, MockTurn},
};
use rig_core::{rig_tool, tool::ToolExecutionError};
use serde_json::json;

use crate::{
    Answer, Case, ran, take_ran,
    types::{Channel, Diet, ImageFormat, Order, Place, Priority, Seat, Size, Span, Temperature, Tone, Vehicle},
};

/// Books seats on a train.
#[rig_tool(
    params(
        origin = "The station of departure.",
        destination = "The station of arrival.",
        seats = "The number of seats, from 1 to 9.",
        class = "The class of the seats."
    ),
    required(origin, destination, seats)
)]
async fn book_train(
    origin: String,
    destination: String,
    seats: i64,
    class: Option<Seat>,
) -> Result<String, ToolExecutionError> {
    Ok(ran(json!({ "origin": origin, "destination": destination, "seats": seats, "class": class })))
}

/// Returns the weather.
#[rig_tool(
    params(city = "The city.", unit = "The unit.", days = "The number of days, from 1 to 14."),
    required(city, unit)
)]
async fn weather(city: String, unit: Temperature, days: Option<i64>) -> Result<String, ToolExecutionError> {
    Ok(ran(json!({ "city": city, "unit": unit, "days": days })))
}

/// Sends a message to people.
#[rig_tool(
    params(
        recipients = "The names of the people.",
        body = "The text.",
        channel = "The way in which it is sent.",
        urgent = "Set to send it at once."
    ),
    required(recipients, body, channel)
)]
async fn send_message(
    recipients: Vec<String>,
    body: String,
    channel: Channel,
    urgent: Option<bool>,
) -> Result<String, ToolExecutionError> {
    Ok(ran(json!({ "recipients": recipients, "body": body, "channel": channel, "urgent": urgent })))
}

/// Changes the size of an image.
#[rig_tool(
    params(
        image = "The name of the image.",
        width = "The width in pixels, from 1 to 8000.",
        height = "The height in pixels, from 1 to 8000.",
        format = "The format."
    ),
    required(image, width, height)
)]
async fn resize_image(
    image: String,
    width: i64,
    height: i64,
    format: Option<ImageFormat>,
) -> Result<String, ToolExecutionError> {
    Ok(ran(json!({ "image": image, "width": width, "height": height, "format": format })))
}

/// Searches recipes.
#[rig_tool(
    params(
        ingredients = "The ingredients at hand.",
        diets = "The diets that the recipe respects.",
        minutes = "The longest time in minutes, from 5 to 600."
    ),
    required(ingredients)
)]
async fn search_recipes(
    ingredients: Vec<String>,
    diets: Option<Vec<Diet>>,
    minutes: Option<i64>,
) -> Result<String, ToolExecutionError> {
    Ok(ran(json!({ "ingredients": ingredients, "diets": diets, "minutes": minutes })))
}

/// Opens a ticket.
#[rig_tool(
    params(
        title = "The title.",
        priority = "The urgency.",
        labels = "The labels.",
        notify = "Set to inform the team."
    ),
    required(title, priority, notify)
)]
async fn open_ticket(
    title: String,
    priority: Priority,
    labels: Option<Vec<String>>,
    notify: bool,
) -> Result<String, ToolExecutionError> {
    Ok(ran(json!({ "title": title, "priority": priority, "labels": labels, "notify": notify })))
}

/// Transfers money.
#[rig_tool(
    params(
        from_account = "The account that pays.",
        to_account = "The account that receives.",
        amount = "The amount.",
        memo = "A remark."
    ),
    required(from_account, to_account, amount)
)]
async fn transfer(
    from_account: String,
    to_account: String,
    amount: f64,
    memo: Option<String>,
) -> Result<String, ToolExecutionError> {
    Ok(ran(json!({ "from_account": from_account, "to_account": to_account, "amount": amount, "memo": memo })))
}

/// Plans a route.
#[rig_tool(
    params(
        start = "The start.",
        goal = "The goal.",
        vehicle = "The means of transport.",
        stops = "The places on the way."
    ),
    required(start, goal, vehicle)
)]
async fn plan_route(
    start: Place,
    goal: Place,
    vehicle: Vehicle,
    stops: Option<Vec<String>>,
) -> Result<String, ToolExecutionError> {
    Ok(ran(json!({ "start": start, "goal": goal, "vehicle": vehicle, "stops": stops })))
}

/// Rates a film.
#[rig_tool(
    params(film = "The title of the film.", stars = "The number of stars, from 1 to 5.", review = "A review."),
    required(film, stars)
)]
async fn rate_film(film: String, stars: i64, review: Option<String>) -> Result<String, ToolExecutionError> {
    Ok(ran(json!({ "film": film, "stars": stars, "review": review })))
}

/// Sets an alarm.
#[rig_tool(
    params(
        hour = "The hour, from 0 to 23.",
        minute = "The minute, from 0 to 59.",
        repeat = "Set to repeat it each day.",
        label = "A name for it."
    ),
    required(hour, minute, repeat)
)]
async fn set_alarm(hour: i64, minute: i64, repeat: bool, label: Option<String>) -> Result<String, ToolExecutionError> {
    Ok(ran(json!({ "hour": hour, "minute": minute, "repeat": repeat, "label": label })))
}

/// Orders a pizza.
#[rig_tool(
    params(size = "The size.", toppings = "The toppings.", address = "The place of delivery.", tip = "The tip."),
    required(size, toppings, address)
)]
async fn order_pizza(
    size: Size,
    toppings: Vec<String>,
    address: Place,
    tip: Option<f64>,
) -> Result<String, ToolExecutionError> {
    Ok(ran(json!({ "size": size, "toppings": toppings, "address": address, "tip": tip })))
}

/// Converts a quantity.
#[rig_tool(
    params(
        quantity = "The quantity.",
        source = "The present unit.",
        target = "The unit of the result.",
        decimals = "The number of decimals, from 0 to 9."
    ),
    required(quantity, source, target)
)]
async fn convert_units(
    quantity: f64,
    source: Temperature,
    target: Temperature,
    decimals: Option<i64>,
) -> Result<String, ToolExecutionError> {
    Ok(ran(json!({ "quantity": quantity, "source": source, "target": target, "decimals": decimals })))
}

/// Lists files.
#[rig_tool(
    params(
        folder = "The folder.",
        order = "The order.",
        recursive = "Set to list inner folders.",
        limit = "The largest number of files, from 1 to 1000."
    ),
    required(folder, order)
)]
async fn list_files(
    folder: String,
    order: Order,
    recursive: Option<bool>,
    limit: Option<i64>,
) -> Result<String, ToolExecutionError> {
    Ok(ran(json!({ "folder": folder, "order": order, "recursive": recursive, "limit": limit })))
}

/// Translates a text.
#[rig_tool(
    params(
        text = "The text.",
        language = "The language of the result.",
        tone = "The tone of voice.",
        keep = "The words that stay."
    ),
    required(text, language, tone)
)]
async fn translate(
    text: String,
    language: String,
    tone: Tone,
    keep: Option<Vec<String>>,
) -> Result<String, ToolExecutionError> {
    Ok(ran(json!({ "text": text, "language": language, "tone": tone, "keep": keep })))
}

/// Reserves a room.
#[rig_tool(
    params(
        room = "The name of the room.",
        time = "The time.",
        guests = "The number of guests, from 1 to 200.",
        equipment = "The equipment."
    ),
    required(room, time, guests)
)]
async fn reserve_room(
    room: String,
    time: Span,
    guests: i64,
    equipment: Option<Vec<String>>,
) -> Result<String, ToolExecutionError> {
    Ok(ran(json!({ "room": room, "time": time, "guests": guests, "equipment": equipment })))
}

/// Makes a report.
#[rig_tool(
    params(
        subject = "The subject.",
        years = "The years that it covers.",
        threshold = "The limit from which values count.",
        charts = "Set to add charts."
    ),
    required(subject, years, charts)
)]
async fn run_report(
    subject: String,
    years: Vec<i64>,
    threshold: Option<f64>,
    charts: bool,
) -> Result<String, ToolExecutionError> {
    Ok(ran(json!({ "subject": subject, "years": years, "threshold": threshold, "charts": charts })))
}

/// Returns what the model of an agent with these tools receives for each case.
pub async fn answers(cases: &[Case]) -> Vec<Answer> {
    let mut answers = Vec::new();
    for case in cases {
        let call = MockTurn::tool_call("call_1", case.tool.clone(), case.sent.clone().into());
        let model = MockCompletionModel::from_turns([call, MockTurn::text("done")]);
        let agent = AgentBuilder::new(model.clone())
            .tool(BookTrain)
            .tool(Weather)
            .tool(SendMessage)
            .tool(ResizeImage)
            .tool(SearchRecipes)
            .tool(OpenTicket)
            .tool(Transfer)
            .tool(PlanRoute)
            .tool(RateFilm)
            .tool(SetAlarm)
            .tool(OrderPizza)
            .tool(ConvertUnits)
            .tool(ListFiles)
            .tool(Translate)
            .tool(ReserveRoom)
            .tool(RunReport)
            .default_max_turns(2)
            .build();
        agent.prompt("Do it.").await.expect("it ends");
        // The second request ends with the result of the call.
        let asked = json!(model.requests());
        let result = asked[1]["chat_history"].as_array().and_then(|messages| messages.last());
        let parts = result.and_then(|message| message["content"][0]["content"].as_array()).expect("a result");
        let texts: Vec<&str> = parts.iter().filter_map(|part| part["text"].as_str()).collect();
        answers.push(Answer { case: case.id, ran: take_ran(), answer: texts.join("\n") });
    }
    answers
}
