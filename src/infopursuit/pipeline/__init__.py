"""params.yaml as a whole: read, checked, changed.

params.py      all sections, and the rules across them
check.py       all settings and all inputs, before anything runs
leftovers.py   outputs of earlier settings, moved out of the way
configure.py   ready-made settings merged into params.yaml
"""
