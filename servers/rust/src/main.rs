//! The greeter under test, in Rust with tonic. servers/CONTRACT.md says what it owes.

mod duration;
mod identity;

use std::{error::Error, net::SocketAddr, time::Duration};

use clap::Parser;
use tokio::signal::unix::{SignalKind, signal};
use tonic::{Request, Response, Status, transport::Server};

mod v1 {
    tonic::include_proto!("rpclab.v1");
}
use v1::greeter_server::{Greeter, GreeterServer};

/// Serves rpclab.v1.Greeter with gRPC health until it is told to stop; then it drains.
#[derive(Parser)]
struct Flags {
    /// address to listen on
    #[arg(long, default_value = "127.0.0.1:50051")]
    listen: SocketAddr,
    /// identity that every answer carries
    #[arg(long, default_value = "server")]
    id: String,
    /// wait before every answer
    #[arg(long, default_value = "0s", value_parser = duration::parse)]
    delay: Duration,
    /// how long it still accepts calls once told to stop
    #[arg(long, default_value = "0s", value_parser = duration::parse)]
    drain: Duration,
}

struct Hello {
    id: String,
    delay: Duration,
}

#[tonic::async_trait]
impl Greeter for Hello {
    async fn say_hello(
        &self,
        request: Request<v1::HelloRequest>,
    ) -> Result<Response<v1::HelloReply>, Status> {
        if !self.delay.is_zero() {
            tokio::time::sleep(self.delay).await;
        }
        Ok(Response::new(v1::HelloReply {
            message: format!("Hello, {}", request.into_inner().name),
            backend: self.id.clone(),
        }))
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let flags = Flags::parse();
    let layer = identity::layer(&flags.id)?;
    let (health, health_service) = tonic_health::server::health_reporter();
    let greeter = GreeterServer::new(Hello { id: flags.id, delay: flags.delay });

    // The handlers stand before the port opens: who can connect can also stop it.
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let told = async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        health.set_service_status("", tonic_health::ServingStatus::NotServing).await;
        tokio::time::sleep(flags.drain).await;
    };
    Server::builder()
        .layer(layer)
        .add_service(health_service)
        .add_service(greeter)
        .serve_with_shutdown(flags.listen, told)
        .await
        .map_err(|e| format!("serve on {}: {e}: {:?}", flags.listen, e.source()).into())
}
