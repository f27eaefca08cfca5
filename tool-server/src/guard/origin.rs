//! Origins of web pages.

use super::authority::Authority;

/// An origin that is not one, in a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidOrigin(String);

impl std::fmt::Display for InvalidOrigin {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            out,
            "invalid origin `{}`: write a scheme and a host, with a port where it is not the scheme's own and without a path, \
             such as `https://app.example`, `http://localhost:5173` or `http://localhost:*`",
            self.0
        )
    }
}

impl std::error::Error for InvalidOrigin {}

/// The origin of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Origin {
    scheme: String,
    /// With the scheme's own port where none is written.
    authority: Authority,
}

impl Origin {
    /// Reads `scheme://name` or `scheme://name:port`; `None` for anything else, such as `null`.
    pub(super) fn read(text: &str) -> Option<Self> {
        let (scheme, authority) = text.split_once("://")?;
        let is_scheme = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
        if scheme.is_empty() || !scheme.bytes().all(is_scheme) {
            return None;
        }
        let (scheme, mut authority) = (scheme.to_ascii_lowercase(), Authority::read(authority)?);
        authority.port = authority.port.or(own_port(&scheme));
        Some(Self { scheme, authority })
    }

    /// Returns `true` if a page of this origin came from `host`. The scheme does not count: TLS may end before the server.
    pub(super) fn is_of(&self, host: &Authority) -> bool {
        let port = own_port(&self.scheme).map(|own| host.port.unwrap_or(own));
        port.is_some() && self.authority.port == port && self.authority.name == host.name
    }
}

/// Returns the port that a page's address leaves out.
fn own_port(scheme: &str) -> Option<u16> {
    match scheme {
        "http" => Some(80),
        "https" => Some(443),
        _ => None,
    }
}

/// An origin that the application allows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AllowedOrigin {
    origin: Origin,
    at_any_port: bool,
}

impl AllowedOrigin {
    /// Reads an origin, whose port may be `*`.
    pub(crate) fn read(text: &str) -> Result<Self, InvalidOrigin> {
        let (origin, at_any_port) = match text.strip_suffix(":*") {
            // Another port before the star would be one too many here.
            Some(origin) => (Origin::read(&format!("{origin}:1")), true),
            None => (Origin::read(text), false),
        };
        let origin = origin.ok_or_else(|| InvalidOrigin(text.to_owned()))?;
        Ok(Self { origin, at_any_port })
    }

    pub(super) fn covers(&self, asked: &Origin) -> bool {
        let Origin { scheme, authority } = &self.origin;
        let is_port = self.at_any_port || authority.port == asked.authority.port;
        *scheme == asked.scheme && authority.name == asked.authority.name && is_port
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed(text: &str) -> AllowedOrigin {
        AllowedOrigin::read(text).unwrap()
    }

    fn origin(text: &str) -> Origin {
        Origin::read(text).unwrap_or_else(|| panic!("{text}"))
    }

    #[test]
    fn other_texts_are_no_origins() {
        for text in [
            "",
            "null",
            "*",
            "app.example",
            "https://",
            "://app.example",
            "https://app.example/",
            "https://app.example/page",
            "https://me@app.example",
            "https://*.app.example",
            "https://app.example:443:*",
            "https://app.example:*:*",
            "https://app.example https://evil.example",
            "null:*",
        ] {
            let error = AllowedOrigin::read(text).unwrap_err().to_string();
            assert!(error.starts_with(&format!("invalid origin `{text}`: ")), "{error}");
        }
    }

    #[test]
    fn an_origin_is_a_scheme_a_name_and_a_port() {
        for (setting, asked) in [
            ("https://app.example", "https://app.example"),
            ("https://app.example", "HTTPS://App.Example:443"),
            ("http://localhost:*", "http://localhost"),
            ("http://localhost:*", "http://localhost:5173"),
            ("http://[::1]:*", "http://[::1]:5173"),
            ("chrome-extension://abcdef", "chrome-extension://abcdef"),
        ] {
            assert!(allowed(setting).covers(&origin(asked)), "{setting}, {asked}");
        }
        for (setting, asked) in [
            ("https://app.example", "http://app.example"),
            ("https://app.example", "https://app.example:8443"),
            ("https://app.example", "https://evil.app.example"),
            ("https://app.example", "https://app.example.evil.example"),
            ("http://localhost:*", "https://localhost"),
        ] {
            assert!(!allowed(setting).covers(&origin(asked)), "{setting}, {asked}");
        }
    }

    #[test]
    fn a_page_of_the_server_itself_has_its_host() {
        let is_own = |page: &str, host: &str| origin(page).is_of(&Authority::read(host).unwrap());
        for (page, host) in [
            ("http://localhost:3000", "LOCALHOST:3000"),
            ("https://app.example", "app.example"),
            ("https://app.example", "app.example:443"),
            ("http://app.example", "app.example:80"),
            ("https://app.example:3000", "app.example:3000"),
        ] {
            assert!(is_own(page, host), "{page}, {host}");
        }
        for (page, host) in [
            ("http://localhost:3001", "localhost:3000"),
            ("http://localhost", "localhost:3000"),
            ("http://localhost:3000", "localhost"),
            ("http://127.0.0.1:3000", "localhost:3000"),
            ("http://evil.example:3000", "localhost:3000"),
            ("tauri://localhost", "localhost"),
        ] {
            assert!(!is_own(page, host), "{page}, {host}");
        }
    }
}
