"""Uses the installed wheel as the README does; run in the environment that .ci/wheel made."""

import sys
import time
import zipfile
from importlib.metadata import distributions

started = time.perf_counter()
import infopursuit  # noqa: E402

seconds = time.perf_counter() - started
assert seconds <= 0.3, f"import infopursuit took {seconds:.2f} s"
heavy = {"torch", "sklearn", "numpy", "open_clip"} & set(sys.modules)
assert not heavy, f"import infopursuit imports {heavy}"
assert "site-packages" in infopursuit.__file__, infopursuit.__file__

import numpy as np  # noqa: E402

names = zipfile.ZipFile(sys.argv[1]).namelist()
assert "infopursuit/py.typed" in names
packaged = ("visual_vocabulary.csv", "grammar.toml", "wordnet_nouns.xz", "wordnet_licence.txt")
assert {f"infopursuit/texts/{name}" for name in packaged} <= set(names)
assert {f"infopursuit/explorer/page/{name}" for name in ("index.html", "main.js")} <= set(names)
foreign = [
    name
    for name in names
    if not name.startswith(("infopursuit/", "infopursuit-")) or "menagerie" in name
]
assert not foreign, f"the wheel holds {foreign}"
installed = {each.metadata["Name"].lower() for each in distributions()}
unwanted = {"dvc", "datasets", "fastapi", "polars", "pytest", "ray", "vllm"} & installed
assert not unwanted, f"the library brings {unwanted}"

generator = np.random.default_rng(0)
texts = infopursuit.texts.visual_vocabulary()[:40]
text_embeddings = generator.standard_normal((40, 32))
text_embeddings /= np.linalg.norm(text_embeddings, axis=1, keepdims=True)
y = generator.integers(0, 4, 400)
X = text_embeddings[y] + 0.1 * generator.standard_normal((400, 32))
X /= np.linalg.norm(X, axis=1, keepdims=True)

# The three lines of the README.
model = infopursuit.InformationPursuitClassifier(texts, text_embeddings, n_queries=8).fit(X, y)
assert model.predict(X).shape == (400,) and model.predict_proba(X).shape == (400, 4)
explanation = model.explain(X[:1])[0]

assert model.score(X, y) > 0.9
assert explanation.questions and explanation._repr_html_() and explanation.plot()
model.save("model")
again = infopursuit.load("model")
assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
np.save("X.npy", X[:3])
sys.stdout.write(f"import {seconds:.2f} s; asked: {', '.join(explanation.questions)}\n")
