//! The clock of running scripts: ends them in time, and pauses them so that others get their turn.
//!
//! Luau asks an interrupt at every loop turn and every call, millions of times a second. It must
//! cost almost nothing, so it compares one number with another: a thread of ours counts ticks
//! while scripts compute, and only when the count has changed does the interrupt look further.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{
            AtomicBool, AtomicU8, AtomicU64, AtomicUsize,
            Ordering::{Relaxed, SeqCst},
        },
    },
    thread::{self, Thread},
    time::{Duration, Instant},
};

use mlua::{Lua, VmState};
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio_util::sync::CancellationToken;

/// How long a script may compute before another one gets its turn.
const TICK: Duration = Duration::from_millis(2);

/// After so many ticks without a computing script the clock stops until the next one.
const TICKS_UNTIL_REST: u32 = 500;

/// A tick that never comes.
const NEVER: u64 = u64::MAX;

static TICKS: AtomicU64 = AtomicU64::new(0);
static COMPUTING: AtomicUsize = AtomicUsize::new(0);
static RESTING: AtomicBool = AtomicBool::new(false);
static CLOCK: OnceLock<Option<Thread>> = OnceLock::new();

/// How many scripts of a runtime hold a thread because they cannot be paused.
#[derive(Debug)]
pub(crate) struct Stuck {
    now: AtomicUsize,
    most: usize,
}

impl Stuck {
    pub(crate) fn new(most: usize) -> Self {
        Self {
            now: AtomicUsize::new(0),
            most,
        }
    }
}

/// Why a script must end now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Abort {
    /// Its time is up.
    Timeout,
    /// Whoever asked for it went away.
    Cancelled,
    /// Too many scripts are busy where they cannot be paused.
    Stuck,
}

/// Watches one VM. The interrupt of the VM asks it; the driver tells it what is going on.
#[derive(Debug)]
pub(crate) struct Watch {
    /// The tick the interrupt saw last; `NEVER` sends it the long way each time.
    seen: AtomicU64,
    /// An [`Abort`] once the script must end; it never becomes free of it again.
    abort: AtomicU8,
    /// The number of the step that runs, and of the step that was asked to pause.
    step: AtomicU64,
    asked: AtomicU64,
    /// Whether the VM must not be used again although nobody aborted its script.
    spoiled: AtomicBool,
    /// Whether the running step holds a thread that the runtime had to replace.
    holds_thread: AtomicBool,
    stuck: Arc<Stuck>,
    terms: Mutex<Option<Terms>>,
    memory: Memory,
}

/// When to free memory before the script runs out of it.
///
/// Luau frees step by step and never at once, so a script that makes garbage quickly would hit
/// its limit while little of what it holds is in use.
#[derive(Debug, Default)]
struct Memory {
    /// The limit of the run.
    limit: AtomicUsize,
    /// Above this much everything that is not in use is freed.
    collect_above: AtomicUsize,
}

impl Memory {
    fn begin(&self, limit: usize, used: usize) {
        self.limit.store(limit, Relaxed);
        self.aim(used);
    }

    /// Leaves half of the free memory to the next collection.
    fn aim(&self, used: usize) {
        let limit = self.limit.load(Relaxed);
        self.collect_above
            .store(used + limit.saturating_sub(used) / 2, Relaxed);
    }

    #[cold]
    fn collect(&self, lua: &Lua) -> mlua::Result<()> {
        lua.gc_collect()?;
        self.aim(lua.used_memory());
        Ok(())
    }
}

/// Until when a script may run.
#[derive(Debug, Clone)]
struct Terms {
    deadline: Instant,
    cancel: CancellationToken,
}

impl Watch {
    pub(crate) fn new(stuck: Arc<Stuck>) -> Self {
        Self {
            seen: AtomicU64::new(NEVER),
            abort: AtomicU8::new(0),
            step: AtomicU64::new(0),
            asked: AtomicU64::new(NEVER),
            spoiled: AtomicBool::new(false),
            holds_thread: AtomicBool::new(false),
            stuck,
            terms: Mutex::new(None),
            memory: Memory::default(),
        }
    }

    /// Starts to watch a run.
    pub(crate) fn begin(
        &self,
        lua: &Lua,
        deadline: Instant,
        cancel: CancellationToken,
        memory: usize,
    ) {
        self.memory.begin(memory, lua.used_memory());
        *lock(&self.terms) = Some(Terms { deadline, cancel });
    }

    /// Stops watching; the VM may be used again unless the run was aborted.
    pub(crate) fn end(&self) {
        *lock(&self.terms) = None;
    }

    /// Why the script must end, if it must.
    pub(crate) fn aborted(&self) -> Option<Abort> {
        match self.abort.load(Relaxed) {
            0 => None,
            1 => Some(Abort::Timeout),
            2 => Some(Abort::Cancelled),
            _ => Some(Abort::Stuck),
        }
    }

    /// Ends the script: from now on every interrupt raises.
    pub(crate) fn abort(&self, abort: Abort) {
        let code = match abort {
            Abort::Timeout => 1,
            Abort::Cancelled => 2,
            Abort::Stuck => 3,
        };
        self.seen.store(NEVER, Relaxed);
        // The first reason is the one that counts.
        self.abort.compare_exchange(0, code, Relaxed, Relaxed).ok();
    }

    /// Says that the VM must not be used again.
    pub(crate) fn spoil(&self) {
        self.spoiled.store(true, Relaxed);
    }

    /// Whether the VM may serve another run.
    pub(crate) fn is_sound(&self) -> bool {
        self.aborted().is_none() && !self.spoiled.load(Relaxed)
    }

    /// Aborts the script when its time is up or its caller is gone.
    pub(crate) fn check(&self) {
        let Some(terms) = lock(&self.terms).clone() else {
            return;
        };
        if terms.cancel.is_cancelled() {
            self.abort(Abort::Cancelled);
        } else if terms.deadline <= Instant::now() {
            self.abort(Abort::Timeout);
        }
    }

    /// Marks the time in which the script computes.
    pub(crate) fn step(&self) -> Step<'_> {
        COMPUTING.fetch_add(1, SeqCst);
        let clock = CLOCK.get_or_init(start_clock);
        if RESTING.swap(false, SeqCst)
            && let Some(clock) = clock
        {
            clock.unpark();
        }
        self.step.fetch_add(1, Relaxed);
        if self.aborted().is_none() {
            self.seen.store(TICKS.load(Relaxed), Relaxed);
        }
        Step { watch: self }
    }

    /// What the VM does at its next loop turn or call.
    pub(crate) fn interrupt(&self, lua: &Lua) -> mlua::Result<VmState> {
        if self.memory.collect_above.load(Relaxed) < lua.used_memory() {
            self.memory.collect(lua)?;
        }
        let now = TICKS.load(Relaxed);
        if now == self.seen.load(Relaxed) {
            return Ok(VmState::Continue);
        }
        self.tick(lua, now)
    }

    #[cold]
    fn tick(&self, lua: &Lua, now: u64) -> mlua::Result<VmState> {
        self.check();
        if self.aborted().is_some() {
            return raise(lua);
        }
        if CLOCK.get().is_some_and(Option::is_some) {
            self.seen.store(now, Relaxed);
        }
        let step = self.step.load(Relaxed);
        if self.asked.swap(step, Relaxed) != step {
            return Ok(VmState::Yield);
        }
        // It was asked to pause and is still here: it computes where Luau cannot yield.
        self.leave_thread();
        if self.aborted().is_some() {
            raise(lua)
        } else {
            Ok(VmState::Continue)
        }
    }

    /// Lets the runtime go on with another thread while this one is held by the script.
    ///
    /// `block_in_place` gives the worker's other tasks to a new thread. They stay there when it
    /// returns, so it needs to be called only until that thread has taken over, and a script
    /// that never gets stuck never pays for it.
    fn leave_thread(&self) {
        let several = Handle::try_current()
            .is_ok_and(|runtime| runtime.runtime_flavor() == RuntimeFlavor::MultiThread);
        if !several {
            return;
        }
        let Stuck { now, most } = &*self.stuck;
        if !self.holds_thread.swap(true, Relaxed) && *most <= now.fetch_add(1, Relaxed) {
            self.abort(Abort::Stuck);
            return;
        }
        tokio::task::block_in_place(|| thread::sleep(Duration::from_micros(100)));
    }
}

/// Raises, and takes away the memory too: a script that catches the error at every level of
/// a deep recursion could otherwise build one more large string at each of them.
fn raise(lua: &Lua) -> mlua::Result<VmState> {
    lua.set_memory_limit(1)?;
    Err(mlua::Error::runtime("the run has ended"))
}

/// A stretch of time in which a script computes.
#[derive(Debug)]
pub(crate) struct Step<'a> {
    watch: &'a Watch,
}

impl Drop for Step<'_> {
    fn drop(&mut self) {
        COMPUTING.fetch_sub(1, Relaxed);
        if self.watch.holds_thread.swap(false, Relaxed) {
            self.watch.stuck.now.fetch_sub(1, Relaxed);
        }
    }
}

/// The tick of this moment.
pub(crate) fn now() -> u64 {
    TICKS.load(Relaxed)
}

/// Starts the thread that counts. Without it every interrupt looks at the time itself.
fn start_clock() -> Option<Thread> {
    let clock = thread::Builder::new()
        .name("script-clock".to_owned())
        .spawn(count);
    match clock {
        Ok(clock) => Some(clock.thread().clone()),
        Err(error) => {
            tracing::warn!(%error, "no clock thread: scripts will run slower");
            None
        }
    }
}

fn count() {
    let mut idle = 0;
    loop {
        thread::sleep(TICK);
        TICKS.fetch_add(1, Relaxed);
        idle = if COMPUTING.load(Relaxed) == 0 {
            idle + 1
        } else {
            0
        };
        if idle < TICKS_UNTIL_REST {
            continue;
        }
        RESTING.store(true, SeqCst);
        // A script may have started in between; it wakes whoever rests.
        while RESTING.load(SeqCst) && COMPUTING.load(SeqCst) == 0 {
            thread::park();
        }
        RESTING.store(false, SeqCst);
        idle = 0;
    }
}

/// What a panic left behind is still the truth here: plain values, replaced as a whole.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
