"""The `tidegate` command: parses arguments, wires the services, runs them."""
