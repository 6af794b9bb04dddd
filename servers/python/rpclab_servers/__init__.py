"""Servers and callers of rpclab in Python; servers/CONTRACT.md says what they owe."""
