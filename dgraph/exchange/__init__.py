r"""How what leaves a slot reaches the others.

::

    slot program --await--> Context --Frames--> Hub ==by reference==> slots of this process
                                                 \==Links: sockets==> hubs of other processes

A :class:`~dgraph.exchange.frame.Frame` is what one slot sends another at one go. The
:class:`~dgraph.exchange.hub.Hub` of a process is the meeting point of its slots: a superstep
ends there. :mod:`dgraph.exchange.routing` says over which slots a message travels and
:mod:`dgraph.exchange.transport` carries frames to other processes.
"""
