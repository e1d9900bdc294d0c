"""Conformance suites and helpers for tests, also for those of users."""
