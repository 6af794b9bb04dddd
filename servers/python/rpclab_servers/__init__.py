"""Servers and callers of rpclab in Python; they implement servers/CONTRACT.md."""
