//! The `cuenv` command.
fn main() {}
