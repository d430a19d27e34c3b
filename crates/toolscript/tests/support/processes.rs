//! Processes as the system sees them: who is there, who started whom, who belongs together.

use std::{
    fs,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};

use super::program::PATIENCE;

/// One process that is running; one that only waits to be counted is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) id: i32,
    pub(crate) parent: i32,
    pub(crate) group: i32,
}

/// Everybody who is running.
pub(crate) fn all() -> Vec<Process> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    ids.filter_map(find).collect()
}

/// A process by its number.
pub(crate) fn find(id: i32) -> Option<Process> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // `pid (name) state parent group …`; the name may hold anything.
    let (_, facts) = stat.rsplit_once(") ")?;
    let facts: Vec<&str> = facts.split(' ').collect();
    (!matches!(facts[0], "Z" | "X")).then(|| Process {
        id,
        parent: facts[1].parse().unwrap(),
        group: facts[2].parse().unwrap(),
    })
}

/// Everybody a process has started, and everybody those have started.
pub(crate) fn offspring(of: i32) -> Vec<Process> {
    let everybody = all();
    let mut found: Vec<Process> = Vec::new();
    let mut parents = vec![of];
    while let Some(parent) = parents.pop() {
        let children = everybody.iter().filter(|process| process.parent == parent);
        for child in children {
            parents.push(child.id);
            found.push(*child);
        }
    }
    found
}

/// Ends a process at once; says whether it was there.
pub(crate) fn kill(id: i32) -> bool {
    kill_process(Pid::from_raw(id).unwrap(), Signal::KILL).is_ok()
}

/// Waits until none of these processes is left; a number that means somebody else by now does not count.
#[track_caller]
pub(crate) fn all_gone(processes: &[Process]) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let is_left =
            |process: &&Process| find(process.id).is_some_and(|found| found.group == process.group);
        let left: Vec<&Process> = processes.iter().filter(is_left).collect();
        if left.is_empty() {
            return;
        }
        assert!(Instant::now() < deadline, "still running: {left:?}");
        std::thread::park_timeout(Duration::from_millis(20));
    }
}
