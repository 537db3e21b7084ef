//! Build script: records the default index address (see `settings`).
fn main() {}
