"""Who answers beside CLIP: a vision-language model behind a server's protocol.

second_opinion.py  asks it about the answers that matter, with rates of its own
options.py         what the command line has of it: the one line elsewhere that names this folder
"""
