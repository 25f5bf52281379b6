"""Routing: over which slots a message travels.

The context hands the hub frames that name their source and target slot, and the hub sends each
straight to its target: that is the routing ``direct``. A routing that gathers frames at other
slots before they cross an expensive link is a further file here.
"""
