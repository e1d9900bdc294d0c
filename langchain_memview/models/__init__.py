"""Chat and embedding models by name, for the demo, the benchmarks and the commands."""
