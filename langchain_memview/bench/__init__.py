"""Benchmarks: what MemView costs, and what it gives."""
