//! The index and the HTTP client, made from the settings when an op first needs them.

use crate::context::Context;
use crate::index::{self, Index};
use crate::platform::http::Http;

/// The client and what to ask with it. Opening it asks nobody.
pub struct Network {
    /// The client.
    pub http: Http,
    options: index::Options,
}

impl Network {
    /// Reads the settings. Where nothing names an index, the user's pip is asked for its default.
    pub fn open(cx: &Context<'_>) -> Self {
        let options = index::Options {
            indexes: cx.settings.indexes_or_pip(cx.process),
            directories: cx.settings.directories.clone(),
            cache: cx.layout.listings(),
            fresh_for: cx.settings.fresh_for,
            unreadable: cx.settings.unreadable.clone(),
        };
        Self { http: Http::new(cx.settings.http.clone()), options }
    }

    /// Returns the index.
    pub fn index(&self) -> Index<'_> {
        Index::new(&self.http, self.options.clone())
    }
}
