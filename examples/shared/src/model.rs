//! The selection of an example's model: one that the environment names, or one without a network.

use example_dialogue::DialogueModel;
use tool_models::from_env;
use tool_runtime::model::Model;

/// Returns the model that the environment names (`ANTHROPIC_*`, `OPENAI_*`, `GEMINI_*`), or else [`DialogueModel`], which needs neither a
/// key nor a network.
///
/// Ends the program with an explanation when the environment names a model that cannot be used.
pub fn model() -> Box<dyn Model> {
    model_or(DialogueModel::new())
}

/// Returns the model that the environment names, or else `otherwise`. Ends the program as [`model`] does.
pub fn model_or(otherwise: impl Model + 'static) -> Box<dyn Model> {
    named_model().unwrap_or_else(|| Box::new(otherwise))
}

/// Returns the model that the environment names, if it names one.
///
/// Ends the program with an explanation when the environment names a model that cannot be used.
pub fn named_model() -> Option<Box<dyn Model>> {
    match from_env()? {
        Ok(model) => {
            eprintln!("(model: {})", model.name());
            Some(model)
        }
        Err(error) => {
            eprintln!("{error}");
            std::process::exit(2);
        }
    }
}
