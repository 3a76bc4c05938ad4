"""What the offline extractor catches of sentences it was not made with, and how it takes pairs of facts.

    python bench/offline_extractor.py

A report, not a threshold: the extractor claims to be plain, not good. The sentences were written before its rules and
are no part of any script; the pairs are `../shared/data/restatement_dev.json`, left out where that file is absent.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # so that it runs from a checkout, installed or not

from llm.offline.facts import facts_of  # noqa: E402  # after the path is set
from llm.offline.sameness import same_fact  # noqa: E402

SENTENCES = ROOT / "tests/unit/llm/unseen_sentences.json"
PAIRS = ROOT.parent / "shared/data/restatement_dev.json"
WIDTH = 66


def main() -> None:
    groups = json.loads(SENTENCES.read_text(encoding="utf-8"))
    print(groups.pop("note"))
    for name, languages in groups.items():
        for language, group in languages.items():
            report_sentences(f"{name}, {language}", group)
    if PAIRS.exists():
        report_pairs(json.loads(PAIRS.read_text(encoding="utf-8")))
    else:
        print(f"{PAIRS} is not here; the pairs are left out")
    report_time()


def report_sentences(language: str, group: dict[str, list[str]]) -> None:
    for kind, wanted in (("facts", True), ("not_facts", False)):
        found = {sentence: facts_of(sentence) for sentence in group[kind]}
        right = sum(bool(facts) == wanted for facts in found.values())
        print(f"\n{language}, {kind}: {right} of {len(found)} as they should be")
        for sentence, facts in found.items():
            mark = " " if bool(facts) == wanted else "!"
            print(f" {mark} {sentence:{WIDTH}} {' | '.join(facts) or '-'}")


def report_pairs(pairs: dict[str, list[list[str]]]) -> None:
    same = sum(same_fact(one, other) for one, other in pairs["same"])
    wrong = [pair for pair in pairs["different"] if same_fact(*pair)]
    print(f"\npairs: {same} of {len(pairs['same'])} re-mentions known again, ", end="")
    print(f"{len(wrong)} of {len(pairs['different'])} different facts taken for one {wrong or ''}")


def report_time() -> None:
    text = "I have a cat, and my sister lives in Rome; he said so. " * 1_100
    start = time.perf_counter()
    facts_of(text)
    print(f"\na message of {len(text)} characters: {(time.perf_counter() - start) * 1000:.0f} ms")


if __name__ == "__main__":
    main()
