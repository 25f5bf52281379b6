"""The superstep engine: slot programs, their context, and how they are run on Dask.

The way of a run::

    launch      on the client: start one pinned task on each worker, wait, report
    members     which workers host which slots (returning: workers that are started again)
    discovery   where the topology comes from
    spec        what a run is: all that a worker is sent
    vigil       wait, look after lost workers, end what has to end; compiling: tell of it
    plugin      on a worker: holds shards (holdings), answers the client
    gang        in the pinned task: hosts this worker's slots (joining: connects the others)
    carriers    which transport leads to whom; buffering: how large its buffers are
    failure     who noticed what, and the one error that the user sees
    records     frames, messages, bytes and seconds of every superstep (tallies: of buffers)
    pool        the same slots on threads without Dask, for tests and virtual slots

What a slot program works with::

    context     reduce, broadcast, allreduce, alltoall (direct: the frames these send)
    changes     what has changed, and whom it concerns
    parts       between the owner of a split row and the slots that have pieces of it
    translate   between the users' ids and numbers
    columns     what an algorithm returns, and how it becomes a table
    alone       a context for one slot that has all (inner: what others would have sent)
    commons     memory of several processes of a host, in which slots go on without frames

A superstep over gateways, see :mod:`dgraph.exchange.routing`::

    network     what the slots of a process have in common about it
    agreement   what all slots agree on about a shard, once
    router      a slot's messages, in stages (trip: one superstep of them)
    multicast   ways from masters to proxies; news: what travels there; places: how encoded
    straight    what would have gone straight to its target, for the record

Measuring links::

    probe       on the client: latency and rate by level and transport
    doors       on two workers: one opens a door, the other sends through it (mpi_door,
                socket_door)
"""
