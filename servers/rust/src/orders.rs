//! What a supervisor orders on standard input.

use std::{
    io::{self, BufRead, Write},
    process,
    sync::atomic::Ordering::Relaxed,
    thread,
};

use serde::Deserialize;

use crate::{ailment::Ailment, backend::Backend};

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Order {
    Ail(Ailment),
    Count(bool),
}

/// Obeys from now on, on a thread of its own: reading blocks. When there are no more
/// orders to come the supervisor is gone, and the process ends.
pub fn obey(backend: &'static Backend) {
    thread::spawn(move || {
        for line in io::stdin().lock().split(b'\n').map_while(Result::ok) {
            match serde_json::from_slice(&line) {
                Ok(Order::Ail(ailment)) => {
                    backend.ails.send_replace(ailment);
                }
                Ok(Order::Count(true)) => count(backend),
                Ok(Order::Count(false)) => {}
                Err(why) => {
                    let line = String::from_utf8_lossy(&line);
                    // Not by eprintln, which panics when nobody reads it.
                    let _ = writeln!(io::stderr(), "an order that no server knows: {line}: {why}");
                }
            }
        }
        process::exit(3);
    });
}

/// Writes a line with the number of calls begun. A supervisor that is gone has no use for it.
pub fn count(backend: &Backend) {
    let _ = writeln!(io::stdout(), "{}", backend.begun.load(Relaxed));
}
