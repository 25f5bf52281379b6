"""A heap in two arrays, for kernels: the lowest key first, ties to the lowest number."""

from __future__ import annotations

from dgraph.kernels import kernel

__all__ = ["pop", "push"]


@kernel
def push(keys, numbers, size, key, number):  # type: ignore[no-untyped-def]
    """Put a number onto a heap of so many; return how many there are then."""
    at = size
    while at > 0:
        up = (at - 1) >> 1
        if keys[up] < key or (keys[up] == key and numbers[up] <= number):
            break
        keys[at], numbers[at] = keys[up], numbers[up]
        at = up
    keys[at], numbers[at] = key, number
    return size + 1


@kernel
def pop(keys, numbers, size):  # type: ignore[no-untyped-def]
    """Take the first number off; it is at the place `size - 1` afterwards."""
    size -= 1
    key, number = keys[size], numbers[size]
    keys[size], numbers[size] = keys[0], numbers[0]
    at = 0
    while True:
        down = 2 * at + 1
        if down >= size:
            break
        other = down + 1
        if other < size and (
            keys[other] < keys[down]
            or (keys[other] == keys[down] and numbers[other] < numbers[down])
        ):
            down = other
        if key < keys[down] or (key == keys[down] and number <= numbers[down]):
            break
        keys[at], numbers[at] = keys[down], numbers[down]
        at = down
    keys[at], numbers[at] = key, number
    return size
