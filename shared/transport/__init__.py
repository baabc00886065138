"""Sockets to the outside: WebSocket streams and REST requests."""
