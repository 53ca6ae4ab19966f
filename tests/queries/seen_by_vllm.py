"""Put questions about pictures to vLLM's engine, and print its answers as JSON.

.venv-vllm/bin/python tests/queries/seen_by_vllm.py MODEL PICTURE...
"""

import json
import sys
from pathlib import Path

from infopursuit.queries.language_models.model import ImagePrompt, Sampling
from infopursuit.queries.language_models.vllm_engine import VllmEngine
from infopursuit.queries.settings import VllmSettings


def main() -> None:
    model, *pictures = sys.argv[1:]
    engine = {"max_model_len": 512, "dtype": "float32"}
    settings = VllmSettings(model=model, revision=None, engine=engine)
    compute = {"enforce_eager": True, "max_num_seqs": 16, "enable_prefix_caching": True}
    prompts = [
        ImagePrompt(Path(picture).read_bytes(), f"{question} Answer yes, no or unclear.",
                    ("yes", "no", "unclear"))
        for picture in pictures
        for question in ("Is it red?", "Does it have wheels?")
    ]  # fmt: skip
    answers = VllmEngine(settings, compute).answer(prompts, Sampling(0.0, 1.0, 8, 0))
    sys.stdout.write(f"{json.dumps([[*each[:3], *(each.cost or ())] for each in answers])}\n")


if __name__ == "__main__":
    main()
