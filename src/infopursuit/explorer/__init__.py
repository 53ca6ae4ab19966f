"""A trained model as a page to explore: one file that works offline, or served.

payload      what the page gets to know: the document and its schema
contents     the model, samples of its images and the answers of all others, within a page's size
page         page/ and a payload as one file; the page of a model in a notebook
server       the page with a server: its API, its limits, and the server in action
page/        markup, style and modules
"""
