"""How frames travel between the processes of a run.

::

    links    the way to all other processes of a run: one bundle each way per superstep
    poll     which links have something to do
    bundle   what travels: votes, the heads of the frames, their columns
    unix     Unix sockets, between processes of one host; shm: with memory beside them
    comm     Dask's comms (tcp, tls, ...), between hosts
    mpi      MPI, between ranks of one job
    world    that job: how its ranks meet for a run
    ranks    that job: what all its ranks do together, at its beginning and end

A pair of processes has one channel. All channels of a process are driven by the thread that
completes the superstep, in one poll loop: no thread of their own, nothing is unpickled.
"""
