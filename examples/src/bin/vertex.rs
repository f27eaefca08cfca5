//! A model of Anthropic on Google's Vertex AI, with tokens of the account that the machine has.
//!
//! `gcloud auth application-default login` signs a person in; a server in Google's cloud has an account of its own. Then
//! `VERTEX_PROJECT=my-project VERTEX_MODEL=claude-opus-5-5 cargo run -p examples --bin vertex --features vertex` prints a poem.
//! `VERTEX_LOCATION` is `global` if unset.

use std::{env, error::Error, sync::Arc};

use tool_models::{
    Anthropic,
    http::{BearerToken, Http},
};
use tool_runtime::Agent;

const SCOPES: [&str; 1] = ["https://www.googleapis.com/auth/cloud-platform"];

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let var = |name: &str| env::var(name).map_err(|_| format!("{name} is not set"));
    let (project, model) = (var("VERTEX_PROJECT")?, var("VERTEX_MODEL")?);
    let location = env::var("VERTEX_LOCATION").unwrap_or_else(|_| "global".to_owned());

    // Looks for an account: a key file, a login of `gcloud`, or the machine's own account.
    let account = gcp_auth::provider().await?;
    let http = Http::new().bearer_auth(move || {
        let account = Arc::clone(&account);
        async move {
            let token = account.token(&SCOPES).await?;
            Ok(BearerToken::new(token.as_str()).expires_at(token.expires_at().into()))
        }
    });
    let agent = Agent::new(Anthropic::new(model).vertex(project, location).http(http));
    println!("{}", agent.run("Write two lines about rain.").await?.text);
    Ok(())
}
