"""Chance in separate streams: a thing drawn differently leaves all others as they were."""

import random


class Streams:
    """Named random streams of one picture.

    Two scenes that differ in one attribute draw everything else from equal streams: the stripes of
    the one do not shift the clouds of the other.
    """

    def __init__(self, rng: random.Random) -> None:
        """`rng` gives the one number that all streams follow from."""
        self._seed = rng.getrandbits(64)

    def __call__(self, name: str) -> random.Random:
        """The stream of one name, from its beginning."""
        return random.Random(f"{self._seed}/{name}")
