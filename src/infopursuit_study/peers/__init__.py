"""Explained classifiers of other people, on the same embeddings and texts, with one interface.

peer.py            that interface: fit, predict, explain, and at(t) for fewer texts
linear.py          concept bottlenecks, LaBo and zero-shot: scores linear in similarities
codes.py           sparse codes of images over texts, and their heads
trees.py           a decision tree
greedy_selection.py  one network selects the next text, another predicts (GDFS)
pursuits.py        one question after another: generative IP, the paper's networks, ours
black_boxes.py     a probe on the embeddings, which explains nothing
binary_answers.py  yes or no of each text, for those that reason about answers
heads.py           linear heads, standardisation, logistic regressions
elastic_net.py, lasso.py, matching_pursuit.py  solvers
"""
