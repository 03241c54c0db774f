"""PTX in asm statements and modules, and SASS."""
