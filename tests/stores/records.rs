//! Placeholder while the corpus is made.
