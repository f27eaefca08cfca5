//! Tests of the feature `collect`: the tools of a program, from this file and from a module, are found without a list.

mod more;

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use serde_json::{Value, json};
use tool_runtime::{
    CallError, Context, DynamicInput, Execute, Output, Toolset, Validation, tool,
    toolset::{CollectError, States},
};

struct Shelf {
    books: Vec<&'static str>,
}

/// Counts its calls.
#[tool(effect = read_only)]
fn zebra(#[state] calls: &Arc<AtomicUsize>) -> usize {
    calls.fetch_add(1, Ordering::SeqCst) + 1
}

/// Finds a book.
#[tool(effect = read_only)]
async fn find(
    /// A word of its title.
    word: String,
    #[state] shelf: &Shelf,
    #[state] calls: &Arc<AtomicUsize>,
    #[context] cx: &Context,
) -> Vec<String> {
    calls.fetch_add(1, Ordering::SeqCst);
    assert_eq!(cx.call_id(), "c");
    shelf.books.iter().filter(|book| book.contains(&word)).map(|&book| book.to_owned()).collect()
}

/// Lends a book.
#[tool]
fn lend(#[dynamic(validate = title)] title: String, #[state] shelf: &Shelf) -> String {
    format!("{title}, of {}", shelf.books.len())
}

fn title(value: Option<String>, known: LendTitle<'_>) -> Validation<String> {
    match value.filter(|title| known.shelf.books.contains(&title.as_str())) {
        Some(title) => Validation::accept(title),
        None => Validation::reject("no such book").allowed(known.shelf.books.iter().map(|&title| title.to_owned())),
    }
}

/// A reservation.
#[derive(DynamicInput)]
#[dynamic_input(state = Shelf)]
struct Wish {
    #[dynamic(validate = wished_title)]
    title: String,
}

fn wished_title(value: Option<String>, known: WishTitle<'_>) -> Validation<String> {
    match value.filter(|title| known.state().books.contains(&title.as_str())) {
        Some(title) => Validation::accept(title),
        None => Validation::reject("no such book"),
    }
}

/// Reserves a book.
#[tool(name = "reserve")]
enum Reserve {
    One {
        #[dynamic(nested)]
        wish: Wish,
    },
    Any,
}

impl Execute for Reserve {
    type Output = String;
    type Error = std::convert::Infallible;

    async fn execute(self, _cx: &Context) -> Result<String, Self::Error> {
        Ok(match self {
            Self::One { wish } => wish.title,
            Self::Any => "any".to_owned(),
        })
    }
}

/// Adds two numbers.
#[tool(name = "add")]
struct Sum {
    /// The first.
    a: i64,
    /// The second.
    b: i64,
}

impl Execute for Sum {
    type Output = i64;
    type Error = std::convert::Infallible;

    async fn execute(self, _cx: &Context) -> Result<i64, Self::Error> {
        Ok(self.a + self.b)
    }
}

fn states() -> States {
    States::new().with(Shelf { books: vec!["Emma", "Persuasion"] }).with(Arc::new(AtomicUsize::new(0)))
}

fn missing_state(states: States) -> String {
    match Toolset::collect(states) {
        Err(error @ CollectError::MissingState { .. }) => error.to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn all_tools_are_collected_in_the_order_of_their_names() {
    let tools = Toolset::collect(states()).unwrap();
    assert_eq!(tools.names().collect::<Vec<_>>(), ["add", "confirm", "find", "lend", "reserve", "roar", "zebra"]);
    let again = Toolset::collect(states()).unwrap();
    assert!(tools.names().eq(again.names()));
}

#[test]
fn a_missing_state_is_named() {
    let message = missing_state(States::new());
    assert!(message.contains("`find` needs a `") && message.contains("add one with `States::with`"), "{message}");
    let message = missing_state(States::new().with(Arc::new(AtomicUsize::new(0))));
    assert!(message.contains("`find`") && message.contains("Shelf"), "{message}");
    // A state is identified by its type. The content of an `Arc` is another state.
    let message = missing_state(States::new().with(Shelf { books: Vec::new() }).with(AtomicUsize::new(0)));
    assert!(message.contains("Arc") && message.contains("AtomicUsize"), "{message}");
}

#[tokio::test]
async fn collected_tools_are_called_with_their_states() {
    let calls = Arc::new(AtomicUsize::new(0));
    let states = states().with(Arc::new(AtomicUsize::new(7))).with(Arc::clone(&calls));
    assert_eq!(format!("{states:?}"), "States { count: 2 }", "the last state of a type counts");
    let tools = Toolset::collect(states).unwrap();
    let cx = Context::new("c");
    let call = async |name: &str, arguments: Value| -> Result<Output, CallError> {
        tools.call(name, &arguments.to_string(), &cx).await
    };
    assert_eq!(call("find", json!({"word": "mm"})).await.unwrap().as_json(), Some(r#"["Emma"]"#));
    assert_eq!(call("zebra", json!({})).await.unwrap().as_json(), Some("2"));
    assert_eq!(calls.load(Ordering::SeqCst), 2);
    assert_eq!(call("add", json!({"a": 1, "b": 2})).await.unwrap().as_json(), Some("3"));
    assert_eq!(call("lend", json!({"title": "Emma"})).await.unwrap().as_json(), Some(r#""Emma, of 2""#));
    assert!(matches!(call("lend", json!({"title": "Ulysses"})).await, Err(CallError::Rejected(_))));
    let wish = |title: &str| json!({"kind": "one", "wish": {"title": title}});
    assert_eq!(call("reserve", wish("Emma")).await.unwrap().as_json(), Some(r#""Emma""#));
    assert!(matches!(call("reserve", wish("Ulysses")).await, Err(CallError::Rejected(_))));
    assert_eq!(call("roar", json!({})).await.unwrap().as_json(), Some("\"roar\""));
    assert!(matches!(call("add", json!({"a": 1})).await, Err(CallError::Rejected(_))));
    assert!(matches!(call("fnd", json!({})).await, Err(CallError::NotAvailable { suggestion: Some(_), .. })));
    assert!(matches!(call("confirm", json!({})).await, Err(CallError::NotExecuted)));
    assert!(tools.get("confirm").unwrap().read_external_output("true").is_ok());
    assert!(tools.get("add").unwrap().read_external_output("3").is_err());
}

#[test]
fn collected_tools_agree_with_their_schemas() {
    // No schema contains the rules of a validator.
    let tools = Toolset::collect(states()).unwrap().filter(|spec| !["lend", "reserve"].contains(&&*spec.name));
    tool_test_kit::agreement::check(&tools, 500);
}
