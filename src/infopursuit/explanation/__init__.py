"""What was asked about one image, what was answered, and what was believed after it.

explanation.py   the type `Explanation`, plain data that goes to JSON and back
stopping.py      when to ask no more
figure.py        an explanation as a picture: questions down, posterior as a heat map
text.py          the same for a terminal; html.py for a notebook
frame.py         a whole page inside a notebook
"""
