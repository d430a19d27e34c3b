//! Who gets a name that two sources want.

use std::collections::BTreeMap;

use toolscript_catalog::{SourceName, Warning};
use toolscript_sources::KINDS;

use crate::config::Configured;

/// A configured source with the name it goes by.
pub(super) struct Settled<'a> {
    pub(super) configured: &'a Configured,
    /// `None` where the source names itself.
    pub(super) name: Option<SourceName>,
    /// That it did not get the name it was given.
    pub(super) warning: Option<Warning>,
}

/// Gives each source its name. The order of [`KINDS`] is the order of precedence; who comes too
/// late gets a number behind the name.
pub(super) fn settle(sources: &[Configured]) -> Vec<Settled<'_>> {
    let mut order: Vec<&Configured> = sources.iter().collect();
    order.sort_by_key(|source| precedence(source));
    let mut taken: BTreeMap<SourceName, &Configured> = BTreeMap::new();
    let mut settled: Vec<Settled<'_>> = Vec::new();
    for configured in order {
        let wanted = configured.name.as_ref();
        let name = wanted.map(|wanted| free_name(wanted, &taken));
        let holder = wanted.and_then(|wanted| taken.get(wanted));
        let warning = holder.zip(name.as_ref()).map(|(holder, name)| Warning {
            place: configured.origin.place(""),
            reason: format!(
                "the name is taken by the source at {}; this one is called `{name}`",
                holder.origin.place("")
            ),
        });
        if let Some(name) = &name {
            taken.insert(name.clone(), configured);
        }
        settled.push(Settled {
            configured,
            name,
            warning,
        });
    }
    settled
}

fn precedence(source: &Configured) -> Option<usize> {
    let section = source.kind.section();
    KINDS.iter().position(|kind| kind.section() == section)
}

fn free_name(wanted: &SourceName, taken: &BTreeMap<SourceName, &Configured>) -> SourceName {
    let numbered = (2..).map(|number| SourceName::clean(&format!("{wanted}_{number}")));
    let mut names = std::iter::once(wanted.clone()).chain(numbered);
    names
        .find(|name| !taken.contains_key(name))
        .unwrap_or_else(|| wanted.clone())
}

#[cfg(test)]
mod tests {
    use crate::config::Config;

    #[test]
    fn an_api_keeps_its_name_and_the_server_gets_a_number() {
        let mut config = Config::empty();
        config.add_mcp("pets=serve-pets").unwrap();
        config.add_api("pets=pets.yaml").unwrap();
        let settled = super::settle(&config.sources);
        let names: Vec<(&str, String, Option<&str>)> = settled
            .iter()
            .map(|settled| {
                let warning = settled
                    .warning
                    .as_ref()
                    .map(|warning| warning.reason.as_str());
                let name = settled.name.as_ref().unwrap().to_string();
                (settled.configured.kind.name(), name, warning)
            })
            .collect();
        assert_eq!(
            names,
            [
                ("openapi", "pets".to_owned(), None),
                (
                    "mcp",
                    "pets_2".to_owned(),
                    Some(
                        "the name is taken by the source at argument `pets=pets.yaml`; \
                         this one is called `pets_2`"
                    )
                ),
            ]
        );
    }
}
