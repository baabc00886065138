"""Holds WebSocket streams to one exchange and publishes what arrives."""
