"""Find the shortest sequence of loads and register moves from a storage to an operand, with a certificate.

`ask` parses a request and `solve` solves it. `places` has the maps of bits, `memory` the addresses of elements,
`loads`, `moves` and `conversions` the instructions with their costs, `search` the search, `program` the instructions
and their simulation, `named` the deliveries of public kernels.
"""
