"""PTX text: tokens, the parser, and the module that it makes."""
