"""Whether answers are true and questions make sense, by what people say of the classes.

judgements.py   what people say: a judge's table, a strict list
traps.py        whether a judge's table says anything
truth.py        three-valued answers against what is true of an image's class
ranking.py      whether scores rank the images of which a text is true above the others
questions.py    whether the questions asked fit any class, and the yes fit the predicted one
reader.py       how far one gets who knows the classes and hears the answers, and nothing else
explained.py    how much of what answers tell of the class follows from the words
worst.py        the false answers that did most harm
text_rule.py    the answers of a model to other texts than its own
measures.py     all figures of truth and sense, each beside chance
run_meaning.py  all that is measured of a run of the pipeline
"""
