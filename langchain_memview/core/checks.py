"""Placeholder."""
def check_policy(document): return []
