"""Compositions kept for the test pictures: frequent enough there, and in no training picture."""

from hypothesis import given
from hypothesis import strategies as st
from menagerie.compositions import NEW_COATS, NEW_SCENES, is_new_composition
from menagerie.scenes import COLOURS, PLACES, scene_for
from menagerie.species import SPECIES
from menagerie.training_pictures import twin_scenes

INDICES = st.integers(min_value=0, max_value=5000)


def test_the_list_is_of_coats_and_places_that_the_world_has() -> None:
    by_name = {species.name: species for species in SPECIES}
    assert len(NEW_COATS | NEW_SCENES) == 12
    for name, coat in NEW_COATS:
        assert coat in {**by_name[name].colours, **by_name[name].patterns}
    for name, place in NEW_SCENES:
        assert place in {setting[0] for setting in by_name[name].settings}
    # What a class is told by must not be lost with it: some colour and some place remain.
    for species in SPECIES:
        assert set(species.colours) - {coat for name, coat in NEW_COATS if name == species.name}
        places = {setting[0] for setting in species.settings}
        assert places - {place for name, place in NEW_SCENES if name == species.name}


def test_either_the_coat_or_the_place_makes_a_composition_new() -> None:
    assert is_new_composition("tiger", "white", "striped", "grass")
    assert is_new_composition("horse", "brown", "spotted", "grass")
    assert is_new_composition("zebra", "white", "striped", "snow")
    assert not is_new_composition("tiger", "orange", "striped", "snow")
    assert not is_new_composition("zebra", "white", "striped", "grass")


def test_the_parts_of_a_composition_are_familiar_one_by_one() -> None:
    scenes = [scene for index in range(1600) for scene in twin_scenes(2, index)[0]]
    shown = {(scene.species.name, scene.pattern) for scene in scenes}
    shown |= {(scene.species.name, scene.colour) for scene in scenes}
    shown |= {(scene.species.name, scene.place) for scene in scenes}
    assert not shown & (NEW_COATS | NEW_SCENES)
    for _, side in NEW_COATS | NEW_SCENES:
        assert {name for name, other in shown if other == side}, side
        assert side in (*COLOURS, *PLACES, "spotted")


@given(INDICES)
def test_no_training_picture_is_new(index: int) -> None:
    assert not scene_for(2, "train", index)[0].is_new
    assert not any(scene.is_new for scene in twin_scenes(2, index)[0])


def test_a_tenth_of_the_test_pictures_is_new() -> None:
    new = [scene_for(2, "test", index)[0].is_new for index in range(960)]
    assert 0.07 < sum(new) / len(new) < 0.13
