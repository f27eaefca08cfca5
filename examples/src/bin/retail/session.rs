//! A conversation with the shop's agent.

use std::{io, sync::Arc};

use tool_runtime::Agent;
use tool_terminal::Terminal;

use crate::store::{Database, Store};
use crate::tools;

const INSTRUCTIONS: &str = "\
You are the support desk of an online shop. Help one customer with profile, orders and products.
First find the customer's user id by email, or by name and zip code, even if they tell you their id.
Pending orders can be cancelled or changed; delivered orders can be returned or exchanged; nothing else can.
Changing or exchanging items works once per order, so collect all items first.
Make one call at a time, never invent anything, and hand over to a human only what the tools cannot do.";

/// Holds a conversation over `database`.
pub(crate) async fn start(database: Database) -> io::Result<()> {
    let store = Arc::new(Store::new(Arc::new(database)));
    let greeting = format!(
        "The support desk of a shop with {} product types. For example: get user details of aarav_anderson_8794, \
         or: list all product types",
        store.products().count()
    );
    let agent = Agent::new(examples::model()).tools(tools::of(store)).instructions(INSTRUCTIONS);
    Terminal::new().chat(agent, &greeting).await
}
