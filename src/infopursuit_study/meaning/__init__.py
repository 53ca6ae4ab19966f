"""Whether answers are true and questions make sense, by what people say of the classes.

truth.py          three-valued answers against what is true of an image's class
judgements.py     what people and judges say of a data set of the pipeline
measures.py       all figures of a run, each next to chance
"""
