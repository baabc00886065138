"""Pictures of the dashboards, drawn from the data of a Prometheus: ``python -m tools.pictures``."""
