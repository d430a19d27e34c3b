//! `Changed`: how a source says that it has something new to list.

use std::{fmt, sync::Arc};

use toolscript_catalog::SourceName;

/// Told by a source when asking it again would give another listing: it is back after a failure,
/// its server said that the tools changed, or what it listed has grown old.
#[derive(Clone)]
pub struct Changed(Arc<dyn Fn(&SourceName) + Send + Sync>);

impl Changed {
    /// Calls `listener` with the name of every source that has something new.
    ///
    /// The listener must return at once; what takes time belongs into a task of its own.
    pub fn new(listener: impl Fn(&SourceName) + Send + Sync + 'static) -> Self {
        Self(Arc::new(listener))
    }

    /// Nobody listens.
    pub fn ignored() -> Self {
        Self::new(|_| ())
    }

    /// Says that `source` should be listed again.
    pub fn tell(&self, source: &SourceName) {
        (self.0)(source);
    }
}

impl Default for Changed {
    fn default() -> Self {
        Self::ignored()
    }
}

impl fmt::Debug for Changed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Changed")
    }
}
