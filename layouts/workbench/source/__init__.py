"""What is reported of a source file as a whole: its #if directives, includes, target, gaps and open values."""
