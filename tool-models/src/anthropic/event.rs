//! The events of a message stream.

use serde::Deserialize;

use tool_runtime::model::Usage;

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Event {
    MessageStart {
        message: Message,
    },
    ContentBlockStart {
        index: u64,
        content_block: serde_json::Value,
    },
    ContentBlockDelta {
        index: u64,
        delta: Piece,
    },
    ContentBlockStop {
        index: u64,
    },
    MessageDelta {
        delta: End,
        usage: Option<Tokens>,
    },
    MessageStop,
    Error,
    /// `ping`, and what will be added.
    #[serde(other)]
    Other,
}

#[derive(Debug, Deserialize)]
pub(super) struct Message {
    #[serde(default)]
    pub(super) id: String,
    pub(super) usage: Option<Tokens>,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Block {
    Text {
        #[serde(default)]
        text: String,
    },
    Thinking {
        #[serde(default)]
        thinking: String,
        #[serde(default)]
        signature: String,
    },
    RedactedThinking {
        data: String,
    },
    ToolUse {
        id: String,
        name: String,
        /// Empty if it streams, the whole input from servers that do not.
        #[serde(default)]
        input: serde_json::Map<String, serde_json::Value>,
    },
    /// Tools that the provider runs itself ([`super::provided`]), and what will be added.
    #[serde(other)]
    Other,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Piece {
    TextDelta {
        text: String,
    },
    ThinkingDelta {
        thinking: String,
    },
    SignatureDelta {
        signature: String,
    },
    InputJsonDelta {
        partial_json: String,
    },
    /// Citations, and what will be added.
    #[serde(other)]
    Other,
}

#[derive(Debug, Deserialize)]
pub(super) struct End {
    pub(super) stop_reason: Option<String>,
}

/// What was counted so far; a later count replaces an earlier one, member by member.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub(super) struct Tokens {
    #[serde(rename = "input_tokens")]
    input: Option<u64>,
    #[serde(rename = "cache_creation_input_tokens")]
    written: Option<u64>,
    #[serde(rename = "cache_read_input_tokens")]
    read: Option<u64>,
    #[serde(rename = "output_tokens")]
    output: Option<u64>,
}

impl Tokens {
    pub(super) fn update(&mut self, later: Self) {
        self.input = later.input.or(self.input);
        self.written = later.written.or(self.written);
        self.read = later.read.or(self.read);
        self.output = later.output.or(self.output);
    }
}

impl From<Tokens> for Usage {
    fn from(tokens: Tokens) -> Self {
        let read = tokens.read.unwrap_or_default();
        let written = tokens.written.unwrap_or_default();
        Self {
            // The provider counts cached tokens apart.
            input_tokens: tokens.input.unwrap_or_default() + read + written,
            output_tokens: tokens.output.unwrap_or_default(),
            cached_tokens: read,
            reasoning_tokens: 0,
        }
    }
}
