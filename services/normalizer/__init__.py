"""Consumes raw envelopes, publishes canonical messages."""
