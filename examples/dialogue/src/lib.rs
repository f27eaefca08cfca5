//! A model without a network, which understands some sentences. The examples use it in place of a language model.
#![forbid(unsafe_code)]

mod dialogue;

pub use dialogue::DialogueModel;
