//! One backend: who it is, and what every call goes through.

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

use crate::{ailment::Ailment, flags::Flags};

/// The header or trailer that says who answered.
const SIGNATURE: HeaderName = HeaderName::from_static("rpclab-backend");

pub struct Backend {
    pub id: String,
    pub delay: Duration,
    pub spread: Duration,
    /// Calls begun, health not counted.
    pub begun: AtomicU64,
    /// What is wrong with it.
    pub ails: watch::Sender<Ailment>,
    /// What Increment counts.
    pub counter: AtomicU64,
    signature: HeaderValue,
    workers: Option<Semaphore>, // none: a call has to wait for no other
}

impl Backend {
    pub fn new(flags: &Flags) -> Result<Backend, String> {
        Ok(Backend {
            id: flags.id.clone(),
            signature: HeaderValue::from_str(&flags.id)
                .map_err(|why| format!("--id {:?}: {why}", flags.id))?,
            delay: flags.delay,
            spread: flags.spread,
            begun: AtomicU64::new(0),
            ails: watch::Sender::default(),
            counter: AtomicU64::new(0),
            workers: (flags.workers > 0).then(|| Semaphore::new(flags.workers as usize)),
        })
    }

    /// Says in the headers or trailers of an answer whose it is.
    pub fn sign(&self, answer: &mut HeaderMap) {
        answer.insert(SIGNATURE, self.signature.clone());
    }

    /// Does the work of a call: counts it, waits for a worker, and shows what ails the
    /// server. What is slow keeps its worker, so that queues form. A call that is given up
    /// is dropped, wherever it waits.
    pub async fn call<A>(
        &self,
        work: impl Future<Output = Result<A, Status>>,
    ) -> Result<A, Status> {
        self.begun.fetch_add(1, Relaxed);
        let ails = *self.ails.borrow();
        if let Some(failure) = ails.failure(&self.id) {
            return Err(failure);
        }
        let _worker = match &self.workers {
            Some(workers) => workers.acquire().await.ok(), // nobody closes it
            None => None,
        };
        let began = Instant::now();
        let answer = work.await;
        wait(ails.more(began.elapsed())).await;
        answer
    }
}

/// Returns after so long. Timers of tokio tick in milliseconds, and are never early: a
/// wait takes up to 1 ms more.
pub async fn wait(so_long: Duration) {
    if !so_long.is_zero() {
        time::sleep(so_long).await;
    }
}
