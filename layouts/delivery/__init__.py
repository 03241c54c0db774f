"""From storage to operand: the shortest program of loads and register moves, by exact search, with a certificate.

`ask` parses a request and `solve` answers it. `places` has the maps of bits, `memory` the addresses of elements,
`loads`, `moves` and `conversions` the instructions with their costs, `search` the search, `program` the instructions
and their simulation, `named` the deliveries of public kernels.
"""
