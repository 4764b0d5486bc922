"""How the rules judge is fitted to recorded letters, and how far it agrees with those that it was not fitted to."""

import asyncio
import os
from collections import Counter
from pathlib import Path

from bench.director_fitting import fitted, halves
from polyclinic.judging.director import case_and_report
from polyclinic.judging.director_by_rules import SCALES, RulesJudge
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.metrics.grades import ONE_STEP
from polyclinic.metrics.recorded_reports import compare_judges, read_recorded, recorded_judgements

RECORDED = Path("cases/ai_hospital/evaluation_iiyi_gpt4_onestep.jsonl")


def run() -> None:
    path = Path(os.environ.get("POLYCLINIC_DATA", Path(__file__).parents[2] / "shared" / "data")) / RECORDED
    if not path.is_file():
        print(f"no recorded letters at {path}; set POLYCLINIC_DATA to the folder of real data")
        return
    reports = read_recorded(path).reports
    even, odd = halves(reports)
    knowledge = read_knowledge()
    scales = fitted(RulesJudge(knowledge), even)
    print(f"fitted to the letters of {len(even)} reports, those with even ids:")
    for aspect, scale in scales.items():
        print(f"  {aspect}: {scale}{'' if scale == SCALES[aspect] else '  (SCALES has another)'}")
    judge = RulesJudge(knowledge, scales=scales)
    print(f"held against the letters of the other {len(odd)}:")
    agreed = compare_judges(recorded_judgements(odd), asyncio.run(grade_all(judge, odd)))
    for aspect in ONE_STEP:
        two = agreed[aspect]
        letters = Counter(report.letters[aspect] for report in odd if report.letters[aspect])
        (usual, most), *_ = letters.most_common()
        print(
            f"  {aspect}: alike {two.exact.percent:.1f} % (always {usual}: {100 * most / letters.total():.1f} %), "
            f"within one {two.within_one:.1f} %, kappa {two.exact.kappa:.3f}, weighted {two.weighted_kappa:.3f}, "
            f"Spearman {two.spearman:.3f}, means {two.means[0]:.3f} and {two.means[1]:.3f}, "
            f"n {two.exact.n}, ungraded {two.ungraded}"
        )
        print(f"    letters A to D by row, the rules' by column: {two.exact.confusion}")


async def grade_all(judge, reports):
    """Returns the judgements of recorded reports, with the doctors' names."""
    from msgspec.structs import replace

    judged = [await judge.grade(*case_and_report(report), one_step=True) for report in reports]
    return [replace(one, doctor=report.doctor) for one, report in zip(judged, reports, strict=True)]


if __name__ == "__main__":
    run()
