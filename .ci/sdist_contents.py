"""Checks what is in the sdist that .ci/wheel built: python .ci/sdist_contents.py SDIST WHEEL."""

import sys
import tarfile
import zipfile
from pathlib import PurePosixPath

sdist, wheel = sys.argv[1:]
with tarfile.open(sdist) as archive:
    members = archive.getmembers()
assert all(each.isfile() for each in members), "the sdist holds links or devices"
root = {PurePosixPath(each.name).parts[0] for each in members}
assert len(root) == 1, root
names = {str(PurePosixPath(each.name).relative_to(*root)): each.size for each in members}

# What builds the wheel, and what a person needs who has nothing else.
wanted = {"CHANGELOG.md", "CITATION.cff", "LICENSE", "PKG-INFO", "README.md", "SECURITY.md"}
missing = (wanted | {"pyproject.toml"}) - set(names)
assert not missing, f"the sdist has no {sorted(missing)}"
foreign = {name for name in names if not name.startswith("src/infopursuit/")} - wanted
assert foreign == {"pyproject.toml"} | ({".gitignore"} & foreign), f"the sdist holds {foreign}"
assert not [name for name in names if name.endswith(".pyc")]

# The wheel, which was built from the sdist, has every file of the package.
packaged = {name.removeprefix("src/") for name in names if name.startswith("src/")}
built = {name for name in zipfile.ZipFile(wheel).namelist() if name.startswith("infopursuit/")}
assert packaged == built, packaged ^ built
assert sum(names.values()) < 10e6, "the sdist has more than 10 MB"
sys.stdout.write(f"the sdist holds {len(names)} files, {sum(names.values()) / 1e6:.1f} MB\n")
