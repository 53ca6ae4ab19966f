"""Whether answers are true and questions make sense, by what people say of the classes.

truth.py          three-valued answers against what is true of an image's class
covering.py       whether a yes is taken back if its place in the picture is covered
worst_answers.py  the false answers that did most harm
judgements.py     what people and judges say of a data set of the pipeline
measures.py       all figures of a run, each next to chance
"""
