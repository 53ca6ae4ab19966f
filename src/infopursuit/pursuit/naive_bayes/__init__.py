"""Information Pursuit with naive Bayes: no networks, no gradient, a table of class-wise rates.

model.py       the classifier (naive Bayes), the querier (information gain), redundant questions
fit.py         rates from training images, calibration from held-out ones
selection.py   the queries whose answers tell most of the class together
training_set.py  the rows to fit on
sharded_set.py   images to fit on that are read a shard at a time
"""
