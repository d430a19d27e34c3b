//! Function names: from `operationId`, else from method and path; collisions settled by the path.

use std::collections::{BTreeMap, HashSet};

use toolscript_catalog::FunctionName;

/// The longest suffix that tells two functions apart.
const LONGEST_SUFFIX: usize = 80;

/// What an operation is known by.
#[derive(Debug, Clone, Copy)]
pub(super) struct Identity<'a> {
    /// The `operationId`; empty where there is none.
    pub(super) id: &'a str,
    pub(super) method: &'a str,
    pub(super) path: &'a str,
}

/// Gives every operation a name of its own. The order of the operations does not matter.
pub(super) fn settle(operations: &[Identity<'_>]) -> Vec<FunctionName> {
    let mut groups: BTreeMap<FunctionName, Vec<usize>> = BTreeMap::new();
    for (at, operation) in operations.iter().enumerate() {
        groups.entry(base(operation)).or_default().push(at);
    }
    let mut names = vec![FunctionName::default(); operations.len()];
    // Names that nobody disputes are given first, so that a settled one never takes them.
    let (lone, disputed): (Vec<_>, Vec<_>) = groups
        .into_iter()
        .partition(|(_, members)| members.len() == 1);
    let mut taken: HashSet<FunctionName> = HashSet::new();
    for (name, members) in lone {
        names[members[0]] = name.clone().unique(&mut taken);
    }
    for (name, mut members) in disputed {
        members.sort_by_key(|at| (operations[*at].path, operations[*at].method));
        let group: Vec<Identity<'_>> = members.iter().map(|at| operations[*at]).collect();
        for (at, told) in members.into_iter().zip(tell_apart(&name, &group)) {
            names[at] = told.unique(&mut taken);
        }
    }
    names
}

fn base(operation: &Identity<'_>) -> FunctionName {
    match operation.id {
        "" => FunctionName::clean(&format!("{} {}", operation.method, operation.path)),
        id => FunctionName::clean(id),
    }
}

/// Names for operations that all want one name, by the first suffix that tells them apart.
fn tell_apart(name: &FunctionName, group: &[Identity<'_>]) -> Vec<FunctionName> {
    let common = common_segments(group);
    let own = |operation: &Identity<'_>, with_parameters: bool| {
        let segments = segments(operation.path).filter(|segment| !common.contains(segment));
        let kept: Vec<&str> = segments
            .filter(|segment| with_parameters || !segment.starts_with('{'))
            .collect();
        kept.join(" ")
    };
    let suffixes: [&dyn Fn(&Identity<'_>) -> String; 4] = [
        &|operation| own(operation, false),
        &|operation| own(operation, true),
        &|operation| operation.method.to_owned(),
        &|operation| format!("{} {}", own(operation, true), operation.method),
    ];
    for suffix in suffixes {
        let names: Vec<FunctionName> = group
            .iter()
            .map(|operation| suffixed(name, &suffix(operation)))
            .collect();
        if names.iter().collect::<HashSet<_>>().len() == names.len() {
            return names;
        }
    }
    group
        .iter()
        .map(|operation| suffixed(name, &suffixes[3](operation)))
        .collect()
}

fn suffixed(name: &FunctionName, suffix: &str) -> FunctionName {
    if !suffix.bytes().any(|byte| byte.is_ascii_alphanumeric()) {
        return name.clone();
    }
    let mut suffix = FunctionName::clean(suffix)
        .as_str()
        .trim_matches('_')
        .to_owned();
    suffix.truncate(LONGEST_SUFFIX);
    FunctionName::from(format!("{}_{suffix}", name.as_str().trim_end_matches('_')))
}

/// The segments every path of the group has.
fn common_segments<'a>(group: &[Identity<'a>]) -> HashSet<&'a str> {
    let mut sets = group
        .iter()
        .map(|operation| segments(operation.path).collect::<HashSet<_>>());
    let first = sets.next().unwrap_or_default();
    sets.fold(first, |common, set| {
        common.intersection(&set).copied().collect()
    })
}

fn segments(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter(|segment| !segment.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each line is `id method path -> name`; `-` stands for no id.
    #[track_caller]
    fn check(lines: &[&str]) {
        let parse = |line: &&'static str| {
            let (left, name) = line.split_once(" -> ").unwrap();
            let mut words = left.split(' ');
            let id = words.next().unwrap().replace('-', "");
            (id, words.next().unwrap(), words.next().unwrap(), name)
        };
        let lines: Vec<&'static str> = lines
            .iter()
            .map(|line| &*Box::leak((*line).to_owned().into_boxed_str()))
            .collect();
        let rows: Vec<_> = lines.iter().map(parse).collect();
        for order in [rows.clone(), rows.into_iter().rev().collect()] {
            let operations: Vec<Identity<'_>> = order
                .iter()
                .map(|(id, method, path, _)| Identity { id, method, path })
                .collect();
            let names: Vec<String> = settle(&operations)
                .iter()
                .map(ToString::to_string)
                .collect();
            let wanted: Vec<&str> = order.iter().map(|row| row.3).collect();
            assert_eq!(names, wanted);
        }
    }

    #[test]
    fn names_come_from_ids_else_from_the_path() {
        check(&[
            "getPetById get /pets/{id} -> get_pet_by_id",
            "end get /end -> end_",
            "- get /pets/{petId}/photos -> get_pets_pet_id_photos",
            "- get / -> get",
        ]);
    }

    #[test]
    fn collisions_are_told_apart_by_the_path() {
        check(&[
            "list get /orgs/{org}/repos -> list_orgs",
            "list get /users/{user}/repos -> list_users",
        ]);
        check(&["get get /pets -> get", "get get /pets/{id} -> get_id"]);
        check(&["pets get /pets -> pets_get", "pets post /pets -> pets_post"]);
        check(&[
            "x get /a -> x_a_get",
            "x post /a -> x_a_post",
            "x get /b -> x_b_get",
        ]);
        check(&[
            "getPet get /v1/pets/{id} -> get_pet_v1",
            "get_pet get /v2/pets/{id} -> get_pet_v2",
        ]);
    }

    #[test]
    fn settled_names_do_not_take_others() {
        check(&[
            "list get /a -> list_a_2",
            "list get /b -> list_b",
            "list_a get /c -> list_a",
        ]);
    }

    #[test]
    fn what_nothing_tells_apart_gets_numbers() {
        check(&["x get /a-b -> x_a_b_get", "x get /a_b -> x_a_b_get_2"]);
    }
}
