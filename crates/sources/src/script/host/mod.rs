//! The modules tool scripts have and agents' scripts do not: one file each, one list.
//!
//! A module is its functions, a type definition file beside it, and the documentation that agents
//! and people read through the same tools as that of any source.

mod arguments;
mod base64;
mod context;
mod crypto;
mod env;
mod fs;
mod glob;
mod http;
mod log;

use std::{collections::BTreeSet, path::PathBuf, sync::Arc};

use futures_util::future::BoxFuture;
use serde_json::Value;
use toolscript_catalog::Listing;
use toolscript_luau::{HostCall, HostError, HostKind, HostMember, HostModule, library::Documented};

use crate::outbound::Guarded;

/// What one script may use.
pub(crate) struct Grants {
    /// The way out to the network.
    pub(crate) http: Guarded,
    /// The folder it may read.
    pub(crate) folder: PathBuf,
    /// The environment variables it may read.
    pub(crate) variables: BTreeSet<String>,
}

impl Grants {
    /// The modules of a script with these grants.
    pub(crate) fn modules(self) -> Vec<Arc<dyn HostModule>> {
        vec![
            base64::module(),
            crypto::module(),
            env::module(self.variables),
            fs::module(self.folder),
            http::module(&self.http),
            log::module(),
        ]
    }
}

/// The second argument of `execute`.
pub(crate) fn context(config: Value) -> Arc<dyn HostModule> {
    context::module(config)
}

/// The same modules for a script that is only being read: everything is there, nothing answers.
pub(crate) fn silenced(modules: &[Arc<dyn HostModule>]) -> Vec<Arc<dyn HostModule>> {
    modules.iter().map(silence).collect()
}

fn silence(module: &Arc<dyn HostModule>) -> Arc<dyn HostModule> {
    let mut members = module.members();
    for member in &mut members {
        if !matches!(member.kind, HostKind::Value(_)) {
            let words = format!(
                "`{}.{}` works inside `tool.execute`, not while the script is loaded",
                module.name(),
                member.name
            );
            member.kind = HostKind::Function(Arc::new(move |_| Err(HostError::failed(&*words))));
        }
    }
    Arc::new(Module {
        name: module.name().to_owned(),
        members,
    })
}

/// The documentation of one module.
struct Host {
    name: &'static str,
    about: &'static str,
    /// Its types, as Luau declarations.
    definitions: &'static str,
    functions: &'static [Documented],
}

/// All of them.
const HOSTS: &[&Host] = &[
    &base64::HOST,
    &context::HOST,
    &crypto::HOST,
    &env::HOST,
    &fs::HOST,
    &http::HOST,
    &log::HOST,
];

pub use crypto::sha256;

/// Whether there is a module of that name.
pub fn is_known(name: &str) -> bool {
    HOSTS.iter().any(|host| host.name == name) || ["json", "sleep", "sdk"].contains(&name)
}

/// Adds the modules to the listing of the sandbox's libraries.
pub fn document(listing: &mut Listing) {
    for host in HOSTS {
        let about = format!("{} (tool scripts only)", host.about);
        listing.info.groups.insert(host.name.to_owned(), about);
        for documented in host.functions {
            let mut function = documented.function(host.name);
            function.summary.push_str(" (tool scripts only)");
            listing.functions.push(function);
        }
    }
}

/// The types of the modules as Luau declarations, for a checker.
pub fn definitions() -> String {
    let definitions: Vec<&str> = HOSTS.iter().map(|host| host.definitions).collect();
    definitions.join("\n")
}

/// A module made of its members.
struct Module {
    name: String,
    members: Vec<HostMember>,
}

impl Module {
    fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            members: Vec::new(),
        }
    }

    fn value(mut self, name: &str, value: Value) -> Self {
        self.members.push(HostMember {
            name: name.to_owned(),
            kind: HostKind::Value(value),
        });
        self
    }

    /// A function that answers at once.
    fn function(
        mut self,
        name: &str,
        body: impl Fn(HostCall<'_>) -> Result<Value, HostError> + Send + Sync + 'static,
    ) -> Self {
        self.members.push(HostMember {
            name: name.to_owned(),
            kind: HostKind::Function(Arc::new(body)),
        });
        self
    }

    /// A function the script waits for.
    fn waits(
        mut self,
        name: &str,
        body: impl Fn(Vec<Value>) -> BoxFuture<'static, Result<Value, HostError>>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        self.members.push(HostMember {
            name: name.to_owned(),
            kind: HostKind::Async(Arc::new(body)),
        });
        self
    }

    fn done(self) -> Arc<dyn HostModule> {
        Arc::new(self)
    }
}

impl HostModule for Module {
    fn name(&self) -> &str {
        &self.name
    }

    fn members(&self) -> Vec<HostMember> {
        self.members.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outbound::{AllowList, Outbound};
    use serde_json::json;
    use toolscript_catalog::SourceName;

    #[test]
    fn every_function_is_documented_and_declared() {
        let grants = Grants {
            http: Outbound::new().guarded(AllowList::default()),
            folder: PathBuf::new(),
            variables: BTreeSet::new(),
        };
        let mut modules = grants.modules();
        modules.push(context(json!({})));
        let mut members: Vec<String> = modules
            .iter()
            .flat_map(|module| {
                let members = module.members().into_iter();
                members.map(|member| format!("{}.{}", module.name(), member.name))
            })
            .collect();
        let mut documented: Vec<&str> = HOSTS
            .iter()
            .flat_map(|host| host.functions.iter().map(|function| function.path))
            .collect();
        members.sort_unstable();
        documented.sort_unstable();
        assert_eq!(members, documented);
        for path in documented {
            let (module, name) = path.split_once('.').unwrap();
            let host = HOSTS.iter().find(|host| host.name == module).unwrap();
            assert!(
                host.definitions.contains(&format!("{name}:")),
                "{path} is not declared"
            );
            assert!(
                SourceName::parse(module).is_err(),
                "a source could be named `{module}`"
            );
        }
    }
}
