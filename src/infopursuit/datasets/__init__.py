"""Data sets: where images come from, how they are decoded, which split each one is in.

open_images          opens a data set of any accepted form (and lists the forms)
image_source         what every form gives: checked rows, and pixels when asked for
image_folders        train/CLASS/IMAGE, CLASS/IMAGE
image_tables         Parquet files of encoded images, CSV files of paths
hugging_face         the Hugging Face hub, folders of the library `datasets`
pinned_datasets      data sets that a YAML file pins: hub, disk, torchvision, published layouts
dataset_settings     what such a YAML file may say
published_layouts    CUB-200, ImageNet, RIVAL-10, Stanford-Cars as their archives unpack
metadata_files       the lists in those archives
decoding             pictures of every kind to 8-bit RGB: the one decoder
embedded_images      images that are embedded already: Parquet, .npz, .npy
labelled_images      embedded images with labels, as methods take them; the held-out part
samples              which images of many: those held out, samples of a stated size
duplicates           test images that are also training images; classes without images
"""
