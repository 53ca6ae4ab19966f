"""The library's face: classifiers by scikit-learn's conventions.

base.py           what all of them do once fitted: predict, explain, leave out, save
naive_bayes.py    InformationPursuitClassifier: scores of texts, or counted answers of tables
variational.py    VariationalInformationPursuit: the paper's networks
persistence.py    a model as a folder, and back
loading.py        load: from a folder or the hub, as an estimator of scikit-learn
hub.py            models on the Hugging Face hub, with a model card
pictures.py       fit from pixels: a folder of images, any open_clip model
"""
