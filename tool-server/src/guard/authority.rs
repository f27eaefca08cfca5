//! Names that a server is reached by.

use std::net::Ipv6Addr;

/// A name or an address, with or without a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Authority {
    /// In lower case; an IPv6 address in brackets and in its shortest form.
    pub(super) name: String,
    pub(super) port: Option<u16>,
}

impl Authority {
    /// Reads what an application has written, where an IPv6 address needs no brackets.
    pub(super) fn of_setting(text: &str) -> Option<Self> {
        Self::read(text)
            .or_else(|| text.parse().ok().map(|address: Ipv6Addr| Self { name: format!("[{address}]"), port: None }))
    }

    /// Reads `name`, `name:port`, `[::1]` or `[::1]:port`; `None` for anything else, such as one with a user or a path.
    pub(super) fn read(text: &str) -> Option<Self> {
        let (name, port) = match text.rsplit_once(':') {
            Some((name, port)) if !port.ends_with(']') => (name, Some(port)),
            _ => (text, None),
        };
        let port = match port {
            // The standard library's parser takes a sign, too.
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
    pub(super) fn is_loopback(&self) -> bool {
        matches!(&*self.name, "localhost" | "127.0.0.1" | "[::1]")
    }

    /// Returns `true` if `asked` is this name: at this port, or at any port where this has none.
    pub(super) fn covers(&self, asked: &Self) -> bool {
        self.name == asked.name && (self.port.is_none() || self.port == asked.port)
    }
}

impl std::fmt::Display for Authority {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(&self.name)?;
        self.port.map_or(Ok(()), |port| write!(out, ":{port}"))
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
}
