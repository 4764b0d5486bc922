"""What two texts share, without any splitter: pairs of Chinese characters, and words of everything else.

The words of `language.words` need the extra `evals`; a judge that works everywhere cannot.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from polyclinic.language.language import CHINESE, is_chinese
from polyclinic.language.word_lists import WORDS

_RUN = re.compile(rf"[{CHINESE}]+|\d+(?:\.\d+)?|[^\W\d_{CHINESE}]+")


_words = WORDS.section("overlap", dict[str, frozenset[str]])
_PLURAL = 4  # letters from which on a final s is taken for one


@lru_cache(maxsize=8192)
def pieces(text: str) -> frozenset[str]:
    """Returns the pairs of neighbouring Chinese characters, and the words and numbers, of a text; case aside."""
    found = set()
    fillers = _words("en")["fillers"]
    for run in _RUN.findall(unicodedata.normalize("NFKC", text).casefold()):
        if is_chinese(run):
            found |= {run[i : i + 2] for i in range(len(run) - 1)} or {run}
        elif run not in fillers:
            found.add(run.removesuffix("s") if len(run) >= _PLURAL and not run.endswith("ss") else run)
    return frozenset(found)


def coverage(reference: str, given: str) -> float:
    """Returns how much of a reference stands in what was given, 0 to 1; 0 where the reference says nothing."""
    wanted = pieces(reference)
    return len(wanted & pieces(given)) / len(wanted) if wanted else 0.0


def resemblance(first: str, second: str) -> float:
    """Returns Dice's coefficient of two texts, 0 to 1."""
    a, b = pieces(first), pieces(second)
    return 2 * len(a & b) / (len(a) + len(b)) if a or b else 0.0
