//! The tools as types of TypeScript.

use tool_runtime::Toolset;

use super::{Module, comment, key};

/// What the whole is called.
const ALL: &str = "Tools";

/// Returns a module of TypeScript with the types of each tool's input and output. Its `Tools` is what the AI
/// SDK's `UIMessage<unknown, UIDataTypes, Tools>` wants, so that a frontend's `part.input` and `part.output` have types;
/// `Tools['name']['input']` is good for any other.
///
/// Tools that clients do not see (`meta(hidden = true)`) are left out. The text depends on the declarations alone:
/// write it to a file of the frontend, and let a test compare the two.
///
/// ```
/// use tool_runtime::{tool, toolset};
/// use tool_server::typescript;
///
/// /// Get the usual temperature of a city.
/// #[tool(effect = read_only)]
/// fn get_temperature(
///     /// The city's English name.
///     city: String,
///     /// The month, 1 for January.
///     month: Option<u8>,
/// ) -> f64 {
///     10.0
/// }
///
/// assert_eq!(typescript(&toolset!(get_temperature)), "\
/// // Made from the declarations of the tools: change those.
///
/// export type GetTemperatureInput = {
///   /** The city's English name. */
///   city: string;
///   /** The month, 1 for January. */
///   month?: number | null;
/// };
///
/// export type GetTemperatureOutput = number;
///
/// export type Tools = {
///   /** Get the usual temperature of a city. */
///   get_temperature: { input: GetTemperatureInput; output: GetTemperatureOutput };
/// };
/// ");
/// ```
pub fn typescript(tools: &Toolset) -> String {
    let mut module = Module::new(&[ALL]);
    let mut all = String::new();
    let shown = tools.iter().map(|tool| tool.spec()).filter(|spec| !spec.is_hidden());
    for spec in shown {
        let input = module.declare(&format!("{}_input", spec.name), spec.input.neutral());
        let output = match &spec.output {
            Some(output) => module.declare(&format!("{}_output", spec.name), output.neutral()),
            None => "unknown".to_owned(),
        };
        all.push_str(&comment(&spec.description, "  "));
        all.extend(["  ", &*key(&spec.name), ": { input: ", &input, "; output: ", &output, " };\n"]);
    }
    let all = if all.is_empty() { "{ [key: string]: never }".to_owned() } else { format!("{{\n{all}}}") };
    let types = module.finish();
    format!("// Made from the declarations of the tools: change those.\n{types}\nexport type {ALL} = {all};\n")
}
