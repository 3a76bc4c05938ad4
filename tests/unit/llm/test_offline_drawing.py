"""What the offline rules draw: well-formed SVG that refers to nothing, with a title, whatever is asked for."""

from __future__ import annotations

import re

import pytest
from defusedxml import ElementTree
from hypothesis import given
from hypothesis import strategies as st

from llm.offline.drawing import draw, known_thing
from llm.offline.tables import Tables
from media.jobs import MediaJobs
from memory.drawing import MAX_ALT, alt_text, find_svg

SVG = "{http://www.w3.org/2000/svg}"
ROWS = Tables("drawing").rows("thing")
COLOURS = Tables("drawing").rows("colour")
LONGEST = 12_000  # characters, as the model is told


def title(description: str, language: str = "en") -> str:
    return alt_text(draw(description, language), "")


def shapes(svg: str) -> int:
    return sum(len(list(root.iter())) for root in ElementTree.fromstring(svg).findall(f"{SVG}g"))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["en"])
def test_each_thing_is_drawn_and_named_in_both_languages(row: dict[str, str]) -> None:
    for word in (*row["words"].split(), *row["many"].split()):
        for language in ("en", "de"):
            one, several = row[language].split("|")
            assert known_thing(f"the {word}!", language) == one
            assert title(word, language).split(": ")[1].startswith((f"{one}.", f"3 × {several}."))
    svg = draw(row["words"].split()[0], "en")
    assert shapes(svg) >= 2
    assert "{" not in svg


def test_no_word_names_two_things() -> None:
    words = [word for row in ROWS for word in f"{row['words']} {row['many']}".split()]
    assert len(words) == len(set(words))


@pytest.mark.parametrize("row", COLOURS, ids=lambda row: row["en"])
def test_each_colour_is_used_in_any_form(row: dict[str, str]) -> None:
    for asked in (f"a {row['en']} circle", f"{row['de']} Kreis", f"einen {row['de']}en Kreis", f"{row['de']}er Kreis"):
        assert row["value"] in draw(asked, "en")


@pytest.mark.parametrize(
    ("asked", "seen"),
    [
        ("a red house and a tree", "house (red), tree"),
        ("a red, big house", "house (red)"),
        ("red and a house", "house"),
        ("zwei kleine Hunde", "2 × dogs"),
        ("Bäume", "3 × trees"),
        ("a tree and a tree and a green tree", "tree, tree (green)"),
        ("5 cats, 5 dogs, 5 birds", "5 × cats, 5 × dogs"),
        ("sun moon star cloud bird rainbow balloon", "sun, moon, star, cloud, bird, rainbow"),
    ],
)
def test_numbers_and_colours_belong_to_what_follows_them(asked: str, seen: str) -> None:
    assert title(asked) == f"To be seen: {seen}. Drawn by offline rules, not by a language model."


def test_by_night_and_at_sea_the_background_is_another() -> None:
    day, night, sea = draw("a tree", "en"), draw("a tree at night", "en"), draw("a tree at the sea", "en")
    backgrounds = [re.findall(r'stop-color="#\w+"|Z" fill="#\w+"', svg) for svg in (day, night, sea)]
    assert len({tuple(each) for each in backgrounds}) == 3


@given(st.text(max_size=400), st.sampled_from(["en", "de"]))
def test_whatever_is_asked_for_it_is_one_small_well_formed_svg(description: str, language: str) -> None:
    svg = draw(description, language)
    assert find_svg(svg) == svg
    assert len(svg) < LONGEST
    root = ElementTree.fromstring(svg)
    assert root.tag == f"{SVG}svg"
    assert root[0].tag == f"{SVG}title"
    assert "href" not in svg
    assert 0 < len(alt_text(svg, "")) <= MAX_ALT
    assert alt_text(svg, "").endswith(("not by a language model.", "nicht von einem Sprachmodell."))


def test_the_largest_drawing_is_small_enough() -> None:
    assert len(draw(" ".join(f"6 {row['many'].split()[0]}" for row in ROWS if row["many"]), "en")) < LONGEST


async def test_all_things_at_once_and_a_sign_pass_the_check_of_drawings() -> None:
    jobs = MediaJobs()
    for svg in (draw("six cats at sea with a sun, a red house, a rainbow and flowers", "en"), draw("<b> & all", "en")):
        picture = await jobs.rasterise(svg)
        assert (picture.media_type, picture.info.width, picture.info.height) == ("image/png", 1024, 1024)
