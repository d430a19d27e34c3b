//! `Delivery`: whether a request may have reached its server.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use rmcp::model::{ClientJsonRpcMessage, ClientRequest, GetExtensions as _};

/// Travels beside a request; the transport marks it when the first byte leaves.
#[derive(Debug, Clone, Default)]
pub(super) struct Delivery(Arc<AtomicBool>);

impl Delivery {
    /// Gives a request a delivery to watch.
    pub(super) fn watch(request: &mut ClientRequest) -> Self {
        let delivery = Self::default();
        request.extensions_mut().insert(delivery.clone());
        delivery
    }

    /// Marks the delivery of a message as begun, where somebody watches it.
    pub(super) fn begin(message: &ClientJsonRpcMessage) {
        if let Some(delivery) = Self::of(message) {
            delivery.has_begun_now();
        }
    }

    /// The delivery of a message, where somebody watches it.
    pub(super) fn of(message: &ClientJsonRpcMessage) -> Option<Self> {
        let ClientJsonRpcMessage::Request(request) = message else {
            return None;
        };
        request.request.extensions().get::<Self>().cloned()
    }

    pub(super) fn has_begun_now(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    pub(super) fn has_begun(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}
