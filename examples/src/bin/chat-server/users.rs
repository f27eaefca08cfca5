//! The users of the server: names and bearer tokens.

use std::str::FromStr;

use tool_stores::sealed::Key;

/// A user's name, and the bearer token that authenticates the user.
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

/// Returns the users' tokens, with their names. If there are no users, creates a token for one called `you`.
pub(crate) fn tokens(users: Vec<User>) -> Vec<(String, String)> {
    if users.is_empty() {
        return vec![(Key::generate_base64(), "you".to_owned())];
    }
    users.into_iter().map(|user| (user.token, user.name)).collect()
}
