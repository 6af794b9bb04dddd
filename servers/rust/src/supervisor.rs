//! Executes the commands of a supervisor on standard input.

use std::{
    io::{self, BufRead, Write},
    process,
    sync::atomic::Ordering::Relaxed,
    thread,
};

use serde::Deserialize;

use crate::{backend::Backend, fault::Fault};

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Command {
    Fault(Fault),
    Count(bool),
}

/// Starts a thread that executes commands. When standard input ends, the supervisor is gone
/// and the process exits.
pub fn start(backend: &'static Backend) {
    thread::spawn(move || {
        for line in io::stdin().lock().split(b'\n').map_while(Result::ok) {
            match serde_json::from_slice(&line) {
                Ok(Command::Fault(fault)) => {
                    backend.fault.send_replace(fault);
                }
                Ok(Command::Count(true)) => count(backend),
                Ok(Command::Count(false)) => {}
                Err(why) => {
                    let line = String::from_utf8_lossy(&line);
                    // eprintln panics when standard error is closed.
                    let _ = writeln!(io::stderr(), "unknown command: {line}: {why}");
                }
            }
        }
        process::exit(3);
    });
}

/// Writes a line with the number of calls started. An error is ignored, because it means that the
/// supervisor is gone.
pub fn count(backend: &Backend) {
    let _ = writeln!(io::stdout(), "{}", backend.started.load(Relaxed));
}
