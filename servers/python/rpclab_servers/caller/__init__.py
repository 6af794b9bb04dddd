"""A program that makes the calls: a job on standard input, frames on standard output."""
