"""What collectors are made of, ours and other people's.

`lifecycle` is the states a collector goes through, `buffer` the arrays of a rollout, `phases` its
counters, `draws` the numbers actions are drawn with, `checks`, `faults` and `deadlines` what is
refused and how it is told. `scalar` and `batch` step environments into such arrays. `lockstep`,
`guarded` and `foreign_workers` make a collector of a library's vector environment.

Import the modules, not this package: what one of them loads, the others need not pay for.
"""
