"""From storage to operand: the shortest program of loads and register moves that delivers an operand, by exact search
over the bits of places, with a certificate.

`solve.deliver` asks; `places` has the maps of bits, `memory` where the elements lie, `moves` the instructions with
their costs, `search` the search, `program` the instructions one by one and their simulation.
"""
