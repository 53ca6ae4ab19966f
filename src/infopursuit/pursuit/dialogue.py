"""One image, asked step by step: the answers are the image's, a person's, or some of each.

    dialogue = model.dialogue(image)
    dialogue.step()                          # ask the best question, take the image's answer
    dialogue.answer("no", "striped body")    # change an answer: what came after is forgotten
    dialogue.finish().explanation()          # and planned again

Without an image a person answers: `dialogue.next_question()`, then `dialogue.answer("yes")`.

With both, the image answers what it is sure of and a person the rest, in one posterior
(`person_cost`): `dialogue.listen()` takes the answers of the image until a person's is worth its
cost, and then `dialogue.answer(...)` takes that.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from infopursuit.core.defaults import own_defaults
from infopursuit.core.errors import InputError
from infopursuit.pursuit.answers.rules import NOT_SURE
from infopursuit.pursuit.explanation import Candidate, Explanation, rounded
from infopursuit.pursuit.pursuit import RUNNERS_UP, Pursuit
from infopursuit.pursuit.rollout import ranked, started
from infopursuit.pursuit.stopping import DEFAULT_STOP, Ended, StoppingRule, posterior_entropy


class _Asked(NamedTuple):
    query: int
    answer: float
    candidates: tuple[Candidate, ...]  # the best questions at that moment
    chosen: bool  # whether a person chose the question
    given: bool  # whether a person gave the answer


@own_defaults
class Dialogue:
    """The questions asked so far, their answers, and what to ask next.

    Args:
        pursuit: the fitted model.
        answers: (k,) of the image to all queries; None if a person gives each answer.
        name: of the image; None for what such things are called.
        stop: when `finish` asks no more.
        person_cost: what asking a person costs, in questions to the image, of which a person
            answers those that the image is not sure of; None if the image answers all. The next
            question tells most for its cost.
        sure: an answer of the image counts if it is at least this certain: yes and no are 1,
            probably and probably not 0.75, not sure 0.5.
    """

    def __init__(
        self,
        pursuit: Pursuit,
        answers: Float[Tensor, " k"] | None = None,
        name: str | None = None,
        stop: StoppingRule | None = None,
        person_cost: float | None = None,
        sure: float = 1.0,
    ) -> None:
        self.pursuit, self.image_answers, self.name = pursuit, answers, name or pursuit.noun
        self.stop, self.known = stop or DEFAULT_STOP, pursuit.known
        self._costs: Tensor | None = None
        self._sure: Tensor | None = None
        if person_cost is not None:
            if answers is None or not person_cost >= 1:
                raise InputError(
                    f"person_cost is {person_cost!r}; expected 1 or more, and answers of "
                    f"the {pursuit.noun}"
                )
            self._sure = pursuit.rule.certainty(answers) >= sure
            if pursuit.words:  # all values of a column are as sure
                self._sure = answers != NOT_SURE
            self._costs = torch.where(self._sure, 1.0, float(person_cost))
        self._asked: list[_Asked] = []

    @property
    def posterior(self) -> dict[Any, float]:
        """The probability of each class now, by its label."""
        labels = self.pursuit.labels or self.pursuit.class_names
        return dict(zip(labels, self._posteriors()[-1].tolist(), strict=True))

    @torch.no_grad()
    def candidates(self, count: int = RUNNERS_UP + 1) -> list[Candidate]:
        """Return the best questions to ask next, with their values, the best first.

        Questions whose answers are implied are not among them.
        """
        answers, masks = self._histories()
        histories = started(self.pursuit.querier, answers[:1], masks[:1] > 0)
        for query in (each.query for each in self._asked):
            histories.add(torch.tensor([query], device=masks.device), answers[-1:, query])
        outputs = histories.outputs(1).masked_fill(masks[-1:] > 0, -torch.inf)
        values = self.pursuit.querier.values(outputs).masked_fill(outputs == -torch.inf, -torch.inf)
        if self._costs is not None:
            outputs = values / self._costs
        (values,) = values
        left = min(count, outputs.shape[1] - len(self._asked) - len(self.known))
        if not left:
            return []
        order = ranked(outputs, self.pursuit.querier.rounding, left)[0].tolist()
        return [
            Candidate(self.pursuit.queries[each], float(values[each]))
            for each in order
            if values[each] > -torch.inf
        ]

    def next_question(self) -> str | None:
        """Return the question that the model would ask now; None if all have been asked."""
        first = self.pursuit.first
        if not self._asked and first is not None and first not in self.known:
            return self.pursuit.queries[first]
        best = self.candidates(1)
        return best[0].query if best else None

    def answers_itself(self, question: str | None = None) -> bool:
        """Return whether the image answers a question (None for the next), not a person."""
        if self.image_answers is None:
            return False
        return self._sure is None or bool(self._sure[self._number(question)])

    @property
    def hands_over(self) -> bool:
        """Whether a person answers what the image is not sure of."""
        return self._sure is not None

    def listen(self) -> str | None:
        """Take the image's answers until a person has to be asked; return that question.

        None if the stopping rule holds, or all has been asked.
        """
        stop = self.stop.checked()
        while not self._stopped(stop) and len(self._asked) < stop.budget(len(self.pursuit.queries)):
            question = self.next_question()
            if question is None or not self.answers_itself(question):
                return question
            self.step()
        return None

    def step(self, question: str | None = None) -> tuple[str, float]:
        """Ask a question (None for the model's choice) and take the image's answer.

        Raises:
            InputError: there is no image, all has been asked, or the question cannot be asked.
        """
        if self.image_answers is None:
            raise InputError(
                f"this dialogue has no {self.pursuit.noun}; expected answer('yes') or the like"
            )
        query = self._number(question)
        self._ask(query, float(self.image_answers[query]), question is not None, given=False)
        return self.pursuit.queries[query], self._asked[-1].answer

    def answer(self, answer: str | float, question: str | None = None) -> None:
        """Answer the next question, or any other.

        If the question was asked before, its answer changes, and the questions that came after are
        forgotten, since they were chosen by it.

        Args:
            answer: `yes`, `probably`, `not sure`, `probably not`, `no`, or a number from 0 to 1; to
                a question for the value of a column one of its values, a number, or `not sure`.
            question: None for the model's next question.

        Raises:
            InputError: it is not an answer, or the model has no such question.
        """
        before = [each.query for each in self._asked]
        if question is not None and self.pursuit.number(question) in before:
            query = self.pursuit.number(question)
            place, value = before.index(query), self.pursuit.answer_value(query, answer)
            self._asked[place:] = [self._asked[place]._replace(answer=value, given=True)]
            return
        query = self._number(question)
        value = self.pursuit.answer_value(query, answer)
        self._ask(query, value, question is not None, given=True)

    def finish(self, stop: StoppingRule | None = None) -> Dialogue:
        """Ask the image what the model wants to know until the stopping rule holds."""
        stop = (stop or self.stop).checked()
        budget = stop.budget(len(self.pursuit.queries))
        while not self._stopped(stop) and len(self._asked) < budget and self.next_question():
            self.step()
        return self

    def undo(self) -> None:
        """Forget the last question and its answer.

        Raises:
            InputError: nothing has been asked.
        """
        if not self._asked:
            raise InputError("nothing has been asked; expected a question to take back")
        self._asked.pop()

    def explanation(self, stop: StoppingRule | None = None) -> Explanation:
        """Return the dialogue so far; `ended` says whether the stopping rule holds now."""
        stop, posteriors = (stop or self.stop).checked(), self._posteriors()
        entropies = posterior_entropy(posteriors.double()).tolist()
        steps = []
        for asked, before, after, entropy in zip(
            self._asked, posteriors[:-1], posteriors[1:], entropies[1:], strict=True
        ):
            step = self.pursuit.explanation_step(
                asked.query, asked.answer, before, after, entropy, asked.candidates, asked.given
            )
            steps.append(replace(step, value=None) if asked.chosen else step)
        return Explanation(
            image=self.name,
            class_names=self.pursuit.class_names,
            prior=rounded(posteriors[0].tolist()),
            steps=tuple(steps),
            ended=self._ended(stop, posteriors),
            criterion=self.pursuit.querier.criterion,
            labels=self.pursuit.labels,
            noun=self.pursuit.noun,
            note=self.pursuit.note,
            spent=self._spent(),
            known=self.pursuit.known_steps(posteriors[0]),
        )

    def _spent(self) -> float | None:
        order = torch.tensor([[each.query for each in self._asked]], device=self.pursuit.device)
        spent = self.pursuit.spent(order.long())
        return None if spent is None else float(spent[0, -1])

    def _stopped(self, stop: StoppingRule) -> bool:
        return stop.now(self._posteriors()) > 0

    def _ended(self, stop: StoppingRule, posteriors: Float[Tensor, "t c"]) -> Ended:
        held, asked, k = stop.now(posteriors), len(self._asked), len(self.pursuit.queries)
        more = asked < stop.budget(k) and self.next_question() is not None
        return "unfinished" if more and not held else stop.ended(held, asked, k)

    def _ask(self, query: int, answer: float, chosen: bool, given: bool) -> None:
        best = tuple(self.candidates())
        self._asked.append(_Asked(query, answer, best, chosen, given))

    def _number(self, question: str | None) -> int:
        text = self.next_question() if question is None else question
        if text is None:
            raise InputError(f"all {len(self._asked)} questions have been asked")
        query = self.pursuit.number(text)
        if query in (each.query for each in self._asked):
            raise InputError(f"{text!r} has been asked already; expected another question")
        if query in self.known:
            raise InputError(f"{text!r} is known already; expected another question")
        return query

    def _histories(self) -> tuple[Float[Tensor, "t k"], Float[Tensor, "t k"]]:
        shape = len(self._asked) + 1, len(self.pursuit.queries)
        answers = torch.zeros(shape, device=self.pursuit.device)
        masks = torch.zeros_like(answers)
        for query, answer in self.known.items():
            answers[:, query], masks[:, query] = answer, 1
        for t, asked in enumerate(self._asked, start=1):
            answers[t:, asked.query], masks[t:, asked.query] = asked.answer, 1
        return answers, masks

    @torch.no_grad()
    def _posteriors(self) -> Float[Tensor, "t c"]:
        return self.pursuit.classifier(*self._histories()).softmax(dim=1)
