"""What the commands say of themselves: descriptions and examples."""

ABOUT = """
Image classifiers that explain themselves: they ask yes/no questions, one after another, and show
which answers led to the prediction.
"""
EXAMPLES = """
examples:
  infopursuit fit photos/ --out model            # photos/CLASS/IMAGE; the texts ship with it
  infopursuit explain --model model new.jpg      # which questions, which answers, which class
  infopursuit explain --model model --interactive          # answer the questions yourself
  infopursuit export --model model --images photos page.html        # a page to explore and to share

Each command has examples of its own: infopursuit COMMAND --help.
Completion: infopursuit --print-completion bash  # or zsh, tcsh; put the output where the shell
                                                 # looks for completions
"""
FIT = """
Choose the questions that tell most of the classes, learn how each class answers them, and save the
model as a folder. The images are a folder CLASS/IMAGE, or train/CLASS/IMAGE and test/CLASS/IMAGE
(then the accuracy is measured on the test images); or embeddings that you have already.
"""
FIT_EXAMPLES = """
examples:
  infopursuit fit photos/ --out model
  infopursuit fit photos/ --texts my_texts.txt --queries 64 --out model     # a text a line
  infopursuit fit photos/ --clip ViT-L-14 --ban photo --out model
  infopursuit fit images.npz --texts texts.parquet --out model              # embeddings
  infopursuit fit X.npy --labels y.txt --texts texts.npz --out model

embeddings:
  .npz      embeddings, labels; or train_embeddings, train_labels, test_embeddings, test_labels
  .npy      the rows; their labels in --labels, .npy or a label a line
  .parquet  columns embedding, label or class_name, and split (train, test) if there is one
  with --texts as .parquet (text, embedding), as .npz (texts, embeddings), or a text a line, which
  --clip embeds
"""
EXPLAIN = """
Ask the questions of images and show the answers and what they make of each class. Images are files,
folders, which are searched for images, and patterns such as 'new/*.jpg'. Files that cannot be read
are listed at the end, and the others are explained.
"""
EXPLAIN_EXAMPLES = """
examples:
  infopursuit explain --model model photo.jpg
  infopursuit explain --model model new/ 'more/*.png' --format csv --out answers.csv
  infopursuit explain --model model photo.jpg --figures figures/
  infopursuit explain --model model photo.jpg --decisive   # the few answers that decide
  infopursuit explain --model user/name photo.jpg          # a model of the Hugging Face hub
  infopursuit explain --model model --interactive          # answer the questions yourself
  infopursuit explain --model model --interactive photo.jpg     # change answers of an image
  infopursuit explain --model model X.npy                  # embeddings in the place of images

exit status: 0; 1 where the input is at fault or a file could not be read; 2 for a wrong option
"""
EXPORT = """
Write a page to explore the model: one file that works offline, in any browser, and can be mailed.
Change answers, strike questions, let the model guess what you think of. Some 200 test images are on
it, as small pictures with their answers.
"""
EXPORT_EXAMPLES = """
examples:
  infopursuit export --model model --images photos page.html     # CLASS/IMAGE, train/ and test/
  infopursuit export --model model --images images.parquet page.html
  infopursuit export --model model page.html                # no images: the model and its questions

A table has the columns image (encoded) or embedding or both; and class_name, id, split (train,
test) where these are known. The page has at most 5 MB; pictures that do not fit are left out.
"""
SERVE = """
Open the page of `infopursuit export` from a local server: it also takes your own images, which are
answered and forgotten, compares two models, and has models whose networks are too large for a page.
It needs pip install 'infopursuit[app]'.
"""
SERVE_EXAMPLES = """
examples:
  infopursuit serve --model model --images photos
  infopursuit serve --model model --model other --images photos       # two models side by side
  infopursuit serve --model model --host 0.0.0.0 --allow gpu7.example.org   # for others, too

Ctrl-C ends it. Nothing that is sent to it is stored.
"""
CONFIGURE_EXAMPLES = """
example:
  infopursuit configure params/vitb32-precomputed.yaml
"""
CHECK_EXAMPLES = """
example:
  infopursuit check                # params.yaml and every input it names, in seconds
"""
