"""What measures and compares models: above the library, which imports nothing from here.

evaluation   what a fitted model is worth on test images
meaning      truth of answers and question quality
peers        explained classifiers of other people, with one interface
comparison   all peers by one protocol
run_report   the page that the pipeline ends with
experiments  commands that measure for a page of the documentation
"""
