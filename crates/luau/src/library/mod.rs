//! The libraries of ours that every script has: one file each, one list.
//!
//! A library is a function that puts it into the globals, a type definition file beside it, and
//! the documentation agents read through the same tools as that of any source.

mod guide;
mod json;
mod parallel;
pub(crate) mod print;
mod proxy;
mod result;
mod sleep;

use mlua::{Lua, Table};
use toolscript_catalog::{Effect, Function, FunctionName, Listing, SourceInfo};

use crate::prelude::Prelude;

/// One library.
struct Library {
    /// What it is about, for the documentation.
    name: &'static str,
    about: &'static str,
    /// Its types, as Luau declarations.
    definitions: &'static str,
    functions: &'static [Documented],
    install: fn(&Lua, &Prelude, &Table) -> mlua::Result<()>,
}

/// The documentation of one function of a library, or of a module for trusted scripts.
#[derive(Debug)]
pub struct Documented {
    /// `json.encode`.
    pub path: &'static str,
    /// `json.encode(value: any): string`.
    pub signature: &'static str,
    /// One line.
    pub summary: &'static str,
    /// The rest.
    pub description: &'static str,
}

impl Documented {
    /// The function as it stands in a listing, in the group of its library.
    pub fn function(&self, library: &str) -> Function {
        Function {
            name: FunctionName::clean(self.path),
            original: self.path.to_owned(),
            group: library.to_owned(),
            summary: self.summary.to_owned(),
            description: self.description.to_owned(),
            effect: Effect::Reads,
            signature: self.signature.to_owned(),
            ..Function::default()
        }
    }
}

/// All of them.
const LIBRARIES: &[Library] = &[
    guide::LIBRARY,
    json::LIBRARY,
    parallel::LIBRARY,
    print::LIBRARY,
    proxy::LIBRARY,
    result::LIBRARY,
    sleep::LIBRARY,
];

/// Puts every library into the globals.
pub(crate) fn install(lua: &Lua, prelude: &Prelude, base: &Table) -> mlua::Result<()> {
    LIBRARIES
        .iter()
        .try_for_each(|library| (library.install)(lua, prelude, base))
}

/// What the libraries offer, as the listing of the source `luau`.
pub fn listing() -> Listing {
    let functions = LIBRARIES.iter().flat_map(|library| {
        let functions = library.functions.iter();
        functions.map(|documented| documented.function(library.name))
    });
    let groups = LIBRARIES
        .iter()
        .map(|library| (library.name.to_owned(), library.about.to_owned()))
        .collect();
    Listing {
        info: SourceInfo {
            kind: "library".to_owned(),
            title: "Libraries of the sandbox".to_owned(),
            description: "What every script has besides the standard libraries of Luau. \
                          These functions are called by their own names, not through `sdk`."
                .to_owned(),
            groups,
            ..SourceInfo::default()
        },
        functions: functions.collect(),
        ..Listing::default()
    }
}

/// The types of the libraries as Luau declarations, for a checker.
pub fn definitions() -> String {
    LIBRARIES
        .iter()
        .map(|library| library.definitions)
        .collect::<Vec<_>>()
        .join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use toolscript_catalog::SourceName;

    #[test]
    fn every_library_is_documented_and_declared() {
        let listing = listing();
        assert!(10 <= listing.functions.len());
        for function in &listing.functions {
            let name = function.original.rsplit(['.', ':']).next().unwrap();
            let declared = definitions().contains(name);
            assert!(declared, "`{}` has no declaration", function.original);
            assert!(
                !function.summary.is_empty() && function.signature.starts_with(&function.original)
            );
        }
    }

    #[test]
    fn no_source_can_take_the_name_of_a_library() {
        for library in LIBRARIES {
            for documented in library.functions {
                let global = documented.path.split(['.', ':']).next().unwrap();
                assert!(
                    SourceName::parse(global).is_err(),
                    "a source could be named `{global}`"
                );
            }
        }
    }
}
