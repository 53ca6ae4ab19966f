"""The command line `infopursuit`.

command_line     the parser and `main`: nothing heavy is imported before arguments are checked
fit              a folder of images, or embeddings and texts, to a saved model
explain          pictures to explanations: text, JSON, CSV, HTML, figures
export           a model and images to one page that works offline
serve            the same page with a server of its own
explored_models  the models that both show
given_images     the images that both show
help_texts       what the commands say of themselves
interactive      a person answers in the place of an image, or changes its answers
embedded_files   embeddings with labels, and texts, as .npz, .npy, Parquet or plain lines
output_formats   explanations in the formats of `explain`
"""
