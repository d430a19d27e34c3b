//! One sealed VM: built once, used for one run at a time, thrown away when a run went wrong.
//!
//! # How scripts share threads
//!
//! A script runs on the thread that polls its run. Nothing is handed to another thread on the
//! way, which is why a trivial script costs microseconds. Three things keep one script from
//! holding that thread:
//!
//! * A call, a sleep or a host function yields the Luau coroutine to the driver, which awaits.
//! * A script that computes for longer than a tick of the clock is asked to yield by the
//!   interrupt; the driver puts it behind everything else that is ready to run. Coroutines of
//!   the script pass this on (`prelude.luau`).
//! * Where Luau cannot yield (a sort comparator, a metamethod, a long pattern) the interrupt
//!   hands the other tasks of the thread to a new one (`Watch::leave_thread`). Only as many
//!   scripts as there is room for may hold a thread like this; one more is ended.
//!
//! Threads of our own for scripts would need the third measure all the same, as every one of
//! them can be held by a sort comparator, and would cost two hand-overs per script: about as
//! much as a whole trivial run.

use std::{
    hash::{BuildHasher, RandomState},
    sync::{Arc, Once},
};

use mlua::{Function, Lua, LuaOptions, StdLib, Table};
use tokio_util::sync::CancellationToken;

use crate::{
    failure, library,
    limits::Limits,
    prelude::Prelude,
    run::State,
    sandbox, sdk,
    value::Kinds,
    watch::{Stuck, Watch},
};

/// The name of a script in positions: `script:3:`. The sign in front says it is not a file.
pub(crate) const SCRIPT: &str = "=script";

/// What a VM may hold beyond its first state and still be used again.
const DIRTIEST: usize = 8 << 20;

/// How much garbage is not worth collecting.
const CLEAN_ENOUGH: usize = 256 << 10;

/// A sealed VM.
pub(crate) struct Vm {
    lua: Lua,
    watch: Arc<Watch>,
    base: Table,
    base_meta: Table,
    enter: Function,
    seed: Function,
    random: RandomState,
    runs: u64,
    /// How much memory it holds when it is clean.
    clean: usize,
}

/// What functions of ours inside the VM need of it.
#[derive(Clone)]
pub(crate) struct Parts {
    pub(crate) kinds: Kinds,
    pub(crate) error_meta: Table,
    pub(crate) function_meta: Table,
    pub(crate) source_meta: Table,
    error_address: usize,
}

impl Parts {
    fn new(lua: &Lua, prelude: &Prelude) -> mlua::Result<Self> {
        let error_meta = failure::metatable(lua)?;
        Ok(Self {
            kinds: Kinds::new(lua)?,
            error_address: error_meta.to_pointer().addr(),
            error_meta,
            function_meta: prelude.function_meta.clone(),
            source_meta: prelude.source_meta.clone(),
        })
    }

    pub(crate) fn of(lua: &Lua) -> mlua::Result<Arc<Parts>> {
        lua.app_data_ref::<Arc<Parts>>()
            .map(|parts| Arc::clone(&parts))
            .ok_or_else(|| mlua::Error::runtime("the VM is not complete"))
    }

    /// Whether a table is an error value of ours.
    pub(crate) fn is_error(&self, table: &Table) -> bool {
        table
            .metatable()
            .is_some_and(|meta| meta.to_pointer().addr() == self.error_address)
    }
}

impl Vm {
    /// Builds and seals a VM.
    pub(crate) fn new(stuck: Arc<Stuck>) -> mlua::Result<Self> {
        let libraries = StdLib::COROUTINE
            | StdLib::TABLE
            | StdLib::OS
            | StdLib::STRING
            | StdLib::UTF8
            | StdLib::BIT
            | StdLib::MATH
            | StdLib::BUFFER;
        collect_as_fast_as_scripts_allocate();
        let lua = Lua::new_with(libraries, LuaOptions::new())?;
        let seed = lua.globals().get::<Table>("math")?.get("randomseed")?;
        let host = lua.create_table()?;
        sdk::install(&lua, &host)?;
        let prelude = Prelude::load(&lua, &host)?;
        lua.set_app_data(Arc::new(Parts::new(&lua, &prelude)?));
        let base = sandbox::base(&lua, &prelude)?;
        base.raw_set("sdk", &prelude.sdk)?;
        library::install(&lua, &prelude, &base)?;
        let base_meta = sandbox::seal(&lua, &base, &prelude)?;
        let enter = prelude.enter.clone();
        lua.set_app_data(Arc::new(prelude));
        lua.set_globals(base.clone())?;
        let watch = Arc::new(Watch::new(stuck));
        let interrupt = Arc::clone(&watch);
        lua.set_interrupt(move |lua| interrupt.interrupt(lua));
        lua.gc_collect()?;
        let clean = lua.used_memory();
        let random = RandomState::new();
        Ok(Self {
            lua,
            watch,
            base,
            base_meta,
            enter,
            seed,
            random,
            runs: 0,
            clean,
        })
    }

    pub(crate) fn lua(&self) -> &Lua {
        &self.lua
    }

    pub(crate) fn watch(&self) -> &Watch {
        &self.watch
    }

    /// What a task starts with: it calls its first argument with the others.
    pub(crate) fn enter(&self) -> &Function {
        &self.enter
    }

    /// Gets ready for a run: an environment nobody has written to, and limits of its own.
    pub(crate) fn begin(
        &mut self,
        state: Arc<State>,
        cancel: CancellationToken,
    ) -> mlua::Result<Table> {
        self.runs += 1;
        // The random state belongs to the VM; without this one run could read another's.
        let seed = self.random.hash_one(self.runs) >> 33;
        self.seed.call::<()>(seed)?;
        let environment = self.lua.create_table()?;
        environment.set_metatable(Some(self.base_meta.clone()))?;
        environment.set_safeenv(true);
        self.lua.set_globals(environment.clone())?;
        let memory = limit(self.lua.used_memory(), &state.limits);
        self.watch.begin(&self.lua, state.deadline, cancel, memory);
        self.lua.set_app_data(state);
        self.lua.set_memory_limit(memory)?;
        Ok(environment)
    }

    /// Puts the VM back into its first state. Gives `None` where that cannot be relied upon.
    pub(crate) fn clean(self) -> Option<Self> {
        self.watch.end();
        if !self.watch.is_sound() {
            return None;
        }
        self.lua.set_memory_limit(0).ok()?;
        self.lua.remove_app_data::<Arc<State>>();
        self.lua.set_globals(self.base.clone()).ok()?;
        let used = self.lua.used_memory().saturating_sub(self.clean);
        if DIRTIEST < used {
            return None;
        }
        if CLEAN_ENOUGH < used {
            self.lua.gc_collect().ok()?;
        }
        Some(self)
    }
}

fn limit(used: usize, limits: &Limits) -> usize {
    used.saturating_add(limits.memory_bytes())
}

/// Luau frees a little with each allocation however large that was, so a script that works with
/// large values runs into its memory limit with nothing but garbage. A switch makes the amount
/// follow the size; it is read by every VM and must be set before the first.
fn collect_as_fast_as_scripts_allocate() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        if Lua::set_fflag("LuauBackedgeHeapCheck", true).is_err() {
            tracing::warn!("this Luau has no `LuauBackedgeHeapCheck`: memory limits are stricter");
        }
    });
}
