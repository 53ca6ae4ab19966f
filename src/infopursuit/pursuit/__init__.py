"""Information Pursuit itself, whatever asks and whatever classifies.

querier.py   what a querier and a classifier are
rollout.py   the loop: ask, answer, believe, for a batch of images
sentences.py  what explanations say, by a table that the page of the explorer has, too
pursuit.py   a fitted pursuit: questions, answer rule, querier, classifier
dialogue.py  one image, step by step, with answers that may be changed
conversation.py  a dialogue in lines of text: a person (person.py) or a vision model answers
"""
