//! A search behind two layers: one rejects evil queries, and one removes secrets from results. It prints the JSON that a model
//! would receive. The search reverses the query, so `1terces` makes it return the secret `secret1`. The layers:
//! `examples/shared/src/middleware`.
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

use std::{
    io::{self, Write},
    sync::Arc,
};

use example_shared::middleware;
use serde_json::json;
use tool_runtime::{Context, Toolset, feedback::escape};

#[tokio::main(flavor = "current_thread")]
async fn main() -> io::Result<()> {
    let search = middleware::filtered(examples::model_or(middleware::rules()));
    let tools = Toolset::of(vec![Arc::clone(&search)]).map_err(io::Error::other)?;
    loop {
        print!("Enter a query: ");
        io::stdout().flush()?;
        let mut query = String::new();
        // Nothing else runs here that a blocking read could keep waiting.
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
