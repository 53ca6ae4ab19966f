"""The paper's method: networks that ask and classify, trained in turn with the dictionary.

settings.py        what a training run depends on
training.py        Algorithm 1
updates.py         its updates of the networks, of the dictionary, of both; the answer rule
networks.py        querier and classifier, and their outputs for growing histories
batches.py         mini-batches, images spread over processes, which queries have been asked
early_stopping.py  which weights are kept, and when a phase ends
checkpoints.py     a killed run goes on from its last checkpoint
distributed.py     one run on several processes, or one device
cuda_graphs.py     a GPU replays updates as CUDA graphs
"""
