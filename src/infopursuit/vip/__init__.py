"""The paper's method: networks that ask and judge, trained in turn with the dictionary.

settings.py      what a training run depends on
training.py      Algorithm 1
updates.py       its updates: of the networks, of the dictionary, of both; the objective
answering.py     how images answer: of a dictionary that learns, or by fitted thresholds
networks.py      querier and classifier, and their outputs for growing histories
histories.py     which queries an image has been asked
batches.py       mini-batches, and images spread over processes
selection.py     the best weights on images not trained on
checkpoints.py   a killed run goes on where it was
processes.py     one run on several processes; where a run computes
captured.py      a GPU replays updates as CUDA graphs
"""
