//! Tells clients what has changed: the resources come from the catalog, the tools from the settings.

use std::{sync::Arc, time::Duration};

use rmcp::{
    Peer, RoleServer,
    model::{
        ResourceListChangedNotification, ServerNotification, SubscriptionFilter,
        ToolListChangedNotification,
    },
    service::{SubscriptionContext, SubscriptionSendError},
};
use tokio::sync::watch;
use toolscript_engine::{Engine, config::Surface};

/// Several changes in a short time are one.
const QUIET: Duration = Duration::from_millis(200);

/// Waits for changes and says which lists are new.
struct Changes {
    engine: Arc<Engine>,
    generations: watch::Receiver<u64>,
    surface: Surface,
}

/// Which lists are new.
#[derive(Debug, Clone, Copy)]
struct New {
    tools: bool,
}

impl Changes {
    fn of(engine: &Arc<Engine>) -> Self {
        Self {
            generations: engine.changes(),
            surface: engine.settings().server.surface,
            engine: engine.clone(),
        }
    }

    /// The next change; `None` when there will be none.
    async fn next(&mut self) -> Option<New> {
        self.generations.changed().await.ok()?;
        tokio::time::sleep(QUIET).await;
        self.generations.mark_unchanged();
        let surface = self.engine.settings().server.surface;
        let tools = surface != self.surface;
        self.surface = surface;
        Some(New { tools })
    }
}

/// Tells a client of the older era until it is gone.
pub(super) fn tell(engine: &Arc<Engine>, peer: Peer<RoleServer>) {
    let mut changes = Changes::of(engine);
    tokio::spawn(async move {
        while let Some(new) = changes.next().await {
            if new.tools && peer.notify_tool_list_changed().await.is_err() {
                return;
            }
            if peer.notify_resource_list_changed().await.is_err() {
                return;
            }
        }
    });
}

/// What a client of the newer era may listen to.
pub(super) fn accepted(requested: &SubscriptionFilter) -> SubscriptionFilter {
    let mut accepted = SubscriptionFilter::new();
    accepted.tools_list_changed = requested.tools_list_changed;
    accepted.resources_list_changed = requested.resources_list_changed;
    accepted
}

/// Tells a client of the newer era for as long as it listens.
pub(super) async fn listen(engine: &Arc<Engine>, subscription: &SubscriptionContext) {
    let mut changes = Changes::of(engine);
    let telling = async {
        while let Some(new) = changes.next().await {
            if send(subscription, new).await.is_err() {
                return;
            }
        }
    };
    tokio::select! {
        () = subscription.cancelled() => {}
        () = telling => {}
    }
}

async fn send(subscription: &SubscriptionContext, new: New) -> Result<(), SubscriptionSendError> {
    let accepted = subscription.accepted();
    if new.tools && accepted.tools_list_changed == Some(true) {
        let notification = ToolListChangedNotification::default();
        let notification = ServerNotification::ToolListChangedNotification(notification);
        subscription.sink().send(notification).await?;
    }
    if accepted.resources_list_changed == Some(true) {
        let notification = ResourceListChangedNotification::default();
        let notification = ServerNotification::ResourceListChangedNotification(notification);
        subscription.sink().send(notification).await?;
    }
    Ok(())
}
