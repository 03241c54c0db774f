"""From storage to operand: the shortest program of loads and register moves that delivers an operand, by exact search
over the bits of places, with a certificate.

`ask` reads a question, `solve` answers it. `places` has the maps of bits, `memory` where the elements lie, `loads`,
`moves` and `conversions` the instructions with their costs, `search` the search, `program` the instructions one by one
and their simulation, `named` what public kernels do.
"""
