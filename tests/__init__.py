"""Tests of dgraph; what several of them use lies in the modules without ``test_``."""
