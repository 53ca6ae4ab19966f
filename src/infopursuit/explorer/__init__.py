"""Trained models as a page to explore: one file that works offline, or served.

payload.py          what the page gets to know: the document and its schema
described_model.py  a fitted model as the page gets it
shown_images.py     samples with thumbnails, and the answers of all other images
contents.py         both together, within the limit of a page's size
origins.py          where questions come from, in words
page.py             page/ and a payload as one file
notebook.py         the same for a model at hand
server.py           the page with a server: its API
api.py, thoughts.py what may be asked of it, and how models answer
uploads.py          pictures that strangers send
guard.py            who may ask, how much, and what a browser may do
serving.py          the server in action
page/               markup, style and modules
"""
