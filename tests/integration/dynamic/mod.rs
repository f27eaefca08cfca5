//! Dynamic parameters, as `#[dynamic]` declares them.

mod shapes;
