"""How an image answers a question: scores, thresholds, rules, and what answers tell of the class.

score_map.py         cosines, relative to what all texts have in common
text_directions.py   the direction of each text, by what is known of it
thresholds.py        where an answer turns to yes
rules.py             the answer rules behind one interface
rates.py             how often each class says yes
words.py             how much of what answers tell their words explain
information.py       what an answer tells of the class, in nats
"""
