"""Metrics, events, logs, probes. This file imports nothing, so that ``shared.telemetry.probe`` starts at once."""
