//! Drives one run: resumes the script, starts what it asks for, and waits without a thread.

use std::{
    collections::{HashMap, VecDeque},
    panic::{AssertUnwindSafe, catch_unwind},
    pin::pin,
    sync::Arc,
    time::Instant,
};

use futures_util::{
    FutureExt, StreamExt,
    future::{AbortHandle, Abortable, BoxFuture},
    stream::FuturesUnordered,
};
use mlua::{FromLua, IntoLuaMulti, Lua, MultiValue, Thread, Value as Luau};
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use toolscript_catalog::{CallError, FunctionId, Reply};

use crate::{
    outcome::Failure,
    parallel::{Group, Plan, Progress as GroupProgress},
    prelude::{self, Raised},
    run::{PendingCall, Progress, Request, State, Ticket},
    value,
    vm::{Parts, Vm},
    watch::{self, Abort},
};

/// Tasks and groups are numbered in the order they start; numbers are never used again.
type TaskId = u64;
type GroupId = u64;

/// How a run ended inside the VM.
pub(crate) enum Ending {
    /// The script returned.
    Returned(MultiValue),
    /// The script raised an error and nobody caught it.
    Raised(Luau),
    /// The script had to end.
    Aborted(Abort),
    /// The VM itself failed.
    Broken(mlua::Error),
}

/// One coroutine the driver resumes: the script itself, or a function inside `parallel`.
struct Task {
    thread: Thread,
    /// The group that waits for it, and its slot there; none for the script itself.
    member: Option<(GroupId, usize)>,
    /// The group it waits for.
    waits_for: Option<GroupId>,
    /// Gives up what it waits for.
    abort: Option<AbortHandle>,
    /// Whether that is a call.
    calling: bool,
}

/// What a finished future brings.
enum Answer {
    Call {
        call: Called,
        result: Result<Reply, CallError>,
    },
    Wait(Result<Value, Failure>),
}

/// A call that is under way or has ended.
struct Called {
    function: FunctionId,
    number: u64,
    begun: Instant,
    paged: bool,
}

/// A future a task waits for; `None` where it was given up.
type Waiting = BoxFuture<'static, (TaskId, Option<Answer>)>;

/// What became of a task when it was resumed.
enum Stepped {
    /// It waits for something, makes room for others, or has ended.
    On,
    /// The script is over.
    Ended(Ending),
}

/// Everything about a run that is under way.
pub(crate) struct Driver<'a> {
    vm: &'a Vm,
    state: &'a Arc<State>,
    progress: Option<Arc<dyn Progress>>,
    tasks: HashMap<TaskId, Task>,
    groups: HashMap<GroupId, (TaskId, Group)>,
    last_id: u64,
    /// Tasks that can go on, with what they are resumed with.
    ready: VecDeque<(TaskId, MultiValue)>,
    waiting: FuturesUnordered<Waiting>,
    calls_under_way: usize,
    /// Calls that wait for another to finish.
    queued: VecDeque<(TaskId, PendingCall)>,
    failed_calls: u64,
}

impl<'a> Driver<'a> {
    pub(crate) fn new(
        vm: &'a Vm,
        state: &'a Arc<State>,
        progress: Option<Arc<dyn Progress>>,
    ) -> Self {
        Self {
            vm,
            state,
            progress,
            tasks: HashMap::new(),
            groups: HashMap::new(),
            last_id: 0,
            ready: VecDeque::new(),
            waiting: FuturesUnordered::new(),
            calls_under_way: 0,
            queued: VecDeque::new(),
            failed_calls: 0,
        }
    }

    pub(crate) fn failed_calls(&self) -> u64 {
        self.failed_calls
    }

    /// Calls a function of the script and stays with it to its end.
    ///
    /// Dropping the future drops every call that is under way.
    pub(crate) async fn run(
        &mut self,
        call: MultiValue,
        deadline: Instant,
        cancel: &CancellationToken,
    ) -> Ending {
        let main = match self.start(call, None) {
            Ok(main) => main,
            Err(error) => return Ending::Broken(error),
        };
        let mut cancelled = pin!(cancel.cancelled());
        let mut too_late = pin!(tokio::time::sleep_until(deadline.into()));
        let mut turn = watch::now();
        loop {
            while let Some((task, values)) = self.ready.pop_front() {
                // Others get their turn, however short the single steps of this script are.
                if turn != watch::now() {
                    tokio::task::yield_now().await;
                    turn = watch::now();
                }
                self.vm.watch().check();
                if let Some(abort) = self.vm.watch().aborted() {
                    return Ending::Aborted(abort);
                }
                match self.step(main, task, values) {
                    Ok(Stepped::On) => {}
                    Ok(Stepped::Ended(ending)) => return ending,
                    Err(error) => return self.broken(error),
                }
            }
            if self.waiting.is_empty() {
                return Ending::Broken(mlua::Error::runtime("the script waits for nothing"));
            }
            let (task, answer) = tokio::select! {
                biased;
                () = &mut cancelled => return Ending::Aborted(Abort::Cancelled),
                () = &mut too_late => return Ending::Aborted(Abort::Timeout),
                Some(answered) = self.waiting.next() => answered,
            };
            if let Err(error) = self.answered(task, answer) {
                return self.broken(error);
            }
        }
    }

    /// After an abort every error is only its echo.
    fn broken(&self, error: mlua::Error) -> Ending {
        self.vm
            .watch()
            .aborted()
            .map_or(Ending::Broken(error), Ending::Aborted)
    }

    /// Makes a task that is ready to run.
    fn start(
        &mut self,
        call: MultiValue,
        member: Option<(GroupId, usize)>,
    ) -> mlua::Result<TaskId> {
        let thread = self.vm.lua().create_thread(self.vm.enter().clone())?;
        self.last_id += 1;
        let task = Task {
            thread,
            member,
            waits_for: None,
            abort: None,
            calling: false,
        };
        self.tasks.insert(self.last_id, task);
        self.ready.push_back((self.last_id, call));
        Ok(self.last_id)
    }

    /// Resumes a task and does what it asks for.
    fn step(&mut self, main: TaskId, id: TaskId, values: MultiValue) -> mlua::Result<Stepped> {
        // A task that was given up may still stand in the queue.
        let Some(task) = self.tasks.get(&id) else {
            return Ok(Stepped::On);
        };
        let returned = resume(self.vm, &task.thread, values)?;
        if task.thread.is_resumable() {
            // A script that waits yields a mark and a ticket; the clock yields nothing.
            let Some(ticket) = returned.get(1) else {
                self.ready.push_back((id, MultiValue::new()));
                return Ok(Stepped::On);
            };
            let ticket = Ticket::from_lua(ticket.clone(), self.vm.lua())?;
            if let Some(request) = self.state.take_request(ticket) {
                self.request(id, request)?;
            }
            return Ok(Stepped::On);
        }
        let member = task.member;
        self.tasks.remove(&id);
        let result = result(returned);
        if id == main {
            return Ok(Stepped::Ended(
                result.map_or_else(Ending::Raised, Ending::Returned),
            ));
        }
        if let Some((group, slot)) = member {
            let result = result.map(|values| values.into_iter().next().unwrap_or(Luau::Nil));
            self.finish(group, slot, result)?;
        }
        Ok(Stepped::On)
    }

    fn request(&mut self, id: TaskId, request: Request) -> mlua::Result<()> {
        match request {
            Request::Call(call) if self.calls_under_way < self.state.limits.max_parallel.max(1) => {
                self.launch(id, call);
            }
            Request::Call(call) => self.queued.push_back((id, call)),
            Request::Wait(future) => self.wait(id, future.map(Answer::Wait).boxed()),
            Request::Parallel(plan) => self.gather(id, plan)?,
        }
        Ok(())
    }

    fn launch(&mut self, id: TaskId, call: PendingCall) {
        let PendingCall {
            function,
            number,
            future,
            paged,
        } = call;
        if let Some(progress) = &self.progress {
            progress.started(&function, number);
        }
        self.calls_under_way += 1;
        if let Some(task) = self.tasks.get_mut(&id) {
            task.calling = true;
        }
        let call = Called {
            function,
            number,
            begun: Instant::now(),
            paged,
        };
        self.wait(
            id,
            future.map(|result| Answer::Call { call, result }).boxed(),
        );
    }

    fn wait(&mut self, id: TaskId, future: BoxFuture<'static, Answer>) {
        let (abort, registration) = AbortHandle::new_pair();
        if let Some(task) = self.tasks.get_mut(&id) {
            task.abort = Some(abort);
        }
        let future = Abortable::new(future, registration);
        self.waiting
            .push(future.map(move |answer| (id, answer.ok())).boxed());
    }

    /// Starts a group of tasks.
    fn gather(&mut self, id: TaskId, plan: Plan) -> mlua::Result<()> {
        let group = Group::new(self.vm.lua(), plan)?;
        if let GroupProgress::Done(results) = group.progress() {
            return self.wake(id, (true, results));
        }
        self.last_id += 1;
        if let Some(task) = self.tasks.get_mut(&id) {
            task.waits_for = Some(self.last_id);
        }
        self.groups.insert(self.last_id, (id, group));
        self.fill(self.last_id)
    }

    /// Starts as many tasks of a group as may run at once.
    fn fill(&mut self, id: GroupId) -> mlua::Result<()> {
        while let Some((_, group)) = self.groups.get_mut(&id) {
            let Some((slot, call)) = group.next()? else {
                break;
            };
            self.start(call, Some((id, slot)))?;
        }
        Ok(())
    }

    /// Takes the end of a task to its group.
    fn finish(&mut self, id: GroupId, slot: usize, result: Result<Luau, Luau>) -> mlua::Result<()> {
        let Some((parent, group)) = self.groups.get_mut(&id) else {
            return Ok(());
        };
        let parent = *parent;
        match group.finish(self.vm.lua(), slot, result)? {
            GroupProgress::Wait => self.fill(id),
            GroupProgress::Done(results) => {
                self.groups.remove(&id);
                self.wake(parent, (true, results))
            }
            GroupProgress::Failed(error) => {
                self.give_up(id);
                self.wake(parent, (false, error))
            }
        }
    }

    /// Gives up every task of a group, and whatever those wait for.
    fn give_up(&mut self, id: GroupId) {
        let mut groups = vec![id];
        while let Some(id) = groups.pop() {
            self.groups.remove(&id);
            let of_group = |task: &Task| task.member.is_some_and(|(group, _)| group == id);
            for (id, task) in self.tasks.extract_if(|_, task| of_group(task)) {
                groups.extend(task.waits_for);
                task.abort.iter().for_each(AbortHandle::abort);
                self.calls_under_way -= usize::from(task.calling);
                self.queued.retain(|(waiting, _)| *waiting != id);
            }
        }
        self.launch_queued();
    }

    fn wake(&mut self, id: TaskId, values: impl IntoLuaMulti) -> mlua::Result<()> {
        if let Some(task) = self.tasks.get_mut(&id) {
            (task.waits_for, task.abort, task.calling) = (None, None, false);
        }
        self.ready
            .push_back((id, values.into_lua_multi(self.vm.lua())?));
        Ok(())
    }

    fn answered(&mut self, id: TaskId, answer: Option<Answer>) -> mlua::Result<()> {
        let lua = self.vm.lua();
        let values = match answer {
            // Its task is gone.
            None => return Ok(()),
            Some(Answer::Call { call, result }) => {
                self.ended(&call, result.is_ok());
                let reply = result.map_err(|error| failed(error, &call.function).into());
                let reply = reply.and_then(|reply| luau_reply(lua, self.state, reply, call.paged));
                prelude::answer(lua, reply)?
            }
            Some(Answer::Wait(result)) => {
                let value = result.map_err(Raised::from);
                let value = value.and_then(|value| luau_value(lua, self.state, &value));
                prelude::answer(lua, value)?
            }
        };
        self.wake(id, values)
    }

    fn ended(&mut self, call: &Called, succeeded: bool) {
        self.calls_under_way -= 1;
        self.failed_calls += u64::from(!succeeded);
        if let Some(progress) = &self.progress {
            progress.finished(&call.function, call.number, call.begun.elapsed(), succeeded);
        }
        self.launch_queued();
    }

    fn launch_queued(&mut self) {
        while self.calls_under_way < self.state.limits.max_parallel.max(1) {
            let Some((id, call)) = self.queued.pop_front() else {
                break;
            };
            self.launch(id, call);
        }
    }
}

/// A failed call always says which function failed.
fn failed(error: CallError, function: &FunctionId) -> Failure {
    let failure = Failure::from(error);
    if failure.function.is_some() {
        failure
    } else {
        failure.with_function(function)
    }
}

/// Resumes a coroutine. A panic below is an error above: one run must not take others along.
fn resume(vm: &Vm, thread: &Thread, values: MultiValue) -> mlua::Result<MultiValue> {
    let _step = vm.watch().step();
    catch_unwind(AssertUnwindSafe(|| thread.resume(values)))
        .unwrap_or_else(|_| Err(mlua::Error::runtime("the sandbox failed inside")))
}

/// Reads what `enter` in the prelude returns: `true, ...` or `false, error`.
fn result(mut returned: MultiValue) -> Result<MultiValue, Luau> {
    match returned.pop_front() {
        Some(Luau::Boolean(true)) => Ok(returned),
        _ => Err(returned.pop_front().unwrap_or(Luau::Nil)),
    }
}

fn luau_value(lua: &Lua, state: &State, value: &Value) -> Result<Luau, Raised> {
    Ok(value::to_luau(lua, &Parts::of(lua)?.kinds, value, state)?)
}

/// The value of a reply and, for who walks through pages, how to ask for the next one.
fn luau_reply(lua: &Lua, state: &State, reply: Reply, paged: bool) -> Result<MultiValue, Raised> {
    let value = luau_value(lua, state, &reply.value)?;
    if !paged {
        return Ok(MultiValue::from_vec(vec![value]));
    }
    // `nil` would end the loop over the pages.
    let value = if value.is_nil() { value::NULL } else { value };
    let next = reply.next.map_or(Value::Null, Value::Object);
    Ok(MultiValue::from_vec(vec![
        value,
        luau_value(lua, state, &next)?,
    ]))
}
