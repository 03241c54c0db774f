"""Lanescope in the tools that people use: each test drives the real one."""
