"""Identification keys: tables of classes by characters, for a person who answers.

key.py      a key in memory; a CSV file, read
cells.py    what a cell of such a file may hold
clavis.py   Clavis 1.0, both ways
models.py   a key as a model
options.py  what the command line has of it: the one line elsewhere that names this folder
command.py  `infopursuit key`
"""
