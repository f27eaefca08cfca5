"""The tools of src/tools.rs, as users of PydanticAI and of the OpenAI Agents SDK declare them."""

from typing import Annotated, Literal

from pydantic import BaseModel, Field
from pydantic_core import to_jsonable_python

Temperature = Literal["celsius", "fahrenheit", "kelvin"]
Diet = Literal["vegan", "vegetarian", "halal", "kosher", "gluten_free"]


class Place(BaseModel):
    """A place."""

    city: Annotated[str, Field(description="The city.")]
    street: Annotated[str, Field(description="The street.")]


class Span(BaseModel):
    """Some time."""

    first: Annotated[int, Field(description="The first day of the month.")]
    days: Annotated[int, Field(description="The number of days.")]


# The arguments of the call that ran last.
RAN: list[dict] = []


def ran(arguments: dict) -> str:
    """Notes that a tool ran."""
    RAN.append(to_jsonable_python(arguments))
    return "done"


def book_train(
    origin: Annotated[str, Field(description="The station of departure.")],
    destination: Annotated[str, Field(description="The station of arrival.")],
    seats: Annotated[int, Field(description="The number of seats.", ge=1, le=9)],
    # `class` is a word of Python, so the parameter has an alias.
    class_: Annotated[
        Literal["first", "second", "sleeper"] | None, Field(alias="class", description="The class of the seats.")
    ] = None,
) -> str:
    """Books seats on a train."""
    return ran({"origin": origin, "destination": destination, "seats": seats, "class": class_})


def weather(
    city: Annotated[str, Field(description="The city.")],
    unit: Annotated[Temperature, Field(description="The unit.")],
    days: Annotated[int | None, Field(description="The number of days.", ge=1, le=14)] = None,
) -> str:
    """Returns the weather."""
    return ran(locals())


def send_message(
    recipients: Annotated[list[str], Field(description="The names of the people.")],
    body: Annotated[str, Field(description="The text.")],
    channel: Annotated[
        Literal["email", "text_message", "letter", "telephone"], Field(description="The way in which it is sent.")
    ],
    urgent: Annotated[bool | None, Field(description="Set to send it at once.")] = None,
) -> str:
    """Sends a message to people."""
    return ran(locals())


def resize_image(
    image: Annotated[str, Field(description="The name of the image.")],
    width: Annotated[int, Field(description="The width in pixels.", ge=1, le=8000)],
    height: Annotated[int, Field(description="The height in pixels.", ge=1, le=8000)],
    format: Annotated[Literal["png", "jpeg", "webp", "avif"] | None, Field(description="The format.")] = None,
) -> str:
    """Changes the size of an image."""
    return ran(locals())


def search_recipes(
    ingredients: Annotated[list[str], Field(description="The ingredients at hand.")],
    diets: Annotated[list[Diet] | None, Field(description="The diets that the recipe respects.")] = None,
    minutes: Annotated[int | None, Field(description="The longest time in minutes.", ge=5, le=600)] = None,
) -> str:
    """Searches recipes."""
    return ran(locals())


def open_ticket(
    title: Annotated[str, Field(description="The title.")],
    priority: Annotated[Literal["low", "normal", "high", "critical"], Field(description="The urgency.")],
    notify: Annotated[bool, Field(description="Set to inform the team.")],
    labels: Annotated[list[str] | None, Field(description="The labels.")] = None,
) -> str:
    """Opens a ticket."""
    return ran(locals())


def transfer(
    from_account: Annotated[str, Field(description="The account that pays.")],
    to_account: Annotated[str, Field(description="The account that receives.")],
    amount: Annotated[float, Field(description="The amount.")],
    memo: Annotated[str | None, Field(description="A remark.")] = None,
) -> str:
    """Transfers money."""
    return ran(locals())


def plan_route(
    start: Annotated[Place, Field(description="The start.")],
    goal: Annotated[Place, Field(description="The goal.")],
    vehicle: Annotated[
        Literal["bicycle", "train", "tram", "ferry", "on_foot"], Field(description="The means of transport.")
    ],
    stops: Annotated[list[str] | None, Field(description="The places on the way.")] = None,
) -> str:
    """Plans a route."""
    return ran(locals())


def rate_film(
    film: Annotated[str, Field(description="The title of the film.")],
    stars: Annotated[int, Field(description="The number of stars.", ge=1, le=5)],
    review: Annotated[str | None, Field(description="A review.")] = None,
) -> str:
    """Rates a film."""
    return ran(locals())


def set_alarm(
    hour: Annotated[int, Field(description="The hour.", ge=0, le=23)],
    minute: Annotated[int, Field(description="The minute.", ge=0, le=59)],
    repeat: Annotated[bool, Field(description="Set to repeat it each day.")],
    label: Annotated[str | None, Field(description="A name for it.")] = None,
) -> str:
    """Sets an alarm."""
    return ran(locals())


def order_pizza(
    size: Annotated[Literal["small", "medium", "large"], Field(description="The size.")],
    toppings: Annotated[list[str], Field(description="The toppings.")],
    address: Annotated[Place, Field(description="The place of delivery.")],
    tip: Annotated[float | None, Field(description="The tip.")] = None,
) -> str:
    """Orders a pizza."""
    return ran(locals())


def convert_units(
    quantity: Annotated[float, Field(description="The quantity.")],
    source: Annotated[Temperature, Field(description="The present unit.")],
    target: Annotated[Temperature, Field(description="The unit of the result.")],
    decimals: Annotated[int | None, Field(description="The number of decimals.", ge=0, le=9)] = None,
) -> str:
    """Converts a quantity."""
    return ran(locals())


def list_files(
    folder: Annotated[str, Field(description="The folder.")],
    order: Annotated[Literal["name", "modified", "bytes"], Field(description="The order.")],
    recursive: Annotated[bool | None, Field(description="Set to list inner folders.")] = None,
    limit: Annotated[int | None, Field(description="The largest number of files.", ge=1, le=1000)] = None,
) -> str:
    """Lists files."""
    return ran(locals())


def translate(
    text: Annotated[str, Field(description="The text.")],
    language: Annotated[str, Field(description="The language of the result.")],
    tone: Annotated[Literal["formal", "friendly", "neutral"], Field(description="The tone of voice.")],
    keep: Annotated[list[str] | None, Field(description="The words that stay.")] = None,
) -> str:
    """Translates a text."""
    return ran(locals())


def reserve_room(
    room: Annotated[str, Field(description="The name of the room.")],
    time: Annotated[Span, Field(description="The time.")],
    guests: Annotated[int, Field(description="The number of guests.", ge=1, le=200)],
    equipment: Annotated[list[str] | None, Field(description="The equipment.")] = None,
) -> str:
    """Reserves a room."""
    return ran(locals())


def run_report(
    subject: Annotated[str, Field(description="The subject.")],
    years: Annotated[list[int], Field(description="The years that it covers.")],
    charts: Annotated[bool, Field(description="Set to add charts.")],
    threshold: Annotated[float | None, Field(description="The limit from which values count.")] = None,
) -> str:
    """Makes a report."""
    return ran(locals())


TOOLS = [
    book_train,
    weather,
    send_message,
    resize_image,
    search_recipes,
    open_ticket,
    transfer,
    plan_route,
    rate_film,
    set_alarm,
    order_pizza,
    convert_units,
    list_files,
    translate,
    reserve_room,
    run_report,
]
