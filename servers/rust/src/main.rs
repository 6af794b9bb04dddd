//! The servers under test in Rust, with tonic and axum. They implement servers/CONTRACT.md.

mod backend;
mod duration;
mod fault;
mod flags;
mod grpc;
mod object;
mod rest;
mod supervisor;
mod workloads;

use std::{error::Error, io, process::ExitCode};

use clap::Parser;
use tokio::{
    net::{TcpListener, TcpSocket, lookup_host},
    runtime,
    signal::unix::{SignalKind, signal},
};
use tonic_health::{ServingStatus, server::HealthReporter};

use backend::Backend;
use flags::{Flags, Model};

mod v1 {
    tonic::include_proto!("rpclab.v1");
}

// The system's allocator uses a third more CPU time for an order of 1,000 articles and the same
// for small messages. mimalloc uses 10 MB more memory.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    match run(Flags::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

/// Serves until shutdown, on one thread or one for each core.
fn run(flags: Flags) -> Result<(), Box<dyn Error>> {
    rlimit::increase_nofile_limit(u64::MAX)?; // a connection is a file; Go raises the limit itself
    // The backend lives as long as the process, so calls borrow it without reference counts.
    let backend: &Backend = Box::leak(Box::new(Backend::new(&flags)?));
    let mut runtime = match flags.model {
        Model::GrpcSingle => runtime::Builder::new_current_thread(),
        Model::Grpc | Model::Axum => runtime::Builder::new_multi_thread(),
    };
    runtime
        .enable_all()
        .build()?
        .block_on(serve(&flags, backend))?;
    if flags.supervised {
        supervisor::count(backend); // all calls are answered now
    }
    Ok(())
}

async fn serve(flags: &Flags, backend: &'static Backend) -> Result<(), Box<dyn Error>> {
    let health = HealthReporter::new();
    // Register the handlers before the port opens, so that a SIGTERM always drains.
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let (reporter, drain) = (health.clone(), flags.drain);
    let shutdown = async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
            never = fault::flap(backend.fault.subscribe(), &reporter) => match never {},
        }
        reporter
            .set_service_status("", ServingStatus::NotServing)
            .await;
        tokio::time::sleep(drain).await;
    };
    let listener = listen(flags)
        .await
        .map_err(|why| format!("cannot listen on {}: {why}", flags.listen))?;
    if flags.supervised {
        supervisor::start(backend);
    }
    match flags.model {
        Model::Grpc | Model::GrpcSingle => {
            Ok(grpc::serve(backend, health, listener, shutdown).await?)
        }
        Model::Axum => Ok(rest::serve(backend, health, listener, shutdown).await?),
    }
}

/// Listens with a backlog of 4096. With Rust's default of 128, clients that connect at the same
/// time would wait seconds for a retransmission (RFC 6298).
async fn listen(flags: &Flags) -> io::Result<TcpListener> {
    let address = lookup_host(&flags.listen)
        .await?
        .next()
        .ok_or(io::ErrorKind::NotFound)?;
    flags.check(address)?;
    let socket = if address.is_ipv4() {
        TcpSocket::new_v4()?
    } else {
        TcpSocket::new_v6()?
    };
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(4096)
}
