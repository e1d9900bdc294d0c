"""The paper in code: standard library only, no I/O, clock, logging or framework."""
