"""The library every Tidegate service stands on: plain values, decisions without I/O, exchanges, buses, telemetry."""
