"""One harness times everything: ``make bench``, or ``python -m benchmarks --help``.

How it measures
---------------
* Generation, ingest, kernel and validation are timed apart.
* dgraph and its rivals work on the very same edges, and their runs take turns within one
  measurement (:mod:`benchmarks.contest`): a neighbour that takes the processor for a second
  falls on all alike. In a turn dgraph and GAPBS do three runs in succession, of which the
  median counts; the other rivals do one. Figures are medians over the turns.
* Every rival runs in a process of its own (:mod:`benchmarks.rivals.worker`), so that neither
  its memory nor its threads meet those of dgraph. One that is not installed is skipped with a
  line that says so.
* dgraph's figure is ``runs[-1].seconds`` wherever the rival's is its kernel alone; what stands
  around it (launch, columns in the user's ids) has lines of its own.

Where things are
----------------
=========================  =================================================================
``timing``                 clocks and medians
``contest``                contenders take turns
``row``                    a line of the report: figure, rivals, ratio, target, met or not
``edges``, ``graphs``      the input files that all of them read
``bench``                  what the cases share: files, clusters, resident graphs, rivals
``ours``                   dgraph's side of a contest
``rivals/``                one rival, one file
``cases/``                 one case, one file: ``run(bench)`` yields rows
``machine``                the limit of the machine: memory bandwidth, random gather
``memory``                 peak memory of a build, in a process of its own
=========================  =================================================================
"""
