//! Where listings come from: the index, or a table in a test.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::domain::listing::{Listing, WheelFile};
use crate::index;

/// Answers what the resolver asks.
pub trait Source: Sync {
    /// Returns what the index lists for a distribution.
    fn listing(&self, distribution: &str) -> Result<Arc<Listing>, index::Error>;

    /// Returns the METADATA of a wheel.
    fn metadata(&self, wheel: &WheelFile) -> Result<String, index::Error>;

    /// Fetches several listings at once, so that the questions that follow are answered from memory.
    fn prefetch(&self, distributions: &[&str]) -> Result<(), index::Error>;
}

/// An index whose listings are asked for once.
pub struct Shelf<'a> {
    index: &'a index::Index<'a>,
    listings: Mutex<HashMap<String, Arc<Listing>>>,
}

impl<'a> Shelf<'a> {
    /// Asks nobody yet.
    pub fn new(index: &'a index::Index<'a>) -> Self {
        Self { index, listings: Mutex::default() }
    }

    fn shelf(&self) -> std::sync::MutexGuard<'_, HashMap<String, Arc<Listing>>> {
        self.listings.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Source for Shelf<'_> {
    fn listing(&self, distribution: &str) -> Result<Arc<Listing>, index::Error> {
        if let Some(listing) = self.shelf().get(distribution) {
            return Ok(Arc::clone(listing));
        }
        let listing = Arc::new(self.index.listing(distribution)?);
        self.shelf().insert(distribution.to_owned(), Arc::clone(&listing));
        Ok(listing)
    }

    fn metadata(&self, wheel: &WheelFile) -> Result<String, index::Error> {
        self.index.metadata(wheel)
    }

    fn prefetch(&self, distributions: &[&str]) -> Result<(), index::Error> {
        let missing: Vec<&str> = {
            let shelf = self.shelf();
            distributions.iter().copied().filter(|name| !shelf.contains_key(*name)).collect()
        };
        for (name, listing) in missing.iter().zip(self.index.listings(&missing)) {
            match listing {
                Ok(listing) => {
                    self.shelf().insert((*name).to_owned(), Arc::new(listing));
                }
                // Whoever needs it asks again and decides whether that is an error.
                Err(index::Error::NotFound { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}
