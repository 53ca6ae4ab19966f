"""A vision-language model answers the questions of a dialogue, by the picture."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from infopursuit.clip.embed import cache_folder
from infopursuit.core.errors import InputError
from infopursuit.generation.answering import UnusableAnswersError, answer_prompts
from infopursuit.generation.language_models import ImagePrompt, LanguageModel, Sampling, encoded
from infopursuit.generation.language_models.vllm_engine import VllmEngine
from infopursuit.generation.parsing import without_thoughts
from infopursuit.pursuit.dialogue import Dialogue

PROMPT = """\
Answer the question about this picture by what you can see in it, with one word: yes, no, or unclear
if the picture does not show it well enough to say.

Question: {}
"""
# What the model may answer, as answers of a dialogue.
CHOICES = {"no": "no", "unclear": "not sure", "yes": "yes"}
# The likeliest answer; one word, with room for a full stop.
SAMPLING = Sampling(temperature=0.0, top_p=1.0, max_tokens=5, seed=0)


class VisionModel:
    """A model that looks at one picture.

    Args:
        model: behind a server that takes pictures.
        picture: of any kind that `infopursuit.datasets.decoding.to_rgb` takes.
        kept_in: a folder for its answers, so that none is asked for twice; None for one in the
            cache folder.
    """

    def __init__(self, model: LanguageModel, picture: Any, kept_in: Path | None = None) -> None:
        if isinstance(model, VllmEngine):
            raise InputError(
                "vLLM in this process takes no pictures; expected the address of a server, such "
                "as that of `vllm serve`"
            )
        self.model, self.picture = model, encoded(picture)
        self.kept_in = cache_folder() / "answers" if kept_in is None else kept_in

    def opening(self, dialogue: Dialogue) -> str:
        """Return nothing: the model needs no help."""
        return ""

    def answer(self, dialogue: Dialogue, question: str) -> str:
        """Put the next question to the model.

        Raises:
            InputError: the model cannot be asked, or says neither yes, no nor unclear.
        """
        text = PROMPT.format(dialogue.pursuit.question(question))
        prompt = ImagePrompt(self.picture, text, tuple(CHOICES))
        [answer] = answer_prompts(self.model, [prompt], SAMPLING, self.kept_in)
        words = without_thoughts(answer.text)[1].lower().split()
        word = words[0].strip(".,;:!*\"'") if words else ""
        if word not in CHOICES:
            message = f"the answer was {answer.text[:80]!r}; expected {', '.join(CHOICES)}"
            raise UnusableAnswersError(message, [answer], {})
        dialogue.answer(CHOICES[word])
        return f"{CHOICES[word]}\n"
