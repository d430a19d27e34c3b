//! Peers with bad manners: one that hangs up, one that is not there.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use tokio::{io::AsyncReadExt, net::TcpListener, task::JoinHandle};

/// A server that reads the start of a request and closes the connection.
#[derive(Debug)]
pub struct HangsUp {
    url: String,
    visits: Arc<AtomicUsize>,
    task: JoinHandle<()>,
}

impl HangsUp {
    /// Starts it on a free loopback port.
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!(
            "http://{}",
            listener.local_addr().expect("the port just taken")
        );
        let visits = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&visits);
        let task = tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut start = [0; 1024];
                if stream.read(&mut start).await.is_ok_and(|read| read > 0) {
                    counter.fetch_add(1, Ordering::SeqCst);
                }
            }
        });
        Self { url, visits, task }
    }

    /// Where it listens.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// How many requests it has cut off.
    pub fn visits(&self) -> usize {
        self.visits.load(Ordering::SeqCst)
    }
}

impl Drop for HangsUp {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// An address at which nobody listens.
pub async fn nobody() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    format!(
        "http://{}",
        listener.local_addr().expect("the port just taken")
    )
}
