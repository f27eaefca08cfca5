//! A search behind three layers: one rejects evil queries, one withholds a result with a secret, and one shows failures as
//! problems. It prints each answer as JSON, as programs read it. The search reverses the query, so `1terces` makes it return the
//! secret `secret1`. The layers are in `layers.rs`.
//!
//! `printf '%s\n' hello satan 1terces | cargo run -q -p examples --bin middleware` prints:
//!
//! ```text
//! Enter a query: {
//!   "ok": true,
//!   "results": [
//!     "Query reversed: olleh"
//!   ]
//! }
//! Enter a query: {
//!   "ok": false,
//!   "validationResults": {
//!     "query": {
//!       "valid": false,
//!       "problems": [
//!         "the query you provided is evil which is not allowed"
//!       ]
//!     }
//!   }
//! }
//! Enter a query: {
//!   "ok": false,
//!   "problems": [
//!     "the output contains a secret which is not allowed"
//!   ]
//! }
//! Enter a query:
//! ```

mod layers;

use std::{
    io::{self, Write},
    sync::Arc,
};

use serde_json::json;
use tool_runtime::{
    Context, Toolset,
    feedback::escape,
    message::{Message, Part},
    model::{FunctionModel, Model, Turn},
};

#[tokio::main(flavor = "current_thread")]
async fn main() -> io::Result<()> {
    let search = layers::filtered(examples::model_or(rules()));
    let tools = Toolset::of(vec![Arc::clone(&search)]).map_err(io::Error::other)?;
    loop {
        print!("Enter a query: ");
        io::stdout().flush()?;
        let mut query = String::new();
        // A blocking read is harmless here, because nothing else runs.
        if io::stdin().read_line(&mut query)? == 0 {
            println!();
            return Ok(());
        }
        let arguments = json!({ "query": query.trim_end_matches(['\r', '\n']) }).to_string();
        let result = tools.call("search", &arguments, &Context::new("search")).await;
        let answer = search.spec().answer(&result);
        println!("{}", escape(&serde_json::to_string_pretty(&answer)?));
    }
}

/// Returns a model that judges by a list of words. With it, the example needs no language model.
fn rules() -> impl Model {
    const EVIL: [&str; 12] = [
        "demon", "demons", "devil", "evil", "genocide", "hell", "murder", "satan", "slavery", "terror", "torture",
        "villain",
    ];
    FunctionModel::new(|request| {
        let asked = request.messages.iter().rev().find_map(|message| match message {
            Message::User { content } => content.iter().find_map(Part::as_text),
            _ => None,
        });
        // The text between the first and the last quote is the query, and may contain quotes.
        let query = asked.and_then(|text| text.split_once('"')?.1.rsplit_once('"')).map_or("", |(query, _)| query);
        let mut words = query.split(|c: char| !c.is_alphanumeric()).map(str::to_lowercase);
        Turn::call("final_answer", json!({ "isEvil": words.any(|word| EVIL.contains(&&*word)) }))
    })
}
