"""How doctors work: one published method a file."""

# Not when they are asked for: a method's file has the name of its function, and whichever is imported last stands here.
from polyclinic.answering.outcome import Outcome, OutcomeEnd
from polyclinic.methods.chain_of_thought import chain_of_thought
from polyclinic.methods.few_shot import few_shot
from polyclinic.methods.mdagents import mdagents
from polyclinic.methods.medagent_zero import medagent_zero
from polyclinic.methods.medagents import medagents
from polyclinic.methods.medprompt import medprompt, prepare
from polyclinic.methods.mindmap import mindmap
from polyclinic.methods.mma import mma
from polyclinic.methods.self_consistency import self_consistency
from polyclinic.methods.table import choose
from polyclinic.methods.tree_of_reasoning import tree_of_reasoning
from polyclinic.methods.tree_of_thought import tree_of_thought
from polyclinic.methods.zero_shot import zero_shot

__all__ = [
    "Outcome",
    "OutcomeEnd",
    "chain_of_thought",
    "choose",
    "few_shot",
    "mdagents",
    "medagent_zero",
    "medagents",
    "medprompt",
    "mindmap",
    "mma",
    "prepare",
    "self_consistency",
    "tree_of_reasoning",
    "tree_of_thought",
    "zero_shot",
]
