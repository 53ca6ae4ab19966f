"""Information Pursuit where the scores of all questions are jointly normal in each class.

levels.py       how images answer: a score, and the words for it
scores.py       the model: class means of all scores, one covariance, temperature
histories.py    what is expected of all scores after some answers
information.py  how much the next answer would tell
model.py        the querier and the classifier
dictionary.py   the texts that tell the classes apart best together
fit.py          all of it from class moments of training images
"""
