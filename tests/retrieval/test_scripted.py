"""A scripted retriever finds what it was told to find, and remembers what it was asked."""

from polyclinic.retrieval import Passage, Retriever, ScriptedRetriever

ASTHMA = Passage(id="1", score=2.0, text="Asthma wheezes.", corpus="book")


async def test_it_finds_by_phrase_and_remembers():
    retriever = ScriptedRetriever({"Wheeze": [ASTHMA, ASTHMA]})
    plain: Retriever = retriever
    assert await plain.search("a WHEEZE at night", 1) == (ASTHMA,)
    assert await plain.search("a rash", 1) == ()
    assert retriever.queries == ["a WHEEZE at night", "a rash"]


def test_a_passage_says_where_it_stands():
    assert ASTHMA.source == "book#1"
