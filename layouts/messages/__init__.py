"""Messages of ptxas, of the driver's tensor maps and of CuTe: why each comes, what to change, and the smallest program.

`recognise_messages` finds them in a pasted text.
"""
