//! The options of the command line.

use std::net::IpAddr;

use clap::Parser;

use crate::users::User;

#[derive(Parser)]
pub(crate) struct Options {
    /// The address to listen on.
    #[arg(long, env = "HOST", default_value = "127.0.0.1")]
    pub(crate) host: IpAddr,
    /// The port.
    #[arg(long, env = "PORT", default_value_t = 3000)]
    pub(crate) port: u16,
    /// A public name of the server, such as `chat.example`. By default, the names of loopback and its own address.
    #[arg(long)]
    pub(crate) name: Vec<String>,
    /// A user and their token. By default, one user with a random token.
    #[arg(long, value_name = "NAME=TOKEN")]
    pub(crate) user: Vec<User>,
    /// Print the types of the tools for the page, and end.
    #[arg(long)]
    pub(crate) types: bool,
}
