//! VMs that wait for work.

use std::sync::{Arc, Mutex};

use crate::{
    vm::Vm,
    watch::{Stuck, lock},
};

/// VMs nobody uses at this moment.
pub(crate) struct Pool {
    idle: Mutex<Vec<Vm>>,
    most_idle: usize,
    stuck: Arc<Stuck>,
}

impl Pool {
    pub(crate) fn new(most_idle: usize, most_stuck: usize) -> Self {
        Self {
            idle: Mutex::default(),
            most_idle,
            stuck: Arc::new(Stuck::new(most_stuck)),
        }
    }

    /// A clean VM, from the pool or new.
    pub(crate) fn take(&self) -> mlua::Result<Vm> {
        let idle = lock(&self.idle).pop();
        idle.map_or_else(|| Vm::new(self.stuck.clone()), Ok)
    }

    /// Takes a VM back, unless something about it is in doubt.
    pub(crate) fn give_back(&self, vm: Vm) {
        let Some(vm) = vm.clean() else { return };
        let mut idle = lock(&self.idle);
        if idle.len() < self.most_idle {
            idle.push(vm);
        }
    }
}
