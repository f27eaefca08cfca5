//! Models from the environment.

use secrecy::SecretString;

use tool_runtime::model::{Model, ModelError, ModelErrorKind};

/// A function that returns the value of a variable; `None` if it is unset.
pub type Vars<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Returns the trimmed value of an environment variable, if it is set and not blank.
pub fn var(name: &str) -> Option<String> {
    std::env::var(name).ok().map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
}

/// The values of the variables that all providers share.
pub struct SharedVars {
    pub model: String,
    pub base_url: Option<String>,
    pub key: Option<SecretString>,
    pub max_tokens: Option<u32>,
}

/// Reads the variables whose names begin with `prefix`. `key_hint` describes the key in the error about a missing one. Fails if
/// the model's name is missing, if both address and key are missing, or if the limit is not a whole number from 1.
pub fn read_shared_vars(var: Vars<'_>, prefix: &str, key_hint: &str) -> Result<SharedVars, ModelError> {
    let missing =
        |name: &str, what: &str| configuration_error(format!("{prefix}_{name} is not set: it must hold {what}"));
    let get = |name: &str| var(&format!("{prefix}_{name}"));
    let model = get("MODEL").ok_or_else(|| missing("MODEL", "the name of a model"))?;
    let (base_url, key) = (get("BASE_URL"), get("API_KEY"));
    if base_url.is_none() && key.is_none() {
        return Err(missing("API_KEY", key_hint));
    }
    let limit = get("MAX_TOKENS").map(|text| {
        let invalid_limit =
            || configuration_error(format!("{prefix}_MAX_TOKENS is `{text}`: it must hold a number from 1"));
        text.parse().ok().filter(|number| *number > 0).ok_or_else(invalid_limit)
    });
    Ok(SharedVars { model, base_url, key: key.map(SecretString::from), max_tokens: limit.transpose()? })
}

fn configuration_error(message: String) -> ModelError {
    ModelError::new(ModelErrorKind::Configuration, message)
}

/// Creates the model that environment variables describe. Returns `None` if they select no provider.
///
/// Asks for Anthropic, OpenAI and Gemini, in this order:
///
/// - If `ANTHROPIC_API_KEY` is set, calls [`Anthropic::from_env`](crate::anthropic::Anthropic::from_env).
/// - Otherwise, if `OPENAI_API_KEY` or `OPENAI_BASE_URL` is set, calls [`OpenAi::from_env`](crate::openai::OpenAi::from_env).
/// - Otherwise, if `GEMINI_API_KEY` is set, calls [`Gemini::from_env`](crate::gemini::Gemini::from_env).
///
/// Fails when that function fails. A blank variable counts as unset, and so does a variable of a provider whose feature
/// (`anthropic`, `openai`, `gemini`) is off.
pub fn from_env() -> Option<Result<Box<dyn Model>, ModelError>> {
    from_vars(&var)
}

fn from_vars(var: Vars<'_>) -> Option<Result<Box<dyn Model>, ModelError>> {
    #[cfg(feature = "anthropic")]
    if var("ANTHROPIC_API_KEY").is_some() {
        return Some(crate::anthropic::Anthropic::from_vars(var).map(|model| Box::new(model) as Box<dyn Model>));
    }
    #[cfg(feature = "openai")]
    if var("OPENAI_API_KEY").is_some() || var("OPENAI_BASE_URL").is_some() {
        return Some(crate::openai::OpenAi::from_vars(var).map(|model| Box::new(model) as Box<dyn Model>));
    }
    #[cfg(feature = "gemini")]
    if var("GEMINI_API_KEY").is_some() {
        return Some(crate::gemini::Gemini::from_vars(var).map(|model| Box::new(model) as Box<dyn Model>));
    }
    None
}

#[cfg(all(test, feature = "anthropic", feature = "gemini", feature = "openai"))]
mod tests {
    use super::*;

    fn model_name(vars: &[(&str, &str)]) -> Option<Result<String, String>> {
        let var = |name: &str| vars.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
        from_vars(&var).map(|found| found.map(|model| model.name().to_owned()).map_err(|error| error.to_string()))
    }

    #[test]
    fn anthropic_comes_before_openai_and_gemini_is_last() {
        let openai = [("OPENAI_BASE_URL", "http://127.0.0.1:1/v1"), ("OPENAI_MODEL", "o")];
        let anthropic = [("ANTHROPIC_API_KEY", "k"), ("ANTHROPIC_MODEL", "a")];
        let gemini = [("GEMINI_API_KEY", "k"), ("GEMINI_MODEL", "g")];
        assert_eq!(model_name(&[]), None);
        assert_eq!(model_name(&gemini), Some(Ok("g".into())));
        assert_eq!(model_name(&[gemini, openai].concat()), Some(Ok("o".into())));
        assert_eq!(model_name(&[gemini, anthropic].concat()), Some(Ok("a".into())));
        assert_eq!(model_name(&openai), Some(Ok("o".into())));
        assert_eq!(model_name(&[openai, anthropic].concat()), Some(Ok("a".into())));
    }

    #[test]
    fn an_error_names_the_missing_variable() {
        let error = model_name(&[("OPENAI_API_KEY", "k")]).unwrap().unwrap_err();
        assert_eq!(error, "OPENAI_MODEL is not set: it must hold the name of a model");
        let error = model_name(&[("ANTHROPIC_API_KEY", "k")]).unwrap().unwrap_err();
        assert_eq!(error, "ANTHROPIC_MODEL is not set: it must hold the name of a model");
    }

    #[test]
    fn an_error_describes_a_valid_limit() {
        let limited = |limit| {
            model_name(&[("OPENAI_API_KEY", "k"), ("OPENAI_MODEL", "o"), ("OPENAI_MAX_TOKENS", limit)]).unwrap()
        };
        assert_eq!(limited("512"), Ok("o".into()));
        for limit in ["0", "many", "-1"] {
            assert_eq!(
                limited(limit).unwrap_err(),
                format!("OPENAI_MAX_TOKENS is `{limit}`: it must hold a number from 1")
            );
        }
    }
}
