//! The linter of toolsets: it finds mistakes before a model or a provider does.

mod list_rules;

use std::{collections::HashMap, fmt};

use serde_json::Value;

use super::{ListFormat, Toolset, check_name};
use crate::schema::{CompiledSchema, Dialect, Schema, Severity};
use crate::tool::{CallError, Context, ErasedTool, ToolSpec};
use tool_schema::schema::{Loss, Sampler, answer::collisions, places};

impl Toolset {
    /// Checks every tool: schemas and their references, defaults and examples, losses in the dialects of providers, rules
    /// by which providers and local servers refuse a request, names, sizes and outputs. It also checks that the schema and the decoder accept the same arguments.
    ///
    /// It decodes made-up arguments, but runs no tool and no validator. It takes milliseconds for each tool, so it belongs in a
    /// test. [`lint_test!`](crate::lint_test) writes one.
    ///
    /// ```
    /// use tool_runtime::{tool, toolset, toolset::LintLevel};
    ///
    /// /// Count something.
    /// #[tool(examples = [r#"{"most": 300}"#])]
    /// fn count(
    ///     /// How far.
    ///     most: u8,
    /// ) -> u8 {
    ///     most
    /// }
    ///
    /// let findings = toolset!(count).lint();
    /// let first = findings.iter().next().expect("an example that no call can have");
    /// assert_eq!((first.level, &*first.tool, &*first.path), (LintLevel::Error, "count", "/examples/0/most"));
    /// ```
    pub fn lint(&self) -> Findings {
        let mut findings = Findings::default();
        check_names(self, &mut findings);
        check_set_size(self, &mut findings);
        for tool in self.iter() {
            let spec = tool.spec();
            check_size(spec, &mut findings);
            check_output(spec, &mut findings);
            // Other findings about a broken schema would only repeat that it is broken.
            if check_schemas(spec, &mut findings) {
                check_values(spec, &mut findings);
                check_losses(spec, &mut findings);
                list_rules::check_list_rules(spec, &mut findings);
                check_agreement(&**tool, &mut findings);
            }
        }
        findings
    }
}

/// Checks names: whether providers accept them, and which are too similar.
fn check_names(tools: &Toolset, findings: &mut Findings) {
    let mut known: HashMap<String, &str> = HashMap::new();
    for tool in tools.iter() {
        let name = tool.name();
        if let Err(error) = check_name(name) {
            findings.add(LintLevel::Error, name, "", error.to_string(), "rename the tool with `Toolset::rename`");
        } else if name.starts_with(|first: char| first.is_ascii_digit() || first == '-') {
            let text = "Gemini accepts only names that begin with a letter or `_`";
            findings.add(LintLevel::Warning, name, "", text, "rename the tool, or leave it out for Gemini");
        }
        // Clients that rename tools for providers convert names like this.
        let folded = name.to_ascii_lowercase().replace('-', "_");
        match known.get(&folded) {
            Some(earlier) => {
                let text = format!(
                    "`{earlier}` differs only in case and dashes: clients that rename tools cannot distinguish them"
                );
                findings.add(LintLevel::Warning, name, "", text, "give one of them another name");
            }
            None => {
                known.insert(folded, name);
            }
        }
        check_parameter_names(name, tool.spec().input.neutral(), findings);
    }
}

/// Checks parameter names against what providers accept: `[A-Za-z0-9_.-]{1,64}`. For declared tools, the macros check this.
fn check_parameter_names(tool: &str, schema: &serde_json::Value, findings: &mut Findings) {
    for name in schema["properties"].as_object().into_iter().flatten().map(|(name, _)| name) {
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
        if name.is_empty() || name.len() > 64 || !name.chars().all(fits) {
            let path = format!("/properties/{}", name.replace('~', "~0").replace('/', "~1"));
            let text = "Anthropic accepts only names of parameters with 1 to 64 of A-Z, a-z, 0-9, `_`, `-` and `.`";
            findings.add(LintLevel::Warning, tool, path, text, "rename the parameter");
        }
    }
}

/// The maximum number of tools that a request to OpenAI or Gemini can have.
const MAX_TOOLS: usize = 128;

/// The maximum number of strict tools that a request to Anthropic can have.
const MAX_STRICT: usize = 20;

/// The maximum number of characters of a tool's description that OpenAI accepts.
const MAX_DESCRIPTION_CHARACTERS: usize = 1024;

/// The size in bytes above which a definition gets a remark, because a model reads it again with every request.
const LARGE: usize = 8 * 1024;

/// Checks the number of tools against what providers accept in a request.
fn check_set_size(tools: &Toolset, findings: &mut Findings) {
    if tools.len() > MAX_TOOLS {
        let text = format!("{} tools, but OpenAI and Gemini accept at most {MAX_TOOLS} in a request", tools.len());
        let advice = "offer only the tools that a step needs, with `Toolset::filter` or `Agent::prepare_step`";
        findings.add(LintLevel::Warning, "", "", text, advice);
    }
    let strict = tools.iter().filter(|tool| ListFormat::Anthropic.dialect(tool.spec()).1).count();
    if strict > MAX_STRICT {
        let text = format!("{strict} tools are `strict`, but Anthropic accepts at most {MAX_STRICT} in a request");
        findings.add(
            LintLevel::Warning,
            "",
            "",
            text,
            "leave out `strict` where the schema is simple, or offer fewer tools",
        );
    }
}

/// Checks a tool's size against the limits of providers, and reports missing descriptions. Lowering a schema checks its limits.
fn check_size(spec: &ToolSpec, findings: &mut Findings) {
    let characters = spec.description.chars().count();
    if characters > MAX_DESCRIPTION_CHARACTERS {
        let text = format!(
            "the description has {characters} characters, but OpenAI accepts at most {MAX_DESCRIPTION_CHARACTERS}"
        );
        findings.add(LintLevel::Warning, &spec.name, "", text, "shorten it, or describe parameters separately");
    }
    if spec.description.trim().is_empty() {
        let text = "the tool has no description, so a model can only guess from its name";
        findings.add(LintLevel::Warning, &spec.name, "", text, "describe it");
    }
    let bytes = spec.input.neutral().to_string().len() + spec.description.len();
    if bytes > LARGE {
        let text = format!("the definition has {bytes} bytes, which a model reads again with every request");
        findings.add(
            LintLevel::Note,
            &spec.name,
            "",
            text,
            "remove fields that models never use from the parameters' types",
        );
    }
    let mut undescribed = Vec::new();
    places::visit(spec.input.neutral(), &mut |at, schema| {
        let is_parameter = at.strip_prefix("/properties/").is_some_and(|rest| !rest.contains('/'));
        if is_parameter && schema.get("description").is_none() && schema.get("$ref").is_none() {
            undescribed.push(at.to_owned());
        }
    });
    for path in undescribed {
        let text = "the parameter has no description";
        findings.add(LintLevel::Note, &spec.name, path, text, "describe it, unless its name is enough");
    }
}

/// Reports output fields whose names collide with those of the answer around the output.
fn check_output(spec: &ToolSpec, findings: &mut Findings) {
    let Some(output) = &spec.output else { return };
    for key in collisions(output.neutral()) {
        let text = format!("the output has a key `{key}`, which is also a key of the tool's answer as JSON");
        let advice = "rename the field; `#[derive(ToolOutput)]` on the type reports it at compile time";
        findings.add(LintLevel::Warning, &spec.name, format!("/output/properties/{key}"), text, advice);
    }
}

/// Checks that the schemas are usable. Returns whether the schema of the arguments is sound.
fn check_schemas(spec: &ToolSpec, findings: &mut Findings) -> bool {
    if let Some(output) = &spec.output {
        check_schema(&spec.name, "/output", output, findings);
    }
    if spec.options.unvalidated {
        let text = "the schema of the arguments cannot be compiled, so they are not checked";
        findings.add(LintLevel::Error, &spec.name, "", text, "`RuntimeTool::warnings` lists its problems");
        return false;
    }
    check_schema(&spec.name, "", &spec.input, findings)
}

fn check_schema(tool: &str, at: &str, schema: &Schema, findings: &mut Findings) -> bool {
    for keyword in schema.removed() {
        let place = format!("{at}{}", keyword.place);
        findings.add(LintLevel::Error, tool, place, keyword.reason.clone(), "correct it; the tool works without it");
    }
    let (schema, is_declared) = (schema.neutral(), schema.is_declared());
    let unresolved = places::unresolved(schema);
    for (place, reference) in &unresolved {
        let text = format!("the reference `{reference}` has no target");
        let advice = "define its target in `$defs`; in your own `JsonSchema`, use `SchemaGenerator::subschema_for`";
        findings.add(LintLevel::Error, tool, format!("{at}{place}"), text, advice);
    }
    if !unresolved.is_empty() {
        return false;
    }
    match CompiledSchema::compile(schema) {
        Ok(compiled) => {
            // A declared tool refuses every call if a part of its schema cannot be checked.
            let is_fatal = at.is_empty() && is_declared;
            let level = if is_fatal { LintLevel::Error } else { LintLevel::Warning };
            for warning in compiled.warnings() {
                findings.add(level, tool, at, warning.clone(), "rephrase it, or check it in the tool");
            }
            true
        }
        Err(error) => {
            let text = format!("the schema cannot be compiled: {error}");
            findings.add(LintLevel::Error, tool, at, text, "correct the `JsonSchema` of its type");
            false
        }
    }
}

/// Checks that defaults and examples fit their schema: a model reads them as valid values.
fn check_values(spec: &ToolSpec, findings: &mut Findings) {
    let schema = spec.input.neutral();
    let mut given: Vec<(String, &Value, String)> = Vec::new();
    places::visit(schema, &mut |at, part| {
        if let Some(default) = part.get("default") {
            given.push((format!("{at}/default"), default, at.to_owned()));
        }
        for (index, example) in part.get("examples").and_then(Value::as_array).into_iter().flatten().enumerate() {
            given.push((format!("{at}/examples/{index}"), example, at.to_owned()));
        }
    });
    for (path, value, at) in given {
        let Some(compiled) = places::extract(schema, &at).and_then(|part| CompiledSchema::compile(&part).ok()) else {
            continue;
        };
        for problem in compiled.problems(value, "") {
            let text = format!("{value} is not a valid value here: {}", problem.sentence());
            findings.add(LintLevel::Error, &spec.name, &*path, text, "correct it, or the type that forbids it");
        }
    }
    let Ok(compiled) = CompiledSchema::compile(schema) else { return };
    for (index, example) in spec.options.examples.iter().enumerate() {
        for problem in compiled.problems(example, "") {
            let path = format!("/examples/{index}{}", problem.path);
            let text = format!("the tool does not accept this example: {}", problem.sentence());
            findings.add(LintLevel::Error, &spec.name, path, text, "correct the example");
        }
    }
}

/// Reports which constraints the dialect of each provider loses.
fn check_losses(spec: &ToolSpec, findings: &mut Findings) {
    for format in ListFormat::ALL {
        let provider = match format {
            ListFormat::OpenAi => "OpenAI",
            ListFormat::Anthropic => "Anthropic",
            ListFormat::Gemini => "Gemini",
            // Their schemas are those of `OpenAi` and `Gemini`, so every finding would come twice.
            ListFormat::Responses | ListFormat::GeminiInteractions => continue,
        };
        let (dialect, is_strict) = format.dialect(spec);
        if spec.options.strict && !is_strict {
            report_unkept(spec, format, provider, findings);
        }
        for loss in spec.input.lowered(dialect).losses() {
            let keyword = if loss.keyword.is_empty() { String::new() } else { format!(" of `{}`", loss.keyword) };
            let text = format!("{provider} receives a weaker schema{keyword}: {}", loss.note);
            let (level, advice) = match loss.severity {
                // Only words for the reader are lost, and most of them move into the description.
                Severity::Annotation => continue,
                Severity::Weakened => (LintLevel::Note, "nothing to do: the tool checks the arguments anyway"),
                Severity::Narrowed | Severity::Inexpressible => {
                    (LintLevel::Warning, "use simpler types, if models of this provider are used")
                }
            };
            findings.add(level, &spec.name, &*loss.path, text, advice);
        }
    }
}

/// Reports why a tool that is declared `strict` is sent without strictness: the provider's strict dialect cannot express its
/// schema.
fn report_unkept(spec: &ToolSpec, format: ListFormat, provider: &str, findings: &mut Findings) {
    let dialect = match format {
        ListFormat::OpenAi | ListFormat::Responses => Dialect::OpenAiStrict,
        ListFormat::Anthropic => Dialect::Anthropic,
        ListFormat::Gemini | ListFormat::GeminiInteractions => return,
    };
    let is_reason = |loss: &&Loss| loss.severity == Severity::Inexpressible;
    for loss in spec.input.lowered(dialect).losses().iter().filter(is_reason) {
        let text = format!("{provider} cannot enforce the schema strictly: {}", loss.note);
        findings.add(LintLevel::Error, &spec.name, &*loss.path, text, "use simpler types, or leave out `strict`");
    }
}

/// The number of arguments that are made up for each tool.
const ROUNDS: u64 = 300;

/// Compares the decoder with the schema on arguments that are made up from the schema: both must accept the same.
fn check_agreement(tool: &dyn ErasedTool, findings: &mut Findings) {
    let schema = tool.spec().input.neutral();
    let Ok(compiled) = CompiledSchema::compile(schema) else { return };
    let cx = Context::new("lint");
    for round in 0..ROUNDS {
        let value = Sampler::new(round).near(schema);
        let text = value.to_string();
        // Validators are not asked: they belong to the application, and may do anything.
        let Ok(started) = tool.prepare(&text, &cx).now() else { return };
        let refusal = match started {
            Ok(_) => None,
            Err(CallError::Rejected(rejection)) => Some(rejection.lines().join("; ")),
            // A secret is missing, or a layer refuses every call.
            Err(_) => return,
        };
        let is_valid = compiled.is_valid(&value);
        let text = match refusal {
            Some(refusal) if is_valid && !has_wide_integer(&value) && !has_number_key(&value) => {
                format!("the schema allows {text}, but the tool rejects it: {refusal}")
            }
            None if !is_valid => {
                let problems = compiled.problems(&value, "");
                let problems: Vec<String> = problems.iter().map(crate::feedback::Problem::sentence).collect();
                format!("the schema forbids {text}, but the tool accepts it: {}", problems.join("; "))
            }
            _ => continue,
        };
        findings.add(LintLevel::Error, &tool.spec().name, "", text, advise_about_types(schema));
        return;
    }
}

/// Returns the advice for a tool whose decoder and schema accept different arguments. serde reads 128-bit integers except from its
/// buffer, so they are named.
fn advise_about_types(schema: &Value) -> String {
    let mut wide = Vec::new();
    places::visit(schema, &mut |at, part| {
        let is_bounded = part.get("maximum").or_else(|| part.get("exclusiveMaximum")).is_some();
        let is_integer = match &part["type"] {
            Value::Array(kinds) => kinds.iter().any(|kind| kind == "integer"),
            kind => kind == "integer",
        };
        if is_integer && !is_bounded {
            wide.push(format!("`{at}`"));
        }
    });
    let agree = "make `JsonSchema` and `Deserialize` of the parameters' types agree";
    if wide.is_empty() {
        return agree.to_owned();
    }
    format!(
        "serde cannot read an `i128` or `u128` inside a tagged, untagged or flattened type: if {} is one, use `i64` or `u64`, \
         or write it as a text with `#[serde(with = …)]`; otherwise {agree}",
        wide.join(" or ")
    )
}

/// Returns whether the value has an integer of more than 64 bits. JSON Schema has no limit that 128-bit types could state.
fn has_wide_integer(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.as_f64().is_some_and(|float| float.abs() >= 2_f64.powi(63)),
        Value::Array(items) => items.iter().any(has_wide_integer),
        Value::Object(entries) => entries.values().any(has_wide_integer),
        _ => false,
    }
}

/// Returns whether a name is a number other than 1. A schema describes numbers as keys only by their digits, whatever their type.
fn has_number_key(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().any(has_number_key),
        Value::Object(entries) => {
            let is_number = |name: &String| name != "1" && name.parse::<i128>().is_ok();
            entries.iter().any(|(name, entry)| is_number(name) || has_number_key(entry))
        }
        _ => false,
    }
}

/// The importance of a [`Finding`], from low to high.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum LintLevel {
    /// Good to know; nothing goes wrong because of it.
    Note,
    /// A model, a provider or a person gets less than the tool's author meant.
    Warning,
    /// Some call or request fails because of it.
    Error,
}

/// One result of the linter.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// The importance.
    pub level: LintLevel,
    /// The name of the tool; empty if the finding is about the whole set.
    pub tool: String,
    /// The place: a JSON Pointer into the schema of the arguments, below `/output` into that of the output, or below `/examples`
    /// into the tool's examples. Empty for the tool as a whole.
    pub path: String,
    /// The problem.
    pub text: String,
    /// The advice: how to repair it.
    pub advice: String,
}

/// The findings of [`Toolset::lint`](crate::Toolset::lint), in the order of the tools. `Display` writes a paragraph for each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    all: Vec<Finding>,
}

impl Findings {
    fn add(
        &mut self,
        level: LintLevel,
        tool: &str,
        path: impl Into<String>,
        text: impl Into<String>,
        advice: impl Into<String>,
    ) {
        let finding =
            Finding { level, tool: tool.to_owned(), path: path.into(), text: text.into(), advice: advice.into() };
        if !self.all.contains(&finding) {
            self.all.push(finding);
        }
    }

    /// Returns the findings, in the order of the tools.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Finding> {
        self.all.iter()
    }

    /// Returns whether there are no findings.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Returns the highest level among the findings; `None` if there are none.
    pub fn worst(&self) -> Option<LintLevel> {
        self.all.iter().map(|finding| finding.level).max()
    }

    /// Returns the findings of at least the level `level`.
    pub fn at_least(&self, level: LintLevel) -> Self {
        Self { all: self.all.iter().filter(|finding| finding.level >= level).cloned().collect() }
    }

    /// Keeps the findings for which `keep` returns true, such as those of the providers that you use.
    pub fn retain(mut self, keep: impl FnMut(&Finding) -> bool) -> Self {
        self.all.retain(keep);
        self
    }

    /// Fails a test if there are findings of at least the level `level`.
    ///
    /// # Panics
    ///
    /// If there is such a finding. The message has all findings, including those of lower levels.
    #[track_caller]
    pub fn deny(&self, level: LintLevel) {
        let count = self.at_least(level).all.len();
        assert!(count == 0, "{count} of these findings must not be:\n\n{self}");
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let level = match self.level {
            LintLevel::Note => "note",
            LintLevel::Warning => "warning",
            LintLevel::Error => "error",
        };
        write!(out, "{level}: ")?;
        if !self.tool.is_empty() {
            write!(out, "`{}`", self.tool)?;
            if !self.path.is_empty() {
                write!(out, " at {}", self.path)?;
            }
            out.write_str(": ")?;
        }
        write!(out, "{}\n  {}", self.text, self.advice)
    }
}

impl fmt::Display for Findings {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for finding in &self.all {
            writeln!(out, "{finding}")?;
        }
        Ok(())
    }
}
