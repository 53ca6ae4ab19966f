"""How an image answers a question: scores, thresholds, rules, and what answers tell of the class.

moments.py      means of the classes and scatter within them
directions.py   the direction that a text is measured along
thresholds.py   where an answer turns to yes
rules.py        the answer rules behind one interface
columns.py      questions about the columns of a table
table.py        how often each class gives each answer, and evidence that adds up
information.py  what an answer tells of the class, in nats
"""
