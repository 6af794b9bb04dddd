//! One backend: its identity, its workers and its injected fault.

use std::{
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::{Duration, Instant},
};

use http::{HeaderMap, HeaderName, HeaderValue};
use tokio::{
    sync::{Semaphore, watch},
    time,
};
use tonic::Status;

use crate::{fault::Fault, flags::Flags};

/// The header or trailer with the identity of the backend.
const IDENTITY: HeaderName = HeaderName::from_static("rpclab-backend");

pub struct Backend {
    pub id: String,
    pub delay: Duration,
    pub spread: Duration,
    /// Calls started, health checks excluded.
    pub started: AtomicU64,
    /// The injected fault.
    pub fault: watch::Sender<Fault>,
    /// The counter of Increment.
    pub counter: AtomicU64,
    identity: HeaderValue,
    workers: Option<Semaphore>, // none: no limit
}

impl Backend {
    pub fn new(flags: &Flags) -> Result<Backend, String> {
        Ok(Backend {
            id: flags.id.clone(),
            identity: HeaderValue::from_str(&flags.id)
                .map_err(|why| format!("--id {:?}: {why}", flags.id))?,
            delay: flags.delay,
            spread: flags.spread,
            started: AtomicU64::new(0),
            fault: watch::Sender::default(),
            counter: AtomicU64::new(0),
            workers: (flags.workers > 0).then(|| Semaphore::new(flags.workers as usize)),
        })
    }

    /// Adds the identity to the headers or trailers of a response.
    pub fn identify(&self, response: &mut HeaderMap) {
        response.insert(IDENTITY, self.identity.clone());
    }

    /// Makes a call: counts it, waits for a worker, does the work and applies the injected
    /// fault. A slow call keeps its worker, so that queues form. A cancelled call is dropped
    /// wherever it waits.
    pub async fn call<A>(
        &self,
        work: impl Future<Output = Result<A, Status>>,
    ) -> Result<A, Status> {
        self.started.fetch_add(1, Relaxed);
        let fault = *self.fault.borrow();
        if let Some(failure) = fault.failure(&self.id) {
            return Err(failure);
        }
        let _worker = match &self.workers {
            Some(workers) => workers.acquire().await.ok(), // never closed
            None => None,
        };
        let began = Instant::now();
        let response = work.await;
        wait(fault.extra_delay(began.elapsed())).await;
        response
    }
}

/// Waits. tokio's timers tick in milliseconds and are never early, so a wait takes up to
/// 1 ms longer.
pub async fn wait(duration: Duration) {
    if !duration.is_zero() {
        time::sleep(duration).await;
    }
}
