"""Benchmarks of the product against its limits: they report, they don't judge."""
