"""Few-shot examples: where a task takes them from, and that none of them is the document itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

EVALUATED = "the evaluated documents, never the document itself"


def source(library: Any) -> str:
    """Return where a task's few-shot examples come from; "" if its prompts have none."""
    if not library.config.num_fewshot or not hasattr(library, "fewshot_cfg"):
        return ""  # a class of the task's own code may do as it likes
    place = library.fewshot_cfg.split
    if place is None and library.fewshot_cfg.samples is not None:
        return "examples written in the task"
    config = library.config
    # The library's own order for tasks that name no split.
    place = place or config.training_split or config.validation_split or config.test_split
    return EVALUATED if place == (config.test_split or config.validation_split) else f"the split {place!r}"


@dataclass
class Sampler:
    """Draws as the task's own sampler does, and replaces the document itself among its examples.

    The library leaves the document out only if its few-shot split is named and is the test split.
    """

    library: Any
    doc: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        self.own, self.context = self.library.sampler, self.library.fewshot_context

    def hold(self) -> None:
        """Draw the examples of the task's prompts from now on."""
        self.library.sampler, self.library.fewshot_context = self, self.of_document

    def of_document(self, doc: Mapping[str, Any], *arguments: Any, **named: Any) -> Any:
        """Return the library's prompt of a document."""
        self.doc = doc
        return self.context(doc, *arguments, **named)

    def set_rnd(self, seed: int | None) -> None:
        """Set the seed of the task's sampler."""
        self.own.set_rnd(seed)

    def sample(self, n: int, eval_doc: Any = None, **named: Any) -> Sequence[Any]:
        """Return n examples.

        Raises:
            ValueError: there are not n others.
        """
        drawn = list(self.own.sample(n, eval_doc, **named))
        kept = [example for example in drawn if not self._is_itself(example)]
        if len(kept) < n:
            pool = (
                each for each in self.own.fewshot_docs() if each not in kept and not self._is_itself(each)
            )
            kept += [each for each, _ in zip(pool, range(n - len(kept)), strict=False)]
        if len(kept) < n:
            raise ValueError(f"{n} examples beside the document are needed, and there are {len(kept)}")
        return kept

    def _is_itself(self, example: Any) -> bool:
        """Whether an example is the document, or asks the same and has the same answer, but for case and
        spaces."""
        if self.doc is None or example == self.doc:
            return self.doc is not None
        own, shots = self.library, self.library.fewshot_cfg
        return bool(
            _folded(own.doc_to_text(example, shots.doc_to_text)) == _folded(own.doc_to_text(self.doc))
            and _folded(own.doc_to_target(example, shots.doc_to_target))
            == _folded(own.doc_to_target(self.doc))
        )


def _folded(text: Any) -> Any:
    """Return a text without case and further spaces, in which copies of a document differ."""
    return " ".join(text.split()).casefold() if isinstance(text, str) else text
