//! Durations as Go writes them: 500ms, 1.5s, 1m0s.

use std::time::Duration;

const UNITS: [(&str, f64); 7] = [
    ("ns", 1e-9),
    ("us", 1e-6),
    ("µs", 1e-6),
    ("ms", 1e-3),
    ("s", 1.0),
    ("m", 60.0),
    ("h", 3600.0),
];

/// Reads a sum of numbers with units, or a bare 0.
pub fn parse(text: &str) -> Result<Duration, String> {
    let wrong = || format!("{text:?} is not a duration: use one such as 500ms or 1.5s");
    if text == "0" {
        return Ok(Duration::ZERO);
    }
    let (mut rest, mut seconds) = (text, 0.0);
    while !rest.is_empty() || text.is_empty() {
        let (number, tail) = split(rest, |c| c.is_ascii_digit() || c == '.');
        let (unit, tail) = split(tail, |c| c.is_alphabetic());
        let number: f64 = number.parse().map_err(|_| wrong())?;
        let (_, scale) = UNITS
            .iter()
            .find(|(name, _)| *name == unit)
            .ok_or_else(wrong)?;
        seconds += number * scale;
        rest = tail;
    }
    Duration::try_from_secs_f64(seconds).map_err(|_| wrong())
}

/// Splits off the longest prefix of accepted characters.
fn split(text: &str, wanted: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(|c| !wanted(c)).unwrap_or(text.len()))
}
