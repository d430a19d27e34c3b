//! The named types of many tools side by side, without two meanings under one name.

use std::collections::{HashMap, HashSet};

use toolscript_catalog::{
    Type, TypeName, Types,
    ty::{Definition, Extra, Object},
};

/// New names by the names a tool's own schema uses.
pub(crate) type Names = HashMap<TypeName, TypeName>;

/// Adds the types of one schema to those of the whole source.
///
/// A type that is the same under the same name is shared. One whose name means something else
/// already gets the name of its tool in front. Gives the names that changed.
pub(crate) fn add(shelf: &mut Types, own: Types, prefix: &str) -> Names {
    let clashes = clashes(shelf, &own);
    let mut names = Names::new();
    let mut taken: HashSet<TypeName> = shelf.keys().chain(own.keys()).cloned().collect();
    for name in &clashes {
        let fresh = TypeName::clean(&format!("{prefix}{name}")).unique(|name| taken.contains(name));
        taken.insert(fresh.clone());
        names.insert(name.clone(), fresh);
    }
    for (name, mut definition) in own {
        rename(&mut definition.ty, &names);
        let name = names.get(&name).cloned().unwrap_or(name);
        shelf.entry(name).or_insert(definition);
    }
    names
}

/// The names that mean something else on the shelf. A type that mentions one of them means
/// something else too.
fn clashes(shelf: &Types, own: &Types) -> Vec<TypeName> {
    let is_taken = |name: &TypeName| shelf.contains_key(name);
    let differs = |(name, definition): &(&TypeName, &Definition)| {
        shelf.get(*name).is_some_and(|other| other != *definition)
    };
    let mut clashes: HashSet<&TypeName> =
        own.iter().filter(differs).map(|(name, _)| name).collect();
    loop {
        let mentions_clash = |(name, definition): &(&TypeName, &Definition)| {
            let mut found = false;
            definition
                .ty
                .for_each_name(&mut |name| found |= clashes.contains(name));
            found && is_taken(name) && !clashes.contains(name)
        };
        let more: Vec<&TypeName> = own
            .iter()
            .filter(mentions_clash)
            .map(|(name, _)| name)
            .collect();
        if more.is_empty() {
            break;
        }
        clashes.extend(more);
    }
    // In the order of the schema's names, so that numbers come out the same every time.
    own.keys()
        .filter(|name| clashes.contains(name))
        .cloned()
        .collect()
}

/// Replaces the names a type mentions.
pub(crate) fn rename(ty: &mut Type, names: &Names) {
    if names.is_empty() {
        return;
    }
    match ty {
        Type::Named { name } => rename_one(name, names),
        Type::Nullable { inner } => rename(inner, names),
        Type::Array(array) => rename(&mut array.items, names),
        Type::Union(union) => {
            union
                .variants
                .iter_mut()
                .for_each(|variant| rename(variant, names));
            if let Some(discriminator) = &mut union.discriminator {
                discriminator
                    .mapping
                    .values_mut()
                    .for_each(|name| rename_one(name, names));
            }
        }
        Type::Object(object) => rename_in(object, names),
        _ => {}
    }
}

/// Replaces the names the fields of an object mention.
pub(crate) fn rename_in(object: &mut Object, names: &Names) {
    for field in &mut object.fields {
        rename(&mut field.ty, names);
    }
    if let Extra::Typed(extra) = &mut object.extra {
        rename(extra, names);
    }
}

fn rename_one(name: &mut TypeName, names: &Names) {
    if let Some(fresh) = names.get(name) {
        *name = fresh.clone();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use toolscript_catalog::Field;

    fn name(text: &str) -> TypeName {
        TypeName::clean(text)
    }

    fn types(entries: &[(&str, Type)]) -> Types {
        let definition = |ty: &Type| Definition {
            ty: ty.clone(),
            description: String::new(),
        };
        entries
            .iter()
            .map(|(text, ty)| (name(text), definition(ty)))
            .collect()
    }

    fn list_of(text: &str) -> Type {
        Type::array(Type::named(name(text)))
    }

    #[test]
    fn equal_types_are_shared() {
        let own = types(&[("Node", list_of("Node")), ("Id", Type::string())]);
        let mut shelf = Types::new();
        assert!(add(&mut shelf, own.clone(), "One").is_empty());
        assert!(add(&mut shelf, own, "Two").is_empty());
        assert_eq!(shelf.len(), 2);
    }

    #[test]
    fn who_mentions_another_type_is_another_type() {
        let mut shelf = types(&[("Tree", list_of("Leaf")), ("Leaf", Type::string())]);
        let own = types(&[
            ("Tree", list_of("Leaf")),
            ("Leaf", Type::number()),
            ("Wood", list_of("Tree")),
        ]);
        let names = add(&mut shelf, own, "Cut");
        assert_eq!(names.len(), 2);
        assert_eq!(shelf[&name("CutTree")].ty, list_of("CutLeaf"));
        assert_eq!(shelf[&name("Wood")].ty, list_of("CutTree"));
        assert_eq!(shelf[&name("Tree")].ty, list_of("Leaf"));
        let mut ty = Type::object(vec![Field::required("wood", list_of("Tree"))]);
        rename(&mut ty, &names);
        assert_eq!(
            ty,
            Type::object(vec![Field::required("wood", list_of("CutTree"))])
        );
    }

    #[test]
    fn a_prefixed_name_that_is_taken_gets_a_number() {
        let mut shelf = types(&[("Id", Type::string()), ("ToolId", Type::Boolean)]);
        let names = add(&mut shelf, types(&[("Id", Type::number())]), "Tool");
        assert_eq!(names[&name("Id")], name("ToolId_2"));
    }
}
