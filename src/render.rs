//! Pure text: shell hooks and the formats that an environment is handed on in. Nothing here reads or writes.

pub mod formats;
pub mod rc;
pub mod shells;
//! Pure text.
pub mod export;
