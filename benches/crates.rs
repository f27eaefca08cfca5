//! Generated crates with two hundred tools of three parameters each: the same functions with different declarations.

use std::{fmt::Write as _, fs, io, path::Path};

/// The declaration of a crate's tools.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind {
    /// No declaration: only the functions.
    Floor,
    /// With our `#[tool]`.
    Ours,
    /// Structs with serde's and schemars' derives, and a generic function that makes a tool from each.
    Derives,
    /// Structs with serde's `Deserialize` only, and no tools.
    Deserialize,
    /// [`Self::Deserialize`], and a function that reads each struct from a text. Without such functions, an optimized build
    /// makes no code for the derives.
    Decoded,
    /// rmcp's `#[tool]`. The parameters are in a struct with derives, as rmcp requires.
    Rmcp,
    /// rig's `#[rig_tool]`, which makes such a struct itself.
    Rig,
}

const TOOLS: usize = 200;

/// The parameters' types, in rotation.
const TYPES: [&str; 9] =
    ["String", "u32", "Option<String>", "i64", "bool", "Vec<String>", "f64", "Option<u32>", "crate::Unit"];

const GLUE: &str = r"
use std::{future::Future, pin::Pin};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

pub type Work = Pin<Box<dyn Future<Output = Result<String, String>> + Send>>;

pub struct FnTool {
    pub name: &'static str,
    pub description: &'static str,
    pub input: fn() -> schemars::Schema,
    pub output: fn() -> schemars::Schema,
    pub call: Box<dyn Fn(&str) -> Work + Send + Sync>,
}

pub fn fn_tool<A, R, F>(name: &'static str, description: &'static str, function: fn(A) -> F) -> FnTool
where
    A: DeserializeOwned + JsonSchema + Send + 'static,
    R: Serialize + JsonSchema,
    F: Future<Output = R> + Send + 'static,
{
    FnTool {
        name,
        description,
        input: || schemars::schema_for!(A),
        output: || schemars::schema_for!(R),
        call: Box::new(move |text| {
            let args = serde_json::from_str::<A>(text);
            Box::pin(async move {
                let output = function(args.map_err(|error| error.to_string())?).await;
                serde_json::to_string(&output).map_err(|error| error.to_string())
            })
        }),
    }
}
";

const RMCP: &str =
    "use rmcp::{Json, handler::server::wrapper::Parameters, schemars::{self, JsonSchema}, tool, tool_router};
use serde::{Deserialize, Serialize};

";

/// Returns the source of a crate.
pub(crate) fn source(kind: Kind) -> String {
    let mut out = String::new();
    let derive = match kind {
        Kind::Floor => "",
        Kind::Derives => {
            out.push_str(GLUE);
            "#[derive(Serialize, Deserialize, JsonSchema)]\n"
        }
        Kind::Rmcp => {
            out.push_str(RMCP);
            "#[derive(Serialize, Deserialize, JsonSchema)]\n"
        }
        Kind::Deserialize | Kind::Decoded => "#[derive(serde::Deserialize)]\n",
        Kind::Ours | Kind::Rig => "#[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]\n",
    };
    let _ = write!(out, "{derive}pub enum Unit {{ Metre, Foot }}\n\n{derive}pub struct Done {{ pub number: u32 }}\n\n");
    if kind == Kind::Rmcp {
        (0..TOOLS).for_each(|number| write_struct(&mut out, number, "Deserialize, JsonSchema"));
        out.push_str("pub struct Server;\n\n#[tool_router(vis = \"pub\")]\nimpl Server {\n");
    }
    for number in 0..TOOLS {
        write_tool(&mut out, kind, number);
    }
    let names = |each: fn(usize) -> String| (0..TOOLS).map(each).collect::<Vec<_>>().join(", ");
    match kind {
        Kind::Floor | Kind::Deserialize | Kind::Decoded => {}
        Kind::Ours => {
            let names = names(|number| format!("tool_{number:03}"));
            let _ =
                write!(out, "pub fn tools() -> tool_runtime::Toolset {{\n    tool_runtime::toolset!({names})\n}}\n");
        }
        Kind::Derives => {
            let calls = names(|number| format!("fn_tool(\"tool_{number:03}\", \"{}\", tool_{number:03})", doc(number)));
            let _ = write!(out, "pub fn tools() -> Vec<FnTool> {{\n    vec![{calls}]\n}}\n");
        }
        Kind::Rmcp => out.push_str("}\n"),
        Kind::Rig => {
            let handlers = names(|number| format!("ErasedHandler::new(ToolAdapter::new(Tool{number:03}))"));
            let _ = write!(
                out,
                "use rig_core::serve::{{ErasedHandler, adapters::ToolAdapter}};\n\npub fn tools() -> Vec<ErasedHandler> {{\n    vec![{handlers}]\n}}\n"
            );
        }
    }
    out
}

fn doc(number: usize) -> String {
    format!("Does number {number} of the things that can be done here.")
}

/// Returns the name, type and description of each parameter.
fn params(number: usize) -> [(&'static str, &'static str, String); 3] {
    let param = |place: usize, name| {
        (
            name,
            TYPES[(number * 2 + place * (1 + number % 3)) % TYPES.len()],
            format!("The {name} thing of number {number}."),
        )
    };
    [param(0, "first"), param(1, "second"), param(2, "third")]
}

/// Writes the struct of a tool's parameters.
fn write_struct(out: &mut String, number: usize, derives: &str) {
    let _ = write!(out, "#[derive({derives})]\npub struct Args{number:03} {{\n");
    for (name, ty, doc) in params(number) {
        let _ = write!(out, "    /// {doc}\n    pub {name}: {ty},\n");
    }
    out.push_str("}\n\n");
}

/// Writes a tool.
fn write_tool(out: &mut String, kind: Kind, number: usize) {
    let params = params(number);
    let body = format!("    let _ = (first, second, third);\n    Done {{ number: {number} }}\n");
    let unpack = format!("Args{number:03} {{ first, second, third }}");
    let doc = doc(number);
    let documented =
        || -> String { params.iter().map(|(name, ty, doc)| format!("    /// {doc}\n    {name}: {ty},\n")).collect() };
    match kind {
        Kind::Floor => {
            let list: String = params.iter().map(|(name, ty, _)| format!("{name}: {ty}, ")).collect();
            let _ = write!(out, "/// {doc}\npub async fn tool_{number:03}({list}) -> Done {{\n{body}}}\n\n");
        }
        Kind::Ours => {
            let (head, list) = ("#[tool_runtime::tool]\npub async fn", documented());
            let _ = write!(out, "/// {doc}\n{head} tool_{number:03}(\n{list}) -> Done {{\n{body}}}\n\n");
        }
        Kind::Derives | Kind::Deserialize | Kind::Decoded => {
            write_struct(
                out,
                number,
                if kind == Kind::Derives { "Deserialize, JsonSchema" } else { "serde::Deserialize" },
            );
            let _ = write!(out, "pub async fn tool_{number:03}({unpack}: Args{number:03}) -> Done {{\n{body}}}\n\n");
            if kind == Kind::Decoded {
                let read = format!("pub fn read_{number:03}(text: &str) -> serde_json::Result<Args{number:03}>");
                let _ = write!(out, "{read} {{\n    serde_json::from_str(text)\n}}\n\n");
            }
        }
        Kind::Rmcp => {
            let args = format!("Parameters({unpack}): Parameters<Args{number:03}>");
            let body = body.replace("Done {", "Json(Done {").replace(" }\n", " })\n");
            let _ = write!(
                out,
                "/// {doc}\n#[tool]\npub async fn tool_{number:03}(&self, {args}) -> Json<Done> {{\n{body}}}\n\n"
            );
        }
        Kind::Rig => {
            let (list, result) = (documented(), "Result<Done, rig_core::tool::ToolExecutionError>");
            let body = body.replace("Done {", "Ok(Done {").replace(" }\n", " })\n");
            let _ = write!(
                out,
                "/// {doc}\n#[rig_core::rig_tool]\npub async fn tool_{number:03}(\n{list}) -> {result} {{\n{body}}}\n\n"
            );
        }
    }
}

/// Writes `text` to `path`, unless the file already has this text, so that cargo does not build the crate again.
pub(crate) fn write(path: &Path, text: &str) -> io::Result<()> {
    if fs::read_to_string(path).is_ok_and(|old| old == text) {
        return Ok(());
    }
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(path, text)
}
