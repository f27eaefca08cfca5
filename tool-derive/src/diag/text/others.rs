//! What other libraries call it: words that are no options here, and what is written in their place.

/// Returns what is written in place of the option `key` of `#[tool]`.
pub fn of_tool(key: &str) -> Option<&'static str> {
    Some(match key {
        "read_only" | "readonly" | "read_only_hint" | "readonly_hint" => "write `effect = read_only`",
        "write" | "mutating" => "write `effect = write`",
        "destructive" | "destructive_hint" | "dangerous" => "write `effect = destructive`",
        "idempotent_hint" => "write `idempotent`",
        "open_world_hint" => "write `open_world`",
        "always" | "needs_approval" | "requires_approval" | "require_approval" | "confirm" | "confirmation" => {
            "write `approval = always`, or `approval = when(path)`"
        }
        "never" => "write `approval = never`",
        "when" => "write `approval = when(path)`",
        "annotations" | "hints" => "write `effect = read_only`, `idempotent` or `open_world`, each by itself",
        "desc" | "doc" | "docs" | "about" | "help" => "write a doc comment above the item, or `description = \"…\"`",
        "rename" | "id" => "write `name = \"…\"`",
        "async" | "is_async" => "leave it out: an `async fn` is known from its signature",
        "params" | "param" | "parameters" | "args" | "input" | "inputs" | "input_schema" | "schema" | "required" => {
            "leave it out: the parameters are those of the function, or the fields of the struct"
        }
        "returns" | "output_schema" | "result" => "leave it out: the output is known from the code",
        "deps" | "dependencies" | "context" | "ctx" => {
            "mark a parameter `#[state]` for application state, or `#[context]` for the call's context"
        }
        "max_retries" | "retry" => "write `retries = 2`",
        "timeout_secs" | "timeout_ms" => "write `timeout = \"30s\"`",
        "client" | "client_side" | "remote" => "write `external`, on a struct",
        _ => return None,
    })
}

/// Returns what is written in place of the option `key` of `#[arg]`.
pub fn of_arg(key: &str) -> Option<&'static str> {
    Some(match key {
        "description" | "desc" | "doc" | "docs" | "about" | "help" | "title" => "write a doc comment on the parameter",
        "min" | "max" | "minimum" | "maximum" | "ge" | "le" | "gt" | "lt" | "bounds" => "write `range(1..=50)`",
        "len" | "min_length" | "max_length" | "min_len" | "max_len" | "min_items" | "max_items" | "non_empty" => {
            "write `length(1..=100)`"
        }
        "regex" | "regexp" | "matches" => "write `pattern = \"…\"`",
        "email" | "url" | "uri" | "uuid" | "date" => "write `format = \"email\"`, or another format of JSON Schema",
        "name" | "alias" => "write `rename = \"…\"`",
        "optional" | "nullable" => "make its type an `Option`, or give it a `default`",
        "required" => "leave it out: what is no `Option` and has no `default` must be given",
        "one_of" | "enum" | "values" | "choices" | "possible_values" | "allowed" => "make its type an enum",
        "context" | "ctx" => "mark the parameter `#[context]`",
        "state" | "inject" | "from_state" => "mark the parameter `#[state]`",
        "dynamic" | "validate" | "validator" | "requires" | "after" | "hints" => "write `#[dynamic(validate = path)]`",
        "skip" | "hidden" | "sensitive" => "write `secret` for what the application gives, or `#[state]`",
        "flatten" => "write out the fields, or make the tool a struct",
        _ => return None,
    })
}

/// Returns what is written in place of the option `key` of `#[dynamic]`.
pub fn of_dynamic(key: &str) -> Option<&'static str> {
    Some(match key {
        "validator" | "with" | "check" | "via" | "function" => "write `validate = path`",
        "depends_on" | "dependsOn" | "depends" | "needs" | "require" | "deps" => "write `requires(other)`",
        "influenced_by" | "influencedBy" | "optional" => "write `after(other)`",
        _ => return None,
    })
}

/// Returns what is written in place of the option `key` of `#[tools]`.
pub fn of_impl(key: &str) -> Option<&'static str> {
    Some(match key {
        "prefix" | "namespace" => "call `prefix` on the toolset that it makes",
        "state" | "deps" | "context" => "leave it out: the state is the type of the impl",
        "name" | "title" | "description" | "approval" | "effect" | "timeout" | "retries" | "sequential" | "strict" => {
            "options of a tool go on the `#[tool]` of its method"
        }
        _ => return None,
    })
}
