"""Explained classifiers of other people, on the same embeddings and texts, with one face.

peer.py              that face: fit, predict, predict_proba, explain, and at(t) for fewer texts
budgets.py           numbers of texts at which they are compared
contributions.py     what each text adds to the score of each class
memory.py            what fits on the same images have in common
heads.py             linear heads, and what is summed to fit them
elastic_net.py       sparse linear heads along a path of penalties, and at a given number of weights
sparse_logistic.py   logistic regression on concept scores at a number of effective concepts
zero_shot.py         class names, and ensembles of descriptions (DCLIP)
black_boxes.py       what reads the embeddings and explains nothing
label_free.py        Label-free CBM
pcbm.py              post-hoc CBM, and the hybrid with a residual
codes.py             sparse codes of images over texts, and their heads
matching_pursuit.py  orthogonal matching pursuit of many images at once
ip_omp.py            IP-OMP
lasso.py             sparse, non-negative combinations of texts
splice.py            SpLiCE and a linear head
labo.py              LaBo
lm4cv.py             LM4CV
res_cbm.py           Res-CBM
selected_texts.py    the same texts for every image, by forward selection
binary_answers.py    yes or no, for those below
decision_tree.py     a decision tree
rule_list.py         a list of rules (CN2)
pursuits.py          what asks one question after another
generative_ip.py     generative Information Pursuit
pursuit_classifier.py  ours
paper_networks.py    the paper's networks
"""
