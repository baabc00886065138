"""The stages, each thin: settings, wiring, run."""
