//! Addresses of servers, and the origin of a provider's data: its format and its host. Only this origin gets the data back.

/// Returns the origin of data in `format` from the server at `url`.
#[cfg(any(feature = "gemini", feature = "openai"))]
pub fn origin(format: &str, url: &str) -> String {
    format!("{format}@{}", host_of(url))
}

/// Returns the host in `url`, without its port.
pub fn host_of(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    match host.split_once(']') {
        Some((address, _)) => address.trim_start_matches('['),
        None => host.split(':').next().unwrap_or_default(),
    }
}

/// Returns the address of `path` below the base address `base`, which may have a query.
pub fn join(base: &str, path: &str) -> String {
    let (base, query) = base.split_once('?').unwrap_or((base, ""));
    let base = base.trim_end_matches('/');
    match (query, path.contains('?')) {
        ("", _) => format!("{base}/{path}"),
        (query, false) => format!("{base}/{path}?{query}"),
        (query, true) => format!("{base}/{path}&{query}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_stays_behind_the_path() {
        let azure = "https://x.openai.azure.com/openai/deployments/d/?api-version=2024-10-21";
        let joined = "https://x.openai.azure.com/openai/deployments/d/chat/completions?api-version=2024-10-21";
        assert_eq!(join(azure, "chat/completions"), joined);
        assert_eq!(join("https://a/v1?b", "m:stream?alt=sse"), "https://a/v1/m:stream?alt=sse&b");
        assert_eq!(join("https://a//", "b"), "https://a/b");
    }

    #[test]
    fn the_host_is_without_its_port() {
        let hosts =
            ["https://api.openai.com/v1", "http://[::1]:8080/v1", "http://u:p@localhost:8080?a", "localhost", ""];
        assert_eq!(hosts.map(host_of), ["api.openai.com", "::1", "localhost", "localhost", ""]);
        assert_eq!(origin("chat", "https://api.x.ai/v1"), "chat@api.x.ai");
    }
}
