"""The library's face: classifiers by scikit-learn's conventions.

base.py                 what all of them do: predict, explain, leave out, save
information_pursuit.py  InformationPursuitClassifier: naive Bayes and information gain
variational.py          VariationalInformationPursuit: the paper's networks
inputs.py               rows, frames, pictures and labels as people hand them over
training_rows.py        labelled, weighted rows, and those held out
dictionary.py           the texts that questions come from
pictures.py             fit from pixels: a folder of images, any open_clip model
saved.py                a model as a folder, and back
loading.py              load: a folder, or the hub
hub.py, model_card.py   models on the Hugging Face hub, and what is said of them there
near_texts.py           texts near a query
shown.py                a model in a notebook
"""
