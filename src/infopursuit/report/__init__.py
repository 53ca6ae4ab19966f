"""What is drawn for people.

figures.py   the one place that draws: line charts and explanations
notebook.py  explanations and models as tables, for notebooks
places.py    where in a picture an answer comes from
words.py     explanations as lines of text
"""
