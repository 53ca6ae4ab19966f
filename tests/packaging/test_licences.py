"""Every dependency has a licence that fits, and the page of licences is that of the lock."""

from __future__ import annotations

import pytest

from tests.packaging.licences import PAGE, licence, objection, page, parts, pinned


def test_every_licence_is_known_and_fits() -> None:
    objections = [objection(name, licence(name)) for name in pinned()]
    assert not [each for each in objections if each]


def test_what_only_tests_use_is_in_no_other_part() -> None:
    assert parts()["kmedoids"] == "development"


def test_the_page_is_up_to_date() -> None:
    told = "python -m tests.packaging.licences"
    assert PAGE.read_text(encoding="utf-8") == page(), told


@pytest.mark.parametrize(
    ("expression", "fits"),
    [
        ("MIT", True),
        ("GPL-3.0-only", False),
        ("EPL-2.0 OR GPL-2.0-or-later", True),
        ("Apache-2.0 AND GPL-3.0-only", False),
        ("MPL-2.0 AND (Apache-2.0 OR MIT)", True),
        ("GPL-3.0-only AND (Apache-2.0 OR MIT)", False),
        ("LicenseRef-NVIDIA-Proprietary", False),
        ("GPL-3.0-or-later", False),
    ],
)
def test_what_fits(expression: str, fits: bool) -> None:
    assert (objection("some", expression) is None) == fits
