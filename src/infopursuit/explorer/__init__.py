"""Trained models as a page to explore: one file that works offline, or served.

payload.py          what the page gets to know: the document and its schema
described_model.py  a fitted model as the page gets it
shown_images.py     samples with thumbnails, and the answers of all other images
contents.py         both together, within the limit of a page's size
"""
