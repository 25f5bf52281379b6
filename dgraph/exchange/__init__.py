r"""How what leaves a slot reaches the others.

::

    slot program --await--> Context --Frames--> Hub ==by reference==> slots of this process
                                                 \==Links: sockets==> hubs of other processes

A :class:`~dgraph.exchange.frame.Frame` is what one slot sends another at one go. The
:class:`~dgraph.exchange.hub.Hub` of a process is the meeting point of its slots: a superstep
ends there. :mod:`dgraph.exchange.routing` says over which slots a message travels and
:mod:`dgraph.exchange.transport` carries frames to other processes.

What a superstep is made of::

    request     what a slot hands its hub (frames, a vote), and what it gets
    frame       a fixed header and columns; encoding: which vertices these are about
    hub         steps the slots of a process, exchanges what they hand over (parties: with whom)
    meeting     where slots wait for each other that go through supersteps in compiled code
    segment     memory that processes of one host have in common; shelf: arrays that lie there
    cores, room where its threads run; memory that is used again

and what comes in between on the way to other processes::

    envelope    what travels together for a part of a routed way; hop: one stage of it
    combining   messages to the same vertex become one
    buffers     what is on its way, and how much of it may be held
"""
