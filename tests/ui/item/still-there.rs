use tool_runtime::{TypedCall, Calls, Context, Execute, Failure, Tool, message::ToolCall, tool, tools, toolset};

/// Get the weather.
#[tool(colour = "red")]
fn get_weather(city: String) -> String {
    city
}

/// Add two numbers.
#[tool(colour = "red")]
struct Add {
    a: u8,
    #[arg(default)]
    b: u8,
}

impl Execute for Add {
    type Output = u8;
    type Error = Failure;

    async fn execute(self, _: &Context) -> Result<u8, Failure> {
        Ok(self.a + self.b)
    }
}

struct Shop;

#[tools]
impl Shop {
    /// Count the items.
    #[tool(colour = "red")]
    fn count(&self, of: String) -> usize {
        of.len()
    }
}

#[derive(Calls)]
enum AppCall {
    Weather(TypedCall<get_weather>),
    Add(TypedCall<Add>),
}

fn main() {
    let _: String = get_weather(String::new());
    let _: usize = Shop.count(String::new());
    let _ = Shop.toolset().merge(toolset!(Shop; get_weather, Add));
    println!("{}", get_weather::NAME);
    let call = ToolCall { id: String::new(), name: String::new(), arguments: String::new() };
    match AppCall::read(&call) {
        Ok(AppCall::Weather(call)) => println!("{}", call.input.city),
        Ok(AppCall::Add(call)) => println!("{}", call.input.a),
        Err(error) => println!("{error}"),
    }
}
