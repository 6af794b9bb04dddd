//! The flags of the server.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use clap::{Parser, ValueEnum};

use crate::duration;

/// Serves the workloads of rpclab over gRPC or REST until SIGTERM; then it drains.
#[derive(Parser)]
#[command(args_override_self = true)] // the last value counts, as in Go
pub struct Flags {
    /// HOST:PORT to listen on
    #[arg(long, default_value = "127.0.0.1:50051")]
    pub listen: String,
    /// serve clients of other machines
    #[arg(long)]
    pub public: bool,
    /// the stack that answers calls
    #[arg(long, value_enum, default_value_t = Model::Grpc)]
    pub model: Model,
    /// identity that every response carries
    #[arg(long, default_value = "server")]
    pub id: String,
    /// wait before a greeting and before an order is accepted
    #[arg(long, default_value = "0s", value_parser = duration::parse)]
    pub delay: Duration,
    /// largest random additional wait before an order is accepted
    #[arg(long, default_value = "0s", value_parser = duration::parse)]
    pub spread: Duration,
    /// calls processed at once, while others queue (0: all)
    #[arg(long, default_value_t = 0)]
    pub workers: u32,
    /// how long to accept calls after SIGTERM
    #[arg(long, default_value = "0s", value_parser = duration::parse)]
    pub drain: Duration,
    /// read commands on standard input, and exit when it closes
    #[arg(long)]
    pub supervised: bool,
}

impl Flags {
    /// Refuses an address that other machines can reach, unless --public allows it.
    pub fn check(&self, address: SocketAddr) -> io::Result<()> {
        if self.public || self.supervised || address.ip().is_loopback() {
            return Ok(());
        }
        Err(io::Error::other(
            "other machines could send requests: allow them with --public, or listen on 127.0.0.1",
        ))
    }
}

#[derive(Clone, Copy, ValueEnum)]
pub enum Model {
    /// tonic, on all cores
    Grpc,
    /// tonic, on one thread
    GrpcSingle,
    /// REST with axum, on all cores
    Axum,
}
