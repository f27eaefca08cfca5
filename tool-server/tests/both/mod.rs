//! What holds for both protocols of frontends.

mod deep;
mod inside;
mod twice;
mod yields;
