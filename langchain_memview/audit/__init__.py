"""Checks of a configuration by exact enumeration, and what each condition is for."""
