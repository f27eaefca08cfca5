//! Addresses, as hosts and other clients write them.

use std::{fmt, net::IpAddr};

use tokio_postgres::{
    Config,
    config::{Host, SslMode},
};

use super::{
    StoreError,
    pool::{POOL_TIMEOUT, describe},
};

/// An address that was read.
pub struct Address {
    pub config: Config,
    /// The schema that the address names, as Prisma's do.
    pub schema: Option<String>,
    /// The maximum number of connections that the address names.
    pub connections: Option<usize>,
    /// Set if the address names a pooler with `pgbouncer=true`.
    pub is_pooler: bool,
    /// The option that demands TLS, as it was written.
    #[cfg_attr(feature = "postgres-tls", allow(dead_code, reason = "only a program without TLS reports it"))]
    pub tls_option: String,
}

impl fmt::Debug for Address {
    // The configuration has the password.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Address").finish_non_exhaustive()
    }
}

/// Options of other clients that change nothing here, because the store finds out whether it can name its statements, has a pool of
/// its own, and always checks certificates.
const IGNORED: &[&str] = &[
    "pool_mode",
    "pool_timeout",
    "pool_size",
    "pool_max_conns",
    "statement_cache_size",
    "statement_cache_capacity",
    "statement_cache_mode",
    "statement_cache_max_lifetime",
    "default_query_exec_mode",
    "prepared_statements",
    "preparethreshold",
    "uselibpqcompat",
    "sslsni",
    "supa",
    "workaround",
];

/// The effect of one option of an address.
enum Effect {
    /// The option stays, with this value.
    Keep(String),
    /// The option was read, or has no effect here.
    Done,
}

impl Address {
    /// Reads a URL such as `postgres://user@host/database?sslmode=require`, or a list `host=… user=…`.
    ///
    /// Fails at an invalid address, and at an option that is unsupported, with the remedy.
    pub fn parse(text: &str) -> Result<Self, StoreError> {
        let mut address = Self {
            config: Config::new(),
            schema: None,
            connections: None,
            is_pooler: false,
            tls_option: String::new(),
        };
        let text = text.trim();
        let kept = if text.starts_with("postgres://") || text.starts_with("postgresql://") {
            address.read_url(text)?
        } else if text.split("://").next().is_some_and(|start| start.contains('=')) {
            address.read_list(text)?
        } else {
            return Err(invalid("use a URL such as `postgres://user@host/database`"));
        };
        let config: Config =
            kept.parse().map_err(|error: tokio_postgres::Error| invalid(&remedy(&describe(&error))))?;
        address.config = config;
        let config = &mut address.config;
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(POOL_TIMEOUT);
        }
        if config.get_application_name().is_none() {
            config.application_name("tool-runtime");
        }
        let is_local = !config.get_hosts().is_empty() && config.get_hosts().iter().all(is_local);
        if config.get_ssl_mode() == SslMode::Prefer && is_local {
            config.ssl_mode(SslMode::Disable);
        }
        Ok(address)
    }

    /// Reads the options of a URL. Returns the URL for the client.
    fn read_url(&mut self, url: &str) -> Result<String, StoreError> {
        // The password ends at the first `@`, and may contain a question mark.
        let start = url.find('@').unwrap_or(0);
        let Some(at) = url[start..].find('?').map(|at| start + at) else { return Ok(url.to_owned()) };
        let options = url[at + 1..].split('&').filter(|option| !option.is_empty()).map(|option| {
            let (key, value) = option.split_once('=').unwrap_or((option, ""));
            (decode(key), decode(value), option)
        });
        let mut kept = Vec::new();
        let mut mode = None;
        for (key, value, written) in options {
            match self.read_option(&key, &value, &mut mode)? {
                Effect::Keep(now) if now == value => kept.push(written.to_owned()),
                Effect::Keep(now) => kept.push(format!("{key}={now}")),
                Effect::Done => {}
            }
        }
        kept.extend(mode.map(|mode| format!("sslmode={mode}")));
        let mark = if kept.is_empty() { "" } else { "?" };
        Ok(format!("{}{mark}{}", &url[..at], kept.join("&")))
    }

    /// Reads the options of a list. Returns the list for the client, which reads quoted values itself.
    fn read_list(&mut self, list: &str) -> Result<String, StoreError> {
        if list.contains(['\'', '\\']) || list.split_whitespace().any(|option| !option.contains('=')) {
            return Ok(list.to_owned());
        }
        let mut kept = Vec::new();
        let mut mode = None;
        for (key, value) in list.split_whitespace().filter_map(|option| option.split_once('=')) {
            if let Effect::Keep(value) = self.read_option(key, value, &mut mode)? {
                kept.push(format!("{key}={value}"));
            }
        }
        kept.extend(mode.map(|mode| format!("sslmode={mode}")));
        Ok(kept.join(" "))
    }

    /// Reads one option. `mode` is the strictest `sslmode` so far, in the client's words.
    fn read_option(&mut self, key: &str, value: &str, mode: &mut Option<&'static str>) -> Result<Effect, StoreError> {
        let refuse = |remedy: &str| Err(invalid(&format!("`{key}={value}` is not supported: {remedy}")));
        let demanded = match (key, value) {
            ("sslmode", "disable") | ("ssl", "false" | "0") => "disable",
            ("sslmode", "allow" | "prefer") => "prefer",
            // The client always checks the certificate and the name.
            ("sslmode", "require" | "verify-ca" | "verify-full")
            | ("ssl", "true" | "1" | "")
            | ("sslrootcert", "system") => "require",
            ("sslmode" | "ssl", _) => {
                return refuse(
                    "with TLS, the store always checks the server's certificate; use `verify-full`, and name the file of a \
                     private authority in the environment variable `SSL_CERT_FILE`",
                );
            }
            ("sslrootcert" | "sslcrl" | "sslcrldir", _) => {
                return refuse(
                    "remove it, and name the file of the authorities in the environment variable `SSL_CERT_FILE`",
                );
            }
            ("sslcert" | "sslkey" | "sslpassword" | "sslidentity", _) => {
                return refuse("remove it: the store has no certificates of clients; use a password");
            }
            ("sslaccept", "strict") | ("gssencmode", "disable" | "prefer") | ("fallback_application_name", _) => {
                return Ok(Effect::Done);
            }
            ("sslaccept" | "gssencmode", _) => return refuse("remove it, and use `sslmode=verify-full`"),
            ("client_encoding", _) if ["utf8", "utf-8", "unicode"].contains(&&*value.to_lowercase()) => {
                return Ok(Effect::Done);
            }
            ("pgbouncer", _) => {
                self.is_pooler = value != "false";
                return Ok(Effect::Done);
            }
            ("schema", _) => {
                self.schema = Some(value.to_owned());
                return Ok(Effect::Done);
            }
            ("connection_limit", _) => {
                let Ok(limit) = value.parse() else { return refuse("use a number") };
                self.connections = Some(limit);
                return Ok(Effect::Done);
            }
            _ if IGNORED.contains(&&*key.to_lowercase()) => return Ok(Effect::Done),
            _ => return Ok(Effect::Keep(value.to_owned())),
        };
        let rank = |mode: &str| ["disable", "prefer", "require"].iter().position(|known| *known == mode);
        if mode.is_none_or(|earlier| rank(demanded) > rank(earlier)) {
            *mode = Some(demanded);
            self.tls_option = format!("{key}={value}");
        }
        Ok(Effect::Done)
    }
}

fn invalid(text: &str) -> StoreError {
    StoreError::unavailable(format!("invalid address of the PostgreSQL server: {text}"))
}

/// Adds the remedy to the client's error about an unknown option.
fn remedy(error: &str) -> String {
    if error.contains("unknown option") { format!("{error}: remove it from the address") } else { error.to_owned() }
}

/// Returns whether the host is this machine, so that the traffic does not leave it.
fn is_local(host: &Host) -> bool {
    match host {
        Host::Tcp(name) => name == "localhost" || name.parse().is_ok_and(|address: IpAddr| address.is_loopback()),
        #[cfg(unix)]
        Host::Unix(_) => true,
    }
}

/// Decodes `%41` in a part of a URL. Leaves an invalid code as it is.
fn decode(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let code = after.get(..2).filter(|_| first == b'%').and_then(|code| std::str::from_utf8(code).ok());
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use tokio_postgres::config::ChannelBinding;

    use super::*;

    fn read(url: &str) -> Address {
        Address::parse(url).unwrap_or_else(|error| panic!("{url}: {error}"))
    }

    fn refusal(url: &str) -> String {
        Address::parse(url).unwrap_err().to_string()
    }

    #[test]
    fn addresses_of_hosts_are_read() {
        let neon = read(
            "postgresql://app:p%40ss@ep-x-pooler.eu-central-1.aws.neon.tech/neondb?sslmode=require&channel_binding=require\
             &options=endpoint%3Dep-x",
        );
        assert_eq!(neon.config.get_ssl_mode(), SslMode::Require);
        assert_eq!(neon.config.get_channel_binding(), ChannelBinding::Require);
        assert_eq!(neon.config.get_options(), Some("endpoint=ep-x"));
        assert_eq!(neon.config.get_password(), Some(&b"p@ss"[..]));
        let supabase = read(
            "postgres://postgres.abc:p?w@aws-0-eu-west-1.pooler.supabase.com:6543/postgres?pgbouncer=true\
             &connection_limit=1&supa=base-pooler.x&sslmode=verify-full",
        );
        assert_eq!((supabase.config.get_ports(), supabase.connections), (&[6543][..], Some(1)));
        assert!(supabase.is_pooler && !neon.is_pooler);
        assert_eq!(supabase.config.get_ssl_mode(), SslMode::Require);
        assert_eq!(supabase.config.get_password(), Some(&b"p?w"[..]));
        let prisma = read("postgresql://app@db.example:5432/app?schema=public&sslaccept=strict&pool_timeout=0");
        assert_eq!((prisma.schema.as_deref(), prisma.config.get_dbname()), (Some("public"), Some("app")));
        assert_eq!(prisma.config.get_ssl_mode(), SslMode::Prefer);
        let heroku = read("postgres://u:p@ec2-1.compute-1.amazonaws.com:5432/d1?ssl=true");
        assert_eq!(heroku.config.get_ssl_mode(), SslMode::Require);
        let list = read("host=db.example user=app sslmode=verify-ca dbname=app");
        assert_eq!((list.config.get_ssl_mode(), list.config.get_user()), (SslMode::Require, Some("app")));
    }

    #[test]
    fn the_demand_for_tls_is_never_weakened() {
        for option in ["require", "verify-ca", "verify-full"] {
            for url in ["postgres://u@db.example/x", "postgres://u@127.0.0.1/x", "postgres://u@localhost/x"] {
                assert_eq!(read(&format!("{url}?sslmode={option}")).config.get_ssl_mode(), SslMode::Require, "{url}");
            }
        }
        for options in ["sslmode=require&ssl=false", "sslmode=prefer&sslrootcert=system", "ssl=true&sslmode=disable"] {
            assert_eq!(read(&format!("postgres://u@db/x?{options}")).config.get_ssl_mode(), SslMode::Require);
        }
        assert_eq!(read("postgres://u@localhost/x").config.get_ssl_mode(), SslMode::Disable);
        for weak in ["sslmode=no-verify", "ssl=no-verify", "sslmode=verify_full", "sslaccept=accept_invalid_certs"] {
            assert!(refusal(&format!("postgres://u@db/x?{weak}")).contains("verify-full"), "{weak}");
        }
    }

    #[test]
    fn what_is_no_address_is_refused_with_the_right_form() {
        for address in ["", "127.0.0.1", "db.example:5432", "mysql://u@db/x?charset=utf8"] {
            assert!(refusal(address).ends_with("use a URL such as `postgres://user@host/database`"), "{address}");
        }
        assert_eq!(read("host=db password=x://y").config.get_password(), Some(&b"x://y"[..]));
    }

    #[test]
    fn other_options_are_refused_with_the_remedy() {
        for (option, remedy) in [
            ("sslrootcert=/a", "SSL_CERT_FILE"),
            ("sslcert=/a", "use a password"),
            ("connection_limit=many", "use a number"),
            ("search_path=a", "remove it from the address"),
        ] {
            let text = refusal(&format!("postgres://db/x?{option}"));
            let (name, _) = option.split_once('=').unwrap();
            assert!(text.contains(name) && text.contains(remedy), "{text}");
        }
        assert!(refusal("mysql://db/x").contains("invalid address"));
        for odd in ["postgres://a@b@c/x?%", "postgres://?&&=&%zz", "postgres://ü@h/x?sslmode", "", "?sslmode=require"]
        {
            drop(Address::parse(odd));
        }
    }

    #[tokio::test]
    async fn required_encryption_needs_the_feature() {
        let created = super::super::pool::create_dial(&read("postgres://db.example/x?sslmode=verify-full"));
        if cfg!(feature = "postgres-tls") {
            assert!(created.is_ok());
        } else {
            let text = created.map(|_| ()).unwrap_err().to_string();
            assert!(text.contains("postgres-tls") && text.contains("sslmode=verify-full"), "{text}");
        }
    }
}
