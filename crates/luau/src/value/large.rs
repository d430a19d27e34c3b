//! Whole numbers that a number of Luau would round.

use mlua::{Lua, MetaMethod, UserData, UserDataFields, UserDataMethods, Value as Luau};
use serde_json::Number;

/// A whole number beyond 2^53. It can be compared, shown, used as a key and handed on;
/// to calculate with it, a script must say that it can do without the last digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct LargeInteger(pub(super) i128);

impl LargeInteger {
    pub(super) fn number(self) -> Option<Number> {
        let signed = i64::try_from(self.0).ok().map(Number::from);
        signed.or_else(|| u64::try_from(self.0).ok().map(Number::from))
    }
}

impl UserData for LargeInteger {
    fn add_fields<F: UserDataFields<Self>>(fields: &mut F) {
        fields.add_meta_field("__type", "integer");
    }

    fn add_methods<M: UserDataMethods<Self>>(methods: &mut M) {
        type Operand = mlua::UserDataRef<LargeInteger>;
        #[expect(clippy::cast_precision_loss, reason = "what the method is for")]
        methods.add_method("number", |_, this, ()| Ok(this.0 as f64));
        methods.add_meta_method(MetaMethod::ToString, |_, this, ()| Ok(this.0.to_string()));
        methods.add_meta_function(MetaMethod::Concat, |lua, (left, right): (Luau, Luau)| {
            let joined = [text(lua, left)?, text(lua, right)?].concat();
            lua.create_string(joined)
        });
        methods.add_meta_function(MetaMethod::Lt, |_, (a, b): (Operand, Operand)| Ok(*a < *b));
        methods.add_meta_function(MetaMethod::Le, |_, (a, b): (Operand, Operand)| Ok(*a <= *b));
        for operation in [
            MetaMethod::Add,
            MetaMethod::Sub,
            MetaMethod::Mul,
            MetaMethod::Div,
            MetaMethod::IDiv,
            MetaMethod::Mod,
            MetaMethod::Pow,
            MetaMethod::Unm,
        ] {
            methods.add_meta_function(operation, |_, _: mlua::MultiValue| {
                mlua::Result::<()>::Err(mlua::Error::runtime(
                    "an integer beyond 2^53 keeps its digits only as it is; \
                     use `value:number()` to calculate with a rounded one",
                ))
            });
        }
    }
}

/// The text of what may stand beside a large integer in a concatenation.
fn text(lua: &Lua, value: Luau) -> mlua::Result<Vec<u8>> {
    if let Luau::UserData(data) = &value {
        return Ok(data.borrow::<LargeInteger>()?.0.to_string().into_bytes());
    }
    let kind = value.type_name();
    match lua.coerce_string(value)? {
        Some(text) => Ok(text.as_bytes().to_vec()),
        None => Err(mlua::Error::runtime(format!(
            "attempt to concatenate integer with {kind}"
        ))),
    }
}
