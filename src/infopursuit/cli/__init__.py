"""The command line `infopursuit`.

command_line  the parser and `main`: nothing heavy is imported before arguments are checked
options       what commands and options are made of, here and in rooms
fit           a folder of images, or embeddings and texts, to a saved model
explain       pictures to explanations: text, JSON, CSV, HTML, figures
dialogue      the model asks; a person, an image or a vision model answers
predict       pictures to a row for each: class, probability, what decided
explore       `export` and `serve`: a page to explore models with
language_model  the one that the options of a command name
"""
