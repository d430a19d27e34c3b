//! `allOf`: two descriptions of one value become one type.

use crate::{
    Field, Type,
    ty::{Extra, Object, Union},
};

use super::{Reader, Resolver, union};

impl<R: Resolver> Reader<'_, R> {
    /// The type of a value that is both.
    ///
    /// Where the two cannot both be true the later one wins: documents use `allOf`
    /// to say more about a value, never to forbid it.
    pub(super) fn merge(&mut self, first: Type, second: Type) -> Type {
        match (first, second) {
            (Type::Any, other) | (other, Type::Any) => other,
            (Type::Nullable { inner: a }, Type::Nullable { inner: b }) => {
                self.merge(*a, *b).nullable()
            }
            (Type::Nullable { inner }, other) | (other, Type::Nullable { inner }) => {
                self.merge(*inner, other)
            }
            (Type::Object(first), Type::Object(second)) => {
                if let Some(only) = says_nothing_more(&first, &second) {
                    return Type::Object(only);
                }
                Type::Object(self.merge_objects(first, second))
            }
            (Type::Object(empty), named @ Type::Named { .. })
            | (named @ Type::Named { .. }, Type::Object(empty))
                if empty == Object::default() =>
            {
                named
            }
            (first @ Type::Named { .. }, second) if first == second => first,
            (first @ Type::Named { .. }, second) => {
                let first = self.followed(first);
                self.merge(first, second)
            }
            (first, second @ Type::Named { .. }) => {
                let second = self.followed(second);
                self.merge(first, second)
            }
            (Type::Union(choice), other @ Type::Object(_)) => {
                self.merge_each(choice, &other, Side::After)
            }
            (other @ Type::Object(_), Type::Union(choice)) => {
                self.merge_each(choice, &other, Side::Before)
            }
            // A literal says more than the type it is of.
            (literal @ Type::Literal { .. }, Type::String(_) | Type::Number(_) | Type::Boolean) => {
                literal
            }
            (_, later) => later,
        }
    }

    /// `{base fields} and (A or B)` is `(base and A) or (base and B)`.
    fn merge_each(&mut self, choice: Union, other: &Type, side: Side) -> Type {
        let mut variants = Vec::with_capacity(choice.variants.len());
        for variant in choice.variants {
            variants.push(match side {
                Side::After => self.merge(variant, other.clone()),
                Side::Before => self.merge(other.clone(), variant),
            });
        }
        union(variants, choice.discriminator)
    }

    fn merge_objects(&mut self, first: Object, second: Object) -> Object {
        let mut fields = first.fields;
        for field in second.fields {
            match fields.iter_mut().find(|known| known.name == field.name) {
                Some(known) => {
                    let both = std::mem::take(known);
                    *known = self.merge_fields(both, field);
                }
                None => fields.push(field),
            }
        }
        // `additionalProperties: false` in one part of an `allOf` forbids the other part's
        // fields to the letter; nobody means that.
        let extra = match (first.extra, second.extra) {
            (Extra::Typed(ty), _) | (_, Extra::Typed(ty)) => Extra::Typed(ty),
            (Extra::Closed, Extra::Closed) => Extra::Closed,
            _ => Extra::Unspecified,
        };
        Object { fields, extra }
    }

    fn merge_fields(&mut self, first: Field, second: Field) -> Field {
        let description = if second.description.is_empty() {
            first.description
        } else {
            second.description
        };
        Field {
            name: first.name,
            ty: self.merge(first.ty, second.ty),
            required: first.required || second.required,
            description,
            default: second.default.or(first.default),
            example: second.example.or(first.example),
            deprecated: first.deprecated || second.deprecated,
            read_only: first.read_only || second.read_only,
            write_only: first.write_only || second.write_only,
        }
    }
}

/// Which side of a merge the shared part stands on.
#[derive(Clone, Copy)]
enum Side {
    Before,
    After,
}

/// The other object, where one of the two is empty.
fn says_nothing_more(first: &Object, second: &Object) -> Option<Object> {
    if *first == Object::default() {
        return Some(second.clone());
    }
    (*second == Object::default()).then(|| first.clone())
}
