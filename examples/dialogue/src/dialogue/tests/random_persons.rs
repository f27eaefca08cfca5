//! Random tools and persons. A person who answers the questions always reaches an end, and is not asked twice for an accepted
//! parameter.

use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::super::form::Clarification;
use super::super::{Dialogue, DialogueState, Reply, read_dialogue};
use super::dynamic::call_tool;
use super::{assistant, reply};
use tool_runtime::message::Message;
use tool_runtime::model::Request;
use tool_runtime::tool::Validation;
use tool_runtime::toolset::{DynamicField, RuntimeTool, Toolset};

const ANIMALS: [&str; 4] = ["Ant", "Bee", "Crow", "Dog"];
/// The number of dead ends after which the person gives up.
const PATIENCE: usize = 12;

/// A dynamic parameter: its dependencies, and the values that it then allows.
#[derive(Clone, Debug)]
struct Field {
    requires: Vec<usize>,
    /// The allowed animals, as bit masks. The sum of the dependencies' positions in [`ANIMALS`] selects the mask.
    rows: Vec<u8>,
    suggests: bool,
}

impl Field {
    fn possible(&self, known: &dyn Fn(&str) -> Value) -> Vec<Value> {
        let place = |value: Value| ANIMALS.iter().position(|animal| value == *animal).expect("it was accepted");
        let sum: usize = self.requires.iter().map(|field| place(known(&name(*field)))).sum();
        let row = self.rows[sum % self.rows.len()];
        (0..4).filter(|bit| row & (1 << bit) != 0).map(|bit| json!(ANIMALS[bit])).collect()
    }

    fn judge(&self, value: Option<&Value>, known: &dyn Fn(&str) -> Value) -> Validation<Value> {
        let possible = self.possible(known);
        let same = |one: &&Value| {
            value.is_some_and(|given| one.as_str().map(str::to_lowercase) == given.as_str().map(str::to_lowercase))
        };
        match possible.iter().find(same) {
            Some(one) => Validation::accept(one.clone()),
            None if self.suggests && !possible.is_empty() => Validation::reject("not this").suggested(&possible),
            None => Validation::reject("not this").allowed(&possible),
        }
    }
}

fn name(field: usize) -> String {
    format!("p{field}")
}

fn fields() -> impl Strategy<Value = Vec<Field>> {
    let field = |at: usize| {
        let rows = prop::collection::vec(prop_oneof![1 => Just(0_u8), 4 => 1_u8..16], 1..4);
        (prop::collection::vec(any::<bool>(), at), rows, any::<bool>()).prop_map(|(edges, rows, suggests)| Field {
            requires: (0..edges.len()).filter(|edge| edges[*edge]).collect(),
            rows,
            suggests,
        })
    };
    (1_usize..6).prop_flat_map(move |count| (0..count).map(field).collect::<Vec<_>>())
}

/// Returns a toolset of one tool. It has these dynamic parameters, and the required static parameter `fixed`.
fn tool(fields: &[Field]) -> Toolset {
    let mut properties: Map<String, Value> =
        (0..fields.len()).map(|field| (name(field), json!({"type": "string"}))).collect();
    properties.insert("fixed".into(), json!({"type": "integer", "minimum": 1, "maximum": 3}));
    let required: Vec<_> = properties.keys().cloned().collect();
    let input = json!({"type": "object", "properties": properties, "required": required});
    let mut tool = RuntimeTool::new("fill", "Fill it in.").input(input).dynamic();
    for (at, field) in fields.iter().cloned().enumerate() {
        let waits = field.requires.iter().map(|field| name(*field));
        tool = tool.field(
            DynamicField::new(name(at))
                .requires(waits)
                .validate(move |value, known| field.judge(value.as_ref(), &|name| known[name].clone())),
        );
    }
    let tool = tool.handler(|arguments, _| async { Ok(arguments) }).expect("each parameter requires only earlier ones");
    Toolset::new().with(tool).expect("the set has no other tool")
}

/// A person who answers the questions, sometimes in unusual ways.
struct Person {
    dice: Vec<u8>,
    rolled: usize,
    dead_ends: usize,
    backs: usize,
}

impl Person {
    fn roll(&mut self, sides: usize) -> usize {
        let roll = self.dice[self.rolled % self.dice.len()];
        self.rolled += 1;
        // The list of dice is short. Each time it is used up, all values shift by one, so that rounds differ.
        (usize::from(roll) + self.rolled / self.dice.len()) % sides.max(1)
    }

    /// Returns the person's text, and the parameters that it changes; `None` means all of them.
    fn say(&mut self, dialogue: &Dialogue<'_>, accepted: &BTreeSet<String>) -> (String, Option<Vec<String>>) {
        let DialogueState::Filling(form) = &dialogue.state else { return ("fill".into(), Some(Vec::new())) };
        let nothing = || Some(Vec::new());
        match &form.clarification {
            Some(Clarification::Change { pointers }) => {
                self.dead_ends += 1;
                if self.dead_ends > PATIENCE {
                    return ("cancel".into(), nothing());
                }
                let place = self.roll(pointers.len());
                return (format!("{}", place + 1), Some(vec![pointers[place].clone()]));
            }
            Some(clarification) => panic!("the dialogue doubts a clear answer: {clarification:?}"),
            None => {}
        }
        let question = form.next_question(dialogue.shape(0)).expect("there is a question");
        assert!(!accepted.contains(&question.pointer), "`{}` was accepted, but is asked for again", question.pointer);
        match self.roll(8) {
            0 if self.backs < 5 => {
                self.backs += 1;
                return ("back".into(), None);
            }
            1 if !accepted.is_empty() && self.backs < 5 => {
                self.backs += 1;
                let all: Vec<&String> = accepted.iter().collect();
                let pointer = all[self.roll(all.len())].clone();
                return (format!("change {}", &pointer[1..]), Some(vec![pointer]));
            }
            _ => {}
        }
        if question.pointer == "/fixed" {
            return ("2".into(), nothing());
        }
        if question.choices.is_empty() {
            // The parameter was just accepted. The person wants to change it.
            return (ANIMALS[self.roll(4)].to_owned(), nothing());
        }
        let place = self.roll(question.choices.len());
        let value = question.choices[place].value.as_str().expect("an animal").to_owned();
        let text = match self.roll(3) {
            0 => (place + 1).to_string(),
            1 => value.to_lowercase(),
            _ => value,
        };
        (text, nothing())
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, max_shrink_iters: 60, ..ProptestConfig::default() })]
    #[test]
    fn a_dialogue_ends(fields in fields(), dice in prop::collection::vec(any::<u8>(), 5..40)) {
        let tools = tool(&fields);
        let mut person = Person { dice, rolled: 0, dead_ends: 0, backs: 0 };
        let mut messages = vec![Message::user("fill")];
        let mut accepted = BTreeSet::new();
        for _ in 0..150 {
            let next = reply(tools.list(), &messages);
            messages.push(assistant(&next));
            if let Reply::Call(call) = &next {
                let (message, rejection) = call_tool(&tools, call);
                messages.push(message);
                let Some(rejection) = rejection else {
                    let arguments: Value = serde_json::from_str(&call.arguments).expect("a call has JSON");
                    prop_assert_eq!(arguments.as_object().map(Map::len), Some(fields.len() + 1));
                    return Ok(());
                };
                let valid = rejection.reports().filter(|(_, report)| report.is_valid());
                accepted = valid.map(|(name, _)| format!("/{name}")).collect();
                continue;
            }
            let dialogue = read_dialogue(Request::new(&messages[..messages.len() - 1], tools.list()));
            let dialogue = dialogue.expect("the request forces no tool");
            if matches!(dialogue.state, DialogueState::Idle) {
                // The person learned that the call is impossible: at once, or after too many dead ends.
                let hopeless = fields.iter().any(|field| field.requires.is_empty() && field.rows[0] == 0);
                prop_assert!(hopeless || person.dead_ends > PATIENCE, "the dialogue gave up: {:?}", messages.last());
                return Ok(());
            }
            let (text, changed) = person.say(&dialogue, &accepted);
            match changed {
                Some(changed) => accepted.retain(|pointer| !changed.contains(pointer)),
                None => accepted.clear(),
            }
            messages.push(Message::user(text));
        }
        prop_assert!(false, "the dialogue did not end: {:?}", messages.last_chunk::<8>());
    }
}
