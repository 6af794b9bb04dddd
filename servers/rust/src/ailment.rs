//! What is wrong with a server, on purpose.

use std::{convert::Infallible, future, time::Duration};

use serde::Deserialize;
use tokio::{sync::watch, time};
use tonic::{Code, Status};
use tonic_health::{ServingStatus, server::HealthReporter};

/// An ailment as a supervisor orders it; the default: none. Times are in nanoseconds.
#[derive(Clone, Copy, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Ailment {
    slow: u64,  // added to every answer
    times: f64, // an answer takes this many times as long; under 1: as long as ever
    code: i32,  // of gRPC, which every call is answered with at once; 0: none
    flap: u64,  // its health turns every so often, NOT_SERVING first; 0: it does not
}

impl Ailment {
    /// How every call is answered at once, if it is, by the server of this name.
    pub fn failure(&self, id: &str) -> Option<Status> {
        let said = || format!("{id} is in an error loop, as it was told");
        (self.code != 0).then(|| Status::new(Code::from(self.code), said()))
    }

    /// How long an answer that took so long has to wait yet.
    pub fn more(&self, took: Duration) -> Duration {
        let times = took.as_secs_f64() * (self.times - 1.0).max(0.0);
        let times = Duration::try_from_secs_f64(times).unwrap_or(Duration::MAX);
        times.saturating_add(Duration::from_nanos(self.slow))
    }
}

/// Turns the health as the ailments that come say. One that flaps so already goes on as
/// it does.
pub async fn flap(mut ails: watch::Receiver<Ailment>, health: &HealthReporter) -> Infallible {
    loop {
        let flap = ails.borrow_and_update().flap;
        tokio::select! {
            _ = ails.wait_for(|next| next.flap != flap) => {}
            never = turn(health, Duration::from_nanos(flap)) => match never {},
        }
    }
}

/// Turns the health every so often; zero: it serves from now on.
async fn turn(health: &HealthReporter, every: Duration) -> Infallible {
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
