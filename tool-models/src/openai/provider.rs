//! Whose server an address is.

/// Hosts, and what OpenTelemetry calls their providers. What is below a host is of the same provider.
const KNOWN: [(&str, &str); 10] = [
    ("api.openai.com", "openai"),
    ("openai.azure.com", "azure.ai.openai"),
    ("services.ai.azure.com", "azure.ai.inference"),
    ("generativelanguage.googleapis.com", "gcp.gemini"),
    ("api.mistral.ai", "mistral_ai"),
    ("api.deepseek.com", "deepseek"),
    ("api.groq.com", "groq"),
    ("api.x.ai", "x_ai"),
    ("api.perplexity.ai", "perplexity"),
    ("api.cohere.ai", "cohere"),
];

/// The provider of a server at `url`; `None` for one that nobody knows, such as one's own.
pub(super) fn of(url: &str) -> Option<&'static str> {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let host = rest.split(['/', ':', '?']).next()?;
    let is = |known: &str| host.strip_suffix(known).is_some_and(|sub| sub.is_empty() || sub.ends_with('.'));
    KNOWN.iter().find(|(known, _)| is(known)).map(|(_, name)| *name)
}

#[cfg(test)]
mod tests {
    use super::of;

    #[test]
    fn providers_by_their_hosts() {
        assert_eq!(of("https://api.openai.com/v1"), Some("openai"));
        assert_eq!(of("https://mine.openai.azure.com:443/openai/v1"), Some("azure.ai.openai"));
        assert_eq!(of("https://generativelanguage.googleapis.com/v1beta/openai"), Some("gcp.gemini"));
        assert_eq!(of("http://127.0.0.1:8080/v1"), None);
        assert_eq!(of("https://notapi.openai.com.evil.example/v1"), None);
    }
}
