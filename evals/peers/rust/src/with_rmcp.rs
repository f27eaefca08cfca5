//! The tools, as users of rmcp declare them.

use rmcp::{
    ServerHandler, ServiceExt, handler::server::wrapper::Parameters, model::CallToolRequestParams, schemars, tool,
    tool_handler, tool_router,
};
use serde_json::json;

use crate::{
    Answer, Case, ran, take_ran,
    types::{Channel, Diet, ImageFormat, Order, Place, Priority, Seat, Size, Span, Temperature, Tone, Vehicle},
};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct BookTrain {
    /// The station of departure.
    origin: String,
    /// The station of arrival.
    destination: String,
    /// The number of seats.
    #[schemars(range(min = 1, max = 9))]
    seats: i64,
    /// The class of the seats.
    class: Option<Seat>,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Weather {
    /// The city.
    city: String,
    /// The unit.
    unit: Temperature,
    /// The number of days.
    #[schemars(range(min = 1, max = 14))]
    days: Option<i64>,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct SendMessage {
    /// The names of the people.
    recipients: Vec<String>,
    /// The text.
    body: String,
    /// The way in which it is sent.
    channel: Channel,
    /// Set to send it at once.
    urgent: Option<bool>,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct ResizeImage {
    /// The name of the image.
    image: String,
    /// The width in pixels.
    #[schemars(range(min = 1, max = 8000))]
    width: i64,
    /// The height in pixels.
    #[schemars(range(min = 1, max = 8000))]
    height: i64,
    /// The format.
    format: Option<ImageFormat>,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct SearchRecipes {
    /// The ingredients at hand.
    ingredients: Vec<String>,
    /// The diets that the recipe respects.
    diets: Option<Vec<Diet>>,
    /// The longest time in minutes.
    #[schemars(range(min = 5, max = 600))]
    minutes: Option<i64>,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct OpenTicket {
    /// The title.
    title: String,
    /// The urgency.
    priority: Priority,
    /// The labels.
    labels: Option<Vec<String>>,
    /// Set to inform the team.
    notify: bool,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Transfer {
    /// The account that pays.
    from_account: String,
    /// The account that receives.
    to_account: String,
    /// The amount.
    amount: f64,
    /// A remark.
    memo: Option<String>,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct PlanRoute {
    /// The start.
    start: Place,
    /// The goal.
    goal: Place,
    /// The means of transport.
    vehicle: Vehicle,
    /// The places on the way.
    stops: Option<Vec<String>>,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct RateFilm {
    /// The title of the film.
    film: String,
    /// The number of stars.
    #[schemars(range(min = 1, max = 5))]
    stars: i64,
    /// A review.
    review: Option<String>,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct SetAlarm {
    /// The hour.
    #[schemars(range(min = 0, max = 23))]
    hour: i64,
    /// The minute.
    #[schemars(range(min = 0, max = 59))]
    minute: i64,
    /// Set to repeat it each day.
    repeat: bool,
    /// A name for it.
    label: Option<String>,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct OrderPizza {
    /// The size.
    size: Size,
    /// The toppings.
    toppings: Vec<String>,
    /// The place of delivery.
    address: Place,
    /// The tip.
    tip: Option<f64>,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct ConvertUnits {
    /// The quantity.
    quantity: f64,
    /// The present unit.
    source: Temperature,
    /// The unit of the result.
    target: Temperature,
    /// The number of decimals.
    #[schemars(range(min = 0, max = 9))]
    decimals: Option<i64>,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct ListFiles {
    /// The folder.
    folder: String,
    /// The order.
    order: Order,
    /// Set to list inner folders.
    recursive: Option<bool>,
    /// The largest number of files.
    #[schemars(range(min = 1, max = 1000))]
    limit: Option<i64>,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Translate {
    /// The text.
    text: String,
    /// The language of the result.
    language: String,
    /// The tone of voice.
    tone: Tone,
    /// The words that stay.
    keep: Option<Vec<String>>,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct ReserveRoom {
    /// The name of the room.
    room: String,
    /// The time.
    time: Span,
    /// The number of guests.
    #[schemars(range(min = 1, max = 200))]
    guests: i64,
    /// The equipment.
    equipment: Option<Vec<String>>,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct RunReport {
    /// The subject.
    subject: String,
    /// The years that it covers.
    years: Vec<i64>,
    /// The limit from which values count.
    threshold: Option<f64>,
    /// Set to add charts.
    charts: bool,
}

#[derive(Clone)]
struct Server;

#[tool_router]
impl Server {
    #[tool(description = "Books seats on a train.")]
    async fn book_train(
        &self,
        Parameters(BookTrain { origin, destination, seats, class }): Parameters<BookTrain>,
    ) -> String {
        ran(json!({ "origin": origin, "destination": destination, "seats": seats, "class": class }))
    }

    #[tool(description = "Returns the weather.")]
    async fn weather(&self, Parameters(Weather { city, unit, days }): Parameters<Weather>) -> String {
        ran(json!({ "city": city, "unit": unit, "days": days }))
    }

    #[tool(description = "Sends a message to people.")]
    async fn send_message(
        &self,
        Parameters(SendMessage { recipients, body, channel, urgent }): Parameters<SendMessage>,
    ) -> String {
        ran(json!({ "recipients": recipients, "body": body, "channel": channel, "urgent": urgent }))
    }

    #[tool(description = "Changes the size of an image.")]
    async fn resize_image(
        &self,
        Parameters(ResizeImage { image, width, height, format }): Parameters<ResizeImage>,
    ) -> String {
        ran(json!({ "image": image, "width": width, "height": height, "format": format }))
    }

    #[tool(description = "Searches recipes.")]
    async fn search_recipes(
        &self,
        Parameters(SearchRecipes { ingredients, diets, minutes }): Parameters<SearchRecipes>,
    ) -> String {
        ran(json!({ "ingredients": ingredients, "diets": diets, "minutes": minutes }))
    }

    #[tool(description = "Opens a ticket.")]
    async fn open_ticket(
        &self,
        Parameters(OpenTicket { title, priority, labels, notify }): Parameters<OpenTicket>,
    ) -> String {
        ran(json!({ "title": title, "priority": priority, "labels": labels, "notify": notify }))
    }

    #[tool(description = "Transfers money.")]
    async fn transfer(
        &self,
        Parameters(Transfer { from_account, to_account, amount, memo }): Parameters<Transfer>,
    ) -> String {
        ran(json!({ "from_account": from_account, "to_account": to_account, "amount": amount, "memo": memo }))
    }

    #[tool(description = "Plans a route.")]
    async fn plan_route(&self, Parameters(PlanRoute { start, goal, vehicle, stops }): Parameters<PlanRoute>) -> String {
        ran(json!({ "start": start, "goal": goal, "vehicle": vehicle, "stops": stops }))
    }

    #[tool(description = "Rates a film.")]
    async fn rate_film(&self, Parameters(RateFilm { film, stars, review }): Parameters<RateFilm>) -> String {
        ran(json!({ "film": film, "stars": stars, "review": review }))
    }

    #[tool(description = "Sets an alarm.")]
    async fn set_alarm(&self, Parameters(SetAlarm { hour, minute, repeat, label }): Parameters<SetAlarm>) -> String {
        ran(json!({ "hour": hour, "minute": minute, "repeat": repeat, "label": label }))
    }

    #[tool(description = "Orders a pizza.")]
    async fn order_pizza(
        &self,
        Parameters(OrderPizza { size, toppings, address, tip }): Parameters<OrderPizza>,
    ) -> String {
        ran(json!({ "size": size, "toppings": toppings, "address": address, "tip": tip }))
    }

    #[tool(description = "Converts a quantity.")]
    async fn convert_units(
        &self,
        Parameters(ConvertUnits { quantity, source, target, decimals }): Parameters<ConvertUnits>,
    ) -> String {
        ran(json!({ "quantity": quantity, "source": source, "target": target, "decimals": decimals }))
    }

    #[tool(description = "Lists files.")]
    async fn list_files(
        &self,
        Parameters(ListFiles { folder, order, recursive, limit }): Parameters<ListFiles>,
    ) -> String {
        ran(json!({ "folder": folder, "order": order, "recursive": recursive, "limit": limit }))
    }

    #[tool(description = "Translates a text.")]
    async fn translate(&self, Parameters(Translate { text, language, tone, keep }): Parameters<Translate>) -> String {
        ran(json!({ "text": text, "language": language, "tone": tone, "keep": keep }))
    }

    #[tool(description = "Reserves a room.")]
    async fn reserve_room(
        &self,
        Parameters(ReserveRoom { room, time, guests, equipment }): Parameters<ReserveRoom>,
    ) -> String {
        ran(json!({ "room": room, "time": time, "guests": guests, "equipment": equipment }))
    }

    #[tool(description = "Makes a report.")]
    async fn run_report(
        &self,
        Parameters(RunReport { subject, years, threshold, charts }): Parameters<RunReport>,
    ) -> String {
        ran(json!({ "subject": subject, "years": years, "threshold": threshold, "charts": charts }))
    }
}

#[tool_handler]
impl ServerHandler for Server {}

/// Returns what a client of a server with these tools receives for each case: its model reads that.
pub async fn answers(cases: &[Case]) -> Vec<Answer> {
    let (near, far) = tokio::io::duplex(1 << 16);
    let serving = tokio::spawn(async move { Server.serve(far).await.expect("it serves").waiting().await });
    let client = ().serve(near).await.expect("it connects");
    let mut answers = Vec::new();
    for case in cases {
        let call = CallToolRequestParams::new(case.tool.clone()).with_arguments(case.sent.clone());
        let answer = match client.call_tool(call).await {
            Ok(result) => {
                let texts: Vec<&str> =
                    result.content.iter().filter_map(|part| part.as_text()).map(|text| text.text.as_str()).collect();
                texts.join("\n")
            }
            Err(error) => error.to_string(),
        };
        answers.push(Answer { case: case.id, ran: take_ran(), answer });
    }
    client.cancel().await.expect("it ends");
    serving.await.expect("it ran").expect("it ends");
    answers
}
