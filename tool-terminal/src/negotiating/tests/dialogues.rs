//! Whole dialogues: weather, flights, files.

use serde_json::json;

use super::{check, tool};
use tool_runtime::toolset::ToolList;

pub fn tools() -> ToolList {
    let weather = json!({"type": "object", "required": ["city"],
        "$defs": {"Unit": {"type": "string", "enum": ["celsius", "fahrenheit"]}},
        "properties": {
            "city": {"type": "string", "description": "The city name."},
            "unit": {"$ref": "#/$defs/Unit", "description": "Temperature unit.", "default": "celsius"}}});
    let flights = json!({"type": "object", "required": ["from", "to", "date", "passengers"], "properties": {
        "from": {"type": "string", "description": "Airport of departure."},
        "to": {"type": "string", "description": "Airport of arrival."},
        "date": {"type": "string", "format": "date", "description": "The day of the flight."},
        "passengers": {"type": "integer", "minimum": 1, "maximum": 9, "description": "How many people travel."}}});
    let delete = json!({"type": "object", "required": ["path"], "properties": {
        "path": {"type": "string", "minLength": 1, "maxLength": 4096, "description": "Path relative to the root."}}});
    ToolList::new(vec![
        tool("get_weather", "Get the current weather for a city. Never guesses.", weather),
        tool("search_flights", "Search flights between two airports.", flights),
        tool("delete_file", "Delete a file below the workspace root.", delete),
    ])
}

#[test]
fn from_a_greeting_to_a_result_and_on() {
    check(
        &tools(),
        r#"
        > hi
        This is what I can do:
        1. Get weather – Get the current weather for a city
        2. Search flights – Search flights between two airports
        3. Delete file – Delete a file below the workspace root
        Tell me what you need, or give a number.
        > 1
        Get weather. What is the city name?
        > Paris
        ! get_weather {"city":"Paris"}
        < {"city":"Paris","temperature":21.5}
        city:        Paris
        temperature: 21.5

        Anything else?
        > and in New York?
        ! get_weather {"city":"New York"}
        < {"ok":true,"value":"Rain."}
        Rain.

        Anything else?
        > again
        ! get_weather {"city":"New York"}
        < "Still rain."
        Still rain.

        Anything else?
        > thanks!
        You are welcome."#,
    );
}

#[test]
fn one_sentence_is_enough_where_it_says_all() {
    check(
        &tools(),
        r#"
        > What's the weather in Rio de Janeiro in Fahrenheit, please?
        ! get_weather {"city":"Rio de Janeiro","unit":"fahrenheit"}
        <! connection refused
        That did not work: connection refused.
        Shall I try again? (yes or no, or change something, such as “city: …”)
        > city: Lima
        ! get_weather {"city":"Lima","unit":"fahrenheit"}
        <! connection refused
        That did not work: connection refused.
        Shall I try again? (yes or no, or change something, such as “city: …”)
        > no
        All right, I have left that undone."#,
    );
}

#[test]
fn one_question_at_a_time() {
    check(
        &tools(),
        r#"
        > find flights from paris to Rome
        Search flights – from: paris, to: Rome. What is the day of the flight? (a date such as 2026-10-01)
        > tomorrow
        I have no calendar at hand, so please give a date such as 2026-10-01.
        What is the day of the flight? (a date such as 2026-10-01)
        > 1 October 2026
        Date: 2026-10-01. How many people travel? (from 1 to 9)
        > twelve
        That must be from 1 to 9. How many people travel? (from 1 to 9)
        > back
        What is the day of the flight? (a date such as 2026-10-01)
        > 2026-10-02 for two passengers
        ! search_flights {"from":"paris","to":"Rome","date":"2026-10-02","passengers":2}
        < [{"no":"AF1","price":120.5},{"no":"AZ33","price":99}]
        no    price
        -----------
        AF1   120.5
        AZ33     99

        Anything else?"#,
    );
}

#[test]
fn answers_can_be_corrected_at_any_time() {
    check(
        &tools(),
        r#"
        > flights to London for 2 passengers
        Search flights – passengers: 2, to: London. What is the airport of departure?
        > from berlin
        From: berlin. What is the day of the flight? (a date such as 2026-10-01)
        > change from to Munich
        From: Munich. What is the day of the flight? (a date such as 2026-10-01)
        > help
        Search flights – Search flights between two airports.
        So far: passengers: 2, to: London, from: Munich.
        Say “back” to take the last answer back, “cancel” to drop it, “name: value” to set something.
        What is the day of the flight? (a date such as 2026-10-01)
        > passengers: 4, date: 2026-10-01
        ! search_flights {"from":"Munich","to":"London","date":"2026-10-01","passengers":4}"#,
    );
}

#[test]
fn forms_can_be_dropped_and_changed_for_another() {
    check(
        &tools(),
        r#"
        > back
        There is nothing to take back.
        > delete a file
        Delete file. What is the path relative to the root?
        > back
        This is the first question; say “cancel” to drop it. What is the path relative to the root?
        > weather in Oslo
        Shall I drop “Delete file” and go to “Get weather”? (yes or no)
        > yes
        ! get_weather {"city":"Oslo"}
        < {}
        Done.

        Anything else?
        > delete a file
        Delete file. What is the path relative to the root?
        > weather in Oslo
        Shall I drop “Delete file” and go to “Get weather”? (yes or no)
        > no
        ! delete_file {"path":"weather in Oslo"}
        <! the call was denied, and did not run
        All right, I have left that undone.
        Anything else? (or change something, such as “path: …”)
        > delete a file
        Delete file. What is the path relative to the root?
        > never mind
        I have dropped “Delete file”. What else can I do for you?
        > delete a file
        Delete file. What is the path relative to the root?
        > yes
        Did you mean “yes” as path? (yes or no)
        > no
        All right. What is the path relative to the root?
        > "cancel"
        ! delete_file {"path":"cancel"}"#,
    );
}

#[test]
fn what_is_unclear_is_asked() {
    check(
        &tools(),
        r#"
        > play some jazz
        I am not sure what you mean.
        This is what I can do:
        1. Get weather – Get the current weather for a city
        2. Search flights – Search flights between two airports
        3. Delete file – Delete a file below the workspace root
        Tell me what you need, or give a number.
        > jazz
        I am not sure what you mean. Give a number, or say “help” for all I can do.
        > 7
        Which one? Please give a number from 1 to 3.
        > the third one
        Delete file. What is the path relative to the root?
        > cancel
        I have dropped “Delete file”. What else can I do for you?
        > what's the temperature in New York
        ! get_weather {"city":"New York"}
        < 12
        12

        Anything else?
        > remove the moon
        Do you mean this: Delete file – Delete a file below the workspace root? (yes or no)
        > no
        All right. What would you like instead?
        > get_weather: Berlin
        ! get_weather {"city":"Berlin"}"#,
    );
}

#[test]
fn what_failed_can_be_mended_in_few_words() {
    check(
        &tools(),
        r#"
        > search flights from Rome to Oslo on 2026-10-01 for 3 passengers
        ! search_flights {"from":"Rome","to":"Oslo","date":"2026-10-01","passengers":3}
        <! {"ok":false,"problems":["The server is busy."]}
        The server is busy.
        Shall I try again? (yes or no, or change something, such as “from: …”)
        > passengers 12
        Passengers must be from 1 to 9. Shall I try again? (yes or no, or change something, such as “from: …”)
        > 4 passengers
        ! search_flights {"from":"Rome","to":"Oslo","date":"2026-10-01","passengers":4}
        <! {"ok":false,"problems":["The server is busy."]}
        The server is busy.
        Shall I try again? (yes or no, or change something, such as “from: …”)
        > the date
        What is the day of the flight? (a date such as 2026-10-01)
        > 2026-10-02
        ! search_flights {"from":"Rome","to":"Oslo","date":"2026-10-02","passengers":4}
        <! timed out
        That did not work: timed out.
        Shall I try again? (yes or no, or change something, such as “from: …”)
        > to Bergen
        ! search_flights {"from":"Rome","to":"Bergen","date":"2026-10-02","passengers":4}
        <! timed out
        That did not work: timed out.
        Shall I try again? (yes or no, or change something, such as “from: …”)
        > weather in Rome
        ! get_weather {"city":"Rome"}"#,
    );
}

#[test]
fn optional_parameters_are_asked_when_they_are_named() {
    check(
        &tools(),
        r#"
        > weather with unit
        Get weather.
        Which temperature unit? (say “default” for celsius; or “skip”)
        1. celsius
        2. fahrenheit
        > kelvin
        “kelvin” is not on the list.
        Which temperature unit? (say “default” for celsius; or “skip”)
        1. celsius
        2. fahrenheit
        > celcius
        Did you mean “celsius” as unit? (yes or no)
        > f
        Unit: fahrenheit. What is the city name?
        > Paris with unit celsius
        ! get_weather {"city":"Paris","unit":"celsius"}"#,
    );
}
