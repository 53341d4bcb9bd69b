"""Processes: start, limit, watch and end them, and clear up what dead ones left.

`limits` is how many cores and threads a process may use, `children` starts interpreters and says
how they ended, `channel` talks to them, `isolated` runs what may hang or die, `segments` is shared
memory with an owner, `leftovers` finds what dead owners left, `usage` measures a process tree.
"""
