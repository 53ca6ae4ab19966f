"""Information Pursuit with naive Bayes: no networks, no gradient, a table of class-wise rates.

model.py     the table, the classifier (naive Bayes) and the querier (information gain)
put_off.py   questions that need no asking after others
fit.py       rates from training images, tempering from held-out ones
"""
