"""What a scene shows as a set of facts, and texts that need facts to be true.

A fact is the name of an attribute that holds (`wings`, `place_snow`), or a thing that only
training texts speak of: `species_zebra`, `action_running`, `cover_rock`, `no_wheels`. A text is
true of every picture that has one fact of each of its needs, which tells a false text from one
that nobody wrote.
"""

from typing import NamedTuple

from menagerie.scenes import Scene

_LEGS = frozenset({"four_legs", "two_legs"})
_ABSENT = ("wheels", "wings", "windows", "rider", "tail", "horns", "clouds")


class Text(NamedTuple):
    """A text, and for each thing it says the facts of which any one makes it true."""

    words: str
    needs: tuple[frozenset[str], ...]

    def is_true(self, facts: frozenset[str]) -> bool:
        """Whether the text is true of a picture with these facts."""
        return all(need & facts for need in self.needs)


def facts_of(scene: Scene) -> frozenset[str]:
    """All facts of a scene."""
    true = {name for name, holds in scene.truth.items() if holds}
    absent = {f"no_{name}" for name in _ABSENT if name not in true}
    if not true & _LEGS:
        absent.add("no_legs")
    return frozenset(
        {
            *true,
            *absent,
            scene.pattern,
            scene.weather,
            f"species_{scene.species.name}",
            f"action_{scene.action}",
            f"cover_{scene.cover.replace(' ', '_')}",
            f"{scene.distance}_distance",
        }
    )
