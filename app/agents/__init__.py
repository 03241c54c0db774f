"""Tools for coding agents: the Model Context Protocol over standard input and output, and a SKILL.md."""
