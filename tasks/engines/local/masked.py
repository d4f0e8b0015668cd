"""Scores candidates with encoder-only models (BERT, XLM-R), with one mask per token of the candidate.

As in FmLAMA (Zhou et al. 2025, section 4.1), a candidate of d tokens c_1 … c_d is read from the query Q_d,
the sentence with d masks in its blank (equation 1). Its probability is the mean of p(mask_i = c_i | Q_d) over
i (equation 2), its log-probability the sum of their logs. All masks are read from one pass; candidates of
equal length share it. Tokens are those of ``blanks``; the model reads the text after the blank, which is not
scored.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import AutoModelForMaskedLM

from tasks.engines.local import blanks, context, devices, self_check
from tasks.engines.local.device_faults import guarded
from tasks.engines.local.proven import Proven
from tasks.engines.protocols import CandidateScores, Cloze, EngineError, Progress
from tasks.engines.specs import EngineSpec


class MaskedScorer(Proven):
    """An encoder-only transformers model behind the ``CandidateScorer`` protocol."""

    def __init__(self, spec: EngineSpec, folder: str, proven: tuple[int, int] = (0, 0)) -> None:
        """Load the model and check that its scores equal those of plain passes (``self_check``).

        Args:
            proven: tokens of a text and of a pass up to which this engine was checked before.

        Raises:
            EngineError: not loadable, not encoder-only, without a mask token or pretrained head, or its
                scores would differ from those of plain passes.
        """
        super().__init__(AutoModelForMaskedLM, spec, folder)
        if self.model.config.is_encoder_decoder:
            raise EngineError(
                f"model {spec.name!r} is an encoder-decoder, which does not fill a blank mask by mask; use "
                'kind "seq2seq" if it has sentinel tokens (T5, mT5); BART and its like are not supported'
            )
        if self.tokenizer.mask_token_id is None:
            raise EngineError(
                f"the tokenizer of {spec.name!r} has no mask token, so it is not a masked model"
            )
        self.limit = context.longest_sentence(self.model, self.tokenizer)
        self.prove(self.limit, proven)

    def _measure(self) -> None:
        self_check.measure_encoder(self)

    def _compare(self, reach: self_check.Reach, is_longer: bool) -> None:
        self_check.compare_encoder(self, reach)

    @guarded
    def score_candidates(
        self, cloze: Cloze, candidates: Sequence[str], progress: Progress | None = None
    ) -> CandidateScores:
        """Implement ``CandidateScorer.score_candidates``; NaN if the vocabulary cannot spell a candidate.

        Raises:
            EngineError: a candidate has no token, or a sentence is too long or contains the mask token.
        """
        tokens, spelled, scores = blanks.candidate_tokens(self.tokenizer, cloze, candidates)
        sentences = blanks.sentences(self.tokenizer, cloze)
        longest = int(scores.n_tokens[spelled].max(initial=0))
        self.check_tokens(sentences.right, *sentences.left, *itertools.compress(tokens, spelled))
        blanks.check_length(cloze, sentences, longest, self.limit)
        self._check_masks(cloze, sentences)
        if progress and not spelled.all():
            progress(len(cloze.before) * int((~spelled).sum()))
        for d in np.unique(scores.n_tokens[spelled]):
            columns = np.flatnonzero(spelled & (scores.n_tokens == d))
            table = np.array([tokens[i] for i in columns], dtype=np.int64)
            lengths = [len(left) + int(d) + len(sentences.right) for left in sentences.left]
            for subjects in devices.batches(lengths, self.spec.batch_tokens):
                steps = self.score_blanks(sentences, subjects, table)
                scores.logprob[np.ix_(subjects, columns)] = steps.sum(axis=1)
                scores.probability[np.ix_(subjects, columns)] = np.exp(steps).mean(axis=1)
                if progress:
                    progress(len(subjects) * len(columns))
        return scores

    @torch.inference_mode()
    def score_blanks(
        self, sentences: blanks.Sentences, subjects: NDArray[np.int64], table: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        """Return [b, d, k] log p(mask_i = c_i) for b subjects and the k candidates of ``table`` [k, d]."""
        b, (k, d) = len(subjects), table.shape
        mask = self.tokenizer.mask_token_id
        ids, attention_mask = blanks.padded(
            [sentences.filled(s, [mask] * d) for s in subjects], self.tokenizer.pad_token_id
        )
        assert ((ids == mask).sum(axis=1) == d).all()
        self.reach(ids.shape[1])
        inputs = {"input_ids": ids, "attention_mask": attention_mask}
        states, _ = self._head.run(**{k: torch.from_numpy(v).to(self.device) for k, v in inputs.items()})
        masks = states[torch.from_numpy(ids == mask).to(self.device)]  # [b * d, hidden], subject by subject
        steps = self._head.logprobs(masks, np.repeat(np.arange(b * d), k), np.tile(table.T.ravel(), b))
        return steps.reshape(b, d, k)

    def _check_masks(self, cloze: Cloze, sentences: blanks.Sentences) -> None:
        """Raise if a mask token is outside the blank, because it would be read as one inside."""
        for text, left in zip(cloze.before, sentences.left, strict=True):
            if self.tokenizer.mask_token_id in left + sentences.right:
                raise EngineError(
                    f"the sentence {text + cloze.lead!r} … {cloze.after!r} contains the model's mask token "
                    f"{self.tokenizer.mask_token!r} outside the blank; remove it"
                )
