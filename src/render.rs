//! Pure text: shell hooks and the formats that an environment or a toolchain is handed on in. Nothing here reads or writes.

pub mod export;
pub mod formats;
pub mod rc;
pub mod shells;
