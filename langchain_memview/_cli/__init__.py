"""The command line `memview`."""
