"""The caller: a job on standard input, frames on standard output."""
