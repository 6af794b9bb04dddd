//! The servers under test in Rust, with tonic and axum. servers/CONTRACT.md says what
//! they owe.

mod ailment;
mod backend;
mod duration;
mod flags;
mod grpc;
mod object;
mod orders;
mod rest;
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

// The system's allocator takes a third more processor time for an order of 1,000
// articles, and about as much for small messages; this one takes 10 MB more memory.
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

/// Serves until it is told to go, on one thread or one for each core.
fn run(flags: Flags) -> Result<(), Box<dyn Error>> {
    rlimit::increase_nofile_limit(u64::MAX)?; // a connection is a file; Go does so by itself
    // It lives as long as the process: so calls borrow it, and count no references.
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
        orders::count(backend); // of all calls, now that they are answered
    }
    Ok(())
}

async fn serve(flags: &Flags, backend: &'static Backend) -> Result<(), Box<dyn Error>> {
    let health = HealthReporter::new();
    // The handlers stand before the port opens: who can connect can also stop it.
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let (reporter, drain) = (health.clone(), flags.drain);
    let told_to_go = async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
            never = ailment::flap(backend.ails.subscribe(), &reporter) => match never {},
        }
        reporter
            .set_service_status("", ServingStatus::NotServing)
            .await;
        tokio::time::sleep(drain).await;
    };
    let listener = listen(&flags.listen)
        .await
        .map_err(|why| format!("cannot listen on {}: {why}", flags.listen))?;
    if flags.supervised {
        orders::obey(backend);
    }
    match flags.model {
        Model::Grpc | Model::GrpcSingle => {
            Ok(grpc::serve(backend, health, listener, told_to_go).await?)
        }
        Model::Axum => Ok(rest::serve(backend, health, listener, told_to_go).await?),
    }
}

/// Listens with room for as many clients as come at once. Rust's own backlog of 128 would
/// have the rest wait for seconds, until they try again (RFC 6298).
async fn listen(address: &str) -> io::Result<TcpListener> {
    let address = lookup_host(address)
        .await?
        .next()
        .ok_or(io::ErrorKind::NotFound)?;
    let socket = if address.is_ipv4() {
        TcpSocket::new_v4()?
    } else {
        TcpSocket::new_v6()?
    };
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(4096)
}
