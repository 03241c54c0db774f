"""Lanescope as a server, a command line and a static export."""
