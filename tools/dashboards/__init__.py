"""Grafana's dashboards, all made alike; ``python -m tools.docs`` writes them."""
