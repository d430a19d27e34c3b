//! `sleep`: waiting without holding anything.

use std::time::Duration;

use mlua::{Lua, Table};
use serde_json::Value;

use super::{Documented, Library};
use crate::{outcome::Failure, prelude::Prelude, run::Request};

pub(super) const LIBRARY: Library = Library {
    name: "sleep",
    about: "Waiting",
    definitions: include_str!("sleep.d.luau"),
    functions: &[Documented {
        path: "sleep",
        signature: "sleep(seconds: number)",
        summary: "Waits for some seconds",
        description: "Fractions count. The time is part of the run's timeout.",
    }],
    install,
};

fn install(lua: &Lua, prelude: &Prelude, base: &Table) -> mlua::Result<()> {
    let sleep = prelude.waits(lua, |_, state, seconds: f64| {
        let time = Duration::try_from_secs_f64(seconds).map_err(|_| {
            Failure::validation(format!(
                "cannot sleep for {seconds} seconds: give a number from 0 on"
            ))
        })?;
        Ok(state.ask(Request::Wait(Box::pin(async move {
            tokio::time::sleep(time).await;
            Ok(Value::Null)
        }))))
    })?;
    base.raw_set("sleep", sleep)
}
