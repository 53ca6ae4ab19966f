"""Identification keys: tables of classes by characters, for a person who answers.

key.py      a key in memory; a CSV file, in and out
cells.py    what a cell of such a file may hold
clavis.py   Clavis 1.0, both ways
sdd.py      SDD 1.1, read
models.py   a key as a model, a model or a knowledge table as a key
printed.py  a key to print
options.py  what the command line has of it: the one line elsewhere that names this folder
command.py  `infopursuit key`
"""
