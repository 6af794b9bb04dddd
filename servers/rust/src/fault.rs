//! The faults that a supervisor injects.

use std::{convert::Infallible, future, time::Duration};

use serde::Deserialize;
use tokio::{sync::watch, time};
use tonic::{Code, Status};
use tonic_health::{ServingStatus, server::HealthReporter};

/// A fault as a supervisor sends it; the default has no effect. Times are in nanoseconds.
#[derive(Clone, Copy, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Fault {
    slow: u64,  // added to every response
    times: f64, // factor on the duration of a response; below 1: no effect
    code: i32,  // gRPC status code that calls get at once; 0: none
    share: f64, // probability that a call gets the code; 0: it always does
    flap: u64,  // period at which health changes, NOT_SERVING first; 0: never
}

impl Fault {
    /// Decides, for one call, whether it gets a status at once.
    pub fn failure(&self, id: &str) -> Option<Status> {
        let message = || format!("{id} is in an error loop");
        let fails = self.code != 0 && (self.share == 0.0 || rand::random::<f64>() < self.share);
        fails.then(|| Status::new(Code::from(self.code), message()))
    }

    /// The delay to add to a response that took a time.
    pub fn extra_delay(&self, took: Duration) -> Duration {
        let times = took.as_secs_f64() * (self.times - 1.0).max(0.0);
        let times = Duration::try_from_secs_f64(times).unwrap_or(Duration::MAX);
        times.saturating_add(Duration::from_nanos(self.slow))
    }
}

/// Changes health at the interval of the current fault. The same interval again changes nothing.
pub async fn flap(mut fault: watch::Receiver<Fault>, health: &HealthReporter) -> Infallible {
    loop {
        let flap = fault.borrow_and_update().flap;
        tokio::select! {
            _ = fault.wait_for(|next| next.flap != flap) => {}
            never = change_health(health, Duration::from_nanos(flap)) => match never {},
        }
    }
}

/// Changes health at an interval; zero: serving.
async fn change_health(health: &HealthReporter, every: Duration) -> Infallible {
    if every.is_zero() {
        health.set_service_status("", ServingStatus::Serving).await;
        return future::pending().await;
    }
    loop {
        for status in [ServingStatus::NotServing, ServingStatus::Serving] {
            health.set_service_status("", status).await;
            time::sleep(every).await;
        }
    }
}
