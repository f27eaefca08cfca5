//! The users of the server: names and bearer tokens.

use std::{collections::HashMap, str::FromStr};

use tool_runtime::run::Principal;
use tool_stores::sealed::Key;

/// A name, and the token by which its owner is known.
#[derive(Clone, Debug)]
pub(crate) struct User {
    name: String,
    token: String,
}

impl FromStr for User {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once('=') {
            Some((name, token)) if !name.is_empty() && token.len() >= 8 => {
                Ok(Self { name: name.to_owned(), token: token.to_owned() })
            }
            _ => Err("expected NAME=TOKEN, with a token of at least 8 characters"),
        }
    }
}

/// Names by their tokens. Looking one up takes as long for every token that is not known: it is hashed with a secret.
pub(crate) struct Users(HashMap<String, String>);

impl Users {
    pub(crate) fn new(mut users: Vec<User>) -> Self {
        if users.is_empty() {
            users.push(User { name: "you".to_owned(), token: Key::generate() });
        }
        Self(users.into_iter().map(|user| (user.token, user.name)).collect())
    }

    pub(crate) fn find(&self, token: &str) -> Option<Principal> {
        self.0.get(token).map(|name| name.as_str().into())
    }

    /// Names and tokens.
    pub(crate) fn each(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(token, name)| (name.as_str(), token.as_str()))
    }
}
