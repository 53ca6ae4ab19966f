"""Truth of answers and question quality, by what people say of the classes.

truth.py          what answers claim against what is true of an image's class
reference_labels.py   what is true of a data set of the pipeline, by reference labels and people
measures.py       all figures of a run, each next to chance
"""
