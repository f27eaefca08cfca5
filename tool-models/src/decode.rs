//! From the events of a provider's stream to deltas.

use tool_runtime::model::{Delta, ModelError};

/// A decoder of one provider's stream: pure, so that recorded streams can be replayed without a network.
///
/// The deltas do not depend on how the bytes of the stream were cut into chunks.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no decoder of a provider's stream",
    label = "`Decode` is not implemented",
    note = "implement `Decode` for it: it turns the events of one answer into deltas"
)]
pub trait Decode: Send {
    /// Takes the data of the next event of the stream. After an error the decoder is not used any more.
    fn event(&mut self, data: &str) -> Result<Vec<Delta>, ModelError>;

    /// Takes the end of the stream: gives what is still to be said, [`Delta::Finish`] last, unless it was given
    /// already. Fails if the stream was cut off before the model had finished.
    fn end(&mut self) -> Result<Vec<Delta>, ModelError>;
}
