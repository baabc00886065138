"""What the pipeline and latency benchmarks are made of: load generator, consumer, designs, trials."""
