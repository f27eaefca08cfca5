//! Shows how frameworks for Rust handle a model's mistakes: `mistakes CASES`, where CASES is a list of arguments as JSON.

use serde_json::Value;

mod ours {
    use tool_runtime::{Context, tool, toolset};

    /// Search the shop.
    #[tool(effect = read_only)]
    fn search(
        /// Words to look for.
        query: String,
        /// Number of results.
        #[arg(range(1..=50))]
        limit: u32,
    ) -> String {
        format!("ran with {query}, {limit}")
    }

    pub async fn call(arguments: &str) -> String {
        match toolset!(search).call("search", arguments, &Context::new("call_1")).await {
            Ok(output) => output.text(),
            Err(error) => error.to_string(),
        }
    }
}

mod with_rmcp {
    use rmcp::{ServerHandler, ServiceExt, handler::server::wrapper::Parameters, model::CallToolRequestParams};
    use rmcp::{schemars, tool, tool_handler, tool_router};

    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct Search {
        /// Words to look for.
        query: String,
        /// Number of results.
        #[schemars(range(min = 1, max = 50))]
        limit: u32,
    }

    #[derive(Clone)]
    struct Server;

    #[tool_router]
    impl Server {
        #[tool(description = "Search the shop.")]
        async fn search(&self, Parameters(Search { query, limit }): Parameters<Search>) -> String {
            format!("ran with {query}, {limit}")
        }

        // It compiles, and this second tool runs. Our case is tests/ui/toolset/duplicate.rs.
        #[tool(name = "search", description = "Another tool of the same name.")]
        async fn other(&self, Parameters(Search { query, limit }): Parameters<Search>) -> String {
            format!("the second tool ran with {query}, {limit}")
        }
    }

    #[tool_handler]
    impl ServerHandler for Server {}

    pub async fn call(arguments: &str) -> String {
        let (near, far) = tokio::io::duplex(4096);
        let serving = tokio::spawn(async move { Server.serve(far).await.unwrap().waiting().await });
        let client = ().serve(near).await.unwrap();
        let call = CallToolRequestParams::new("search").with_arguments(serde_json::from_str(arguments).unwrap());
        let answer = match client.call_tool(call).await {
            Ok(result) => serde_json::to_string(&result.content).unwrap(),
            Err(error) => format!("protocol error: {error}"),
        };
        client.cancel().await.unwrap();
        serving.await.unwrap().unwrap();
        answer
    }
}

mod with_rig {
    use rig_core::{rig_tool, serve::adapters::ToolAdapter, tool::ToolExecutionError};

    /// Search the shop.
    #[rig_tool(params(query = "Words to look for.", limit = "Number of results, 1 to 50."), required(query, limit))]
    async fn search(query: String, limit: u32) -> Result<String, ToolExecutionError> {
        Ok(format!("ran with {query}, {limit}"))
    }

    pub async fn call(arguments: &str) -> String {
        match ToolAdapter::new(Search).run(serde_json::from_str(arguments).unwrap()).await {
            // Its `Debug` hides the text.
            Ok(_) => "ran".to_owned(),
            Err(error) => error.to_string(),
        }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let cases: Vec<Value> = serde_json::from_str(&std::env::args().nth(1).expect("a list of arguments")).expect("JSON");
    for arguments in cases {
        let arguments = arguments.to_string();
        println!("{arguments}");
        println!("  ours: {}", ours::call(&arguments).await.replace('\n', "; "));
        println!("  rmcp: {}", with_rmcp::call(&arguments).await);
        println!("  rig:  {}", with_rig::call(&arguments).await);
    }
}
