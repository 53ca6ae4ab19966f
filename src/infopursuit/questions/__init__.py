"""Where questions come from: texts of a CLIP, the columns of a table, or a source of your own.

A source (`source.py`) chooses questions on training rows by constraints (`constraints.py`), and
says how rows answer them. `fitting.py` makes a pursuit of any source.
"""
