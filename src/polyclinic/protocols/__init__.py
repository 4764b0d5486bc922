"""The papers' protocols as data: who plays, how it is asked, limits, samples, judges and statistics, with the sections.

A paper is a YAML file and the type of its settings; `following.follow` says what holds for one run.
"""
