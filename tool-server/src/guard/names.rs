//! The names that a server is reached by, and the origins of web pages.

use std::{fmt, net::Ipv6Addr};

/// A name or an address, with or without a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Authority {
    /// In lower case; an IPv6 address in brackets and in its shortest form.
    pub name: String,
    pub port: Option<u16>,
}

impl Authority {
    /// Reads what an application has written, where an IPv6 address needs no brackets.
    pub fn of_setting(text: &str) -> Option<Self> {
        Self::read(text)
            .or_else(|| text.parse().ok().map(|address: Ipv6Addr| Self { name: format!("[{address}]"), port: None }))
    }

    /// Reads `name`, `name:port`, `[::1]` or `[::1]:port`; `None` for anything else, such as one with a user or a path.
    pub fn read(text: &str) -> Option<Self> {
        let (name, port) = match text.rsplit_once(':') {
            Some((name, port)) if !port.ends_with(']') => (name, Some(port)),
            _ => (text, None),
        };
        let port = match port {
            // The standard library's parser accepts a sign, too.
            Some(port) if port.starts_with('+') => return None,
            Some(port) => Some(port.parse().ok()?),
            None => None,
        };
        let is_name = |name: &str| {
            !name.is_empty()
                && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_'))
        };
        let name = match name.strip_prefix('[').and_then(|name| name.strip_suffix(']')) {
            Some(address) => format!("[{}]", address.parse::<Ipv6Addr>().ok()?),
            None if is_name(name) => name.to_ascii_lowercase(),
            None => return None,
        };
        Some(Self { name, port })
    }

    /// Returns `true` if it is a name of loopback, at any port.
    pub fn is_loopback(&self) -> bool {
        matches!(&*self.name, "localhost" | "127.0.0.1" | "[::1]")
    }

    /// Returns `true` if `asked` is this name: at this port, or at any port where this has none.
    pub fn covers(&self, asked: &Self) -> bool {
        self.name == asked.name && (self.port.is_none() || self.port == asked.port)
    }
}

impl fmt::Display for Authority {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.name)?;
        self.port.map_or(Ok(()), |port| write!(out, ":{port}"))
    }
}

/// An origin that is not one, in a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidOrigin(String);

impl fmt::Display for InvalidOrigin {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
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
pub struct Origin {
    scheme: String,
    /// With the scheme's own port where none is written.
    authority: Authority,
}

impl Origin {
    /// Reads `scheme://name` or `scheme://name:port`; `None` for anything else, such as `null`.
    pub fn read(text: &str) -> Option<Self> {
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
    pub fn is_of(&self, host: &Authority) -> bool {
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
pub struct AllowedOrigin {
    origin: Origin,
    at_any_port: bool,
}

impl AllowedOrigin {
    /// Reads an origin, whose port may be `*`.
    pub fn read(text: &str) -> Result<Self, InvalidOrigin> {
        let (origin, at_any_port) = match text.strip_suffix(":*") {
            // Another port before the star would be one too many here.
            Some(origin) => (Origin::read(&format!("{origin}:1")), true),
            None => (Origin::read(text), false),
        };
        let origin = origin.ok_or_else(|| InvalidOrigin(text.to_owned()))?;
        Ok(Self { origin, at_any_port })
    }

    pub fn covers(&self, asked: &Origin) -> bool {
        let Origin { scheme, authority } = &self.origin;
        let is_port = self.at_any_port || authority.port == asked.authority.port;
        *scheme == asked.scheme && authority.name == asked.authority.name && is_port
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Authority {
        Authority::read(text).unwrap_or_else(|| panic!("{text}"))
    }

    #[test]
    fn names_are_read_in_one_form() {
        for (text, form) in [
            ("LocalHost", "localhost"),
            ("localhost:3000", "localhost:3000"),
            ("127.0.0.1:80", "127.0.0.1:80"),
            ("[::1]", "[::1]"),
            ("[0:0:0:0:0:0:0:1]:3000", "[::1]:3000"),
            ("my_service.internal:1", "my_service.internal:1"),
        ] {
            assert_eq!(read(text).to_string(), form);
        }
        assert_eq!(Authority::of_setting("::1"), Some(read("[::1]")));
    }

    #[test]
    fn other_texts_are_no_names() {
        for text in [
            "",
            ":",
            ":80",
            "localhost:",
            "localhost:+80",
            "localhost:65536",
            "localhost:80:80",
            "evil@localhost",
            "localhost@evil",
            "localhost/",
            "http://localhost",
            "localhost evil",
            "localhost,evil",
            "[localhost]",
            "[::1",
            "::1",
            "::1]",
            "[::1]x",
            "[[::1]]",
            "lócalhost",
            "*",
        ] {
            assert_eq!(Authority::read(text), None, "{text}");
        }
    }

    #[test]
    fn a_name_without_a_port_covers_every_port() {
        assert!(read("a.example").covers(&read("A.example")) && read("a.example").covers(&read("a.example:1")));
        assert!(read("a.example:1").covers(&read("a.example:1")));
        for asked in ["a.example", "a.example:2", "b.a.example:1", "example:1"] {
            assert!(!read("a.example:1").covers(&read(asked)), "{asked}");
        }
    }

    #[test]
    fn only_three_names_are_loopback() {
        for text in ["localhost", "LOCALHOST:1", "127.0.0.1", "[::1]:3000"] {
            assert!(read(text).is_loopback(), "{text}");
        }
        for text in ["localhost.evil.example", "127.0.0.1.evil.example", "127.0.0.2", "0.0.0.0", "[::]", "localhost."] {
            assert!(!read(text).is_loopback(), "{text}");
        }
    }

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
