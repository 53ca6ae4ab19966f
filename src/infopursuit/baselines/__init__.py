"""Classifiers to compare with. All have one face: `fit(train, held_out)`, then `predict`.

baseline.py     that face
linear.py       a logistic regression on the embeddings
mlp.py          a two-layer network on the embeddings
zero_shot.py    CLIP's own classifier: the nearest class name
fixed_order.py  a logistic regression on answers to the same texts for every image
"""
