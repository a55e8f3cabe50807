"""Repeats are dropped, unless something would be lost by it; screenshots replace each other."""

from typing import Any

import pytest

from context.asking import compiled, image, outcomes, png, screenshot

KEPT = "preserve preserve.default low"
EXACT = "drop drop.duplicate low"
NEAR = "drop drop.near_duplicate low"


def test_the_first_of_equal_texts_survives() -> None:
    result = compiled("pump", "valve", "pump", "pump")
    assert outcomes(result) == [KEPT, KEPT, EXACT, EXACT]
    assert result.content == "pump\n\nvalve"
    assert "Fragment 0" in result.decisions[3].reason


def test_texts_are_near_in_lower_case_with_single_spaces() -> None:
    result = compiled("The pump runs", " the  PUMP\nruns ", "the pumpruns")
    assert outcomes(result) == [KEPT, NEAR, KEPT]


def test_near_duplicates_can_be_kept() -> None:
    result = compiled("pump", "Pump", "Pump", near_dup_dedup=False)
    assert outcomes(result) == [KEPT, KEPT, EXACT]


def test_near_duplicates_go_back_to_one_root() -> None:
    result = compiled("pump", "Pump", "PUMP", "pump ")
    assert outcomes(result) == [KEPT, NEAR, NEAR, NEAR]
    assert all("Fragment 0 " in one.reason for one in result.decisions[1:])


def test_a_repeat_of_a_near_duplicate_goes_with_it() -> None:
    result = compiled("pump", "Pump", "Pump")
    assert outcomes(result) == [KEPT, NEAR, NEAR]  # its text is nowhere in the result


def test_a_near_duplicate_of_something_critical_is_kept() -> None:
    result = compiled("never open", "Never open", "Never open")
    constraint = "preserve preserve.negative_constraint low"
    assert outcomes(result) == [constraint, constraint, EXACT]
    assert "Fragment 1" in result.decisions[2].reason


def test_a_critical_near_duplicate_is_kept_itself() -> None:
    verbatim = {"content": "Pump", "metadata": {"verbatim": True}}
    assert outcomes(compiled("pump", verbatim)) == [
        KEPT,
        "preserve preserve.marked_verbatim low",
    ]


def test_an_exact_repeat_of_something_critical_is_dropped() -> None:
    assert outcomes(compiled("never", "never"))[1] == EXACT


def test_repeats_of_an_abstracted_log_are_kept() -> None:
    log = {"content": "up\nup", "kind": "log"}
    result = compiled(log, log)
    assert outcomes(result) == ["abstract abstract.log_dedup medium"] * 2
    assert result.content == "up (x2)\n\nup (x2)"


def test_a_repeat_of_something_cached_is_dropped() -> None:
    cached = {"content": "be brief", "metadata": {"cache": True}}
    assert outcomes(compiled(cached, "be brief")) == ["cache cache.stable_prefix low", EXACT]


@pytest.mark.parametrize(
    ("text", "risk"), [("long words of a pump", "medium"), ("never ever", "high")]
)
def test_a_repeat_of_what_did_not_fit_is_no_low_risk(text: str, risk: str) -> None:
    result = compiled(text, text, budget=1)
    assert outcomes(result) == [
        f"retrieve budget.externalize {risk}",
        f"drop drop.duplicate {risk}",
    ]
    assert all(one.handle for one in result.decisions)
    assert result.risk == risk


def test_a_critical_repeat_of_what_did_not_fit_is_a_high_risk() -> None:
    verbatim = {"content": "long words of a pump", "metadata": {"verbatim": True}}
    assert outcomes(compiled("long words of a pump", verbatim, budget=1))[1] == (
        "drop drop.duplicate high"
    )


ATOMIC = "preserve media.atomic low"
OUTDATED = "retrieve retrieve.screenshot_superseded medium"


def test_images_are_equal_by_their_bytes_only() -> None:
    one, other = png(9, 9), png(9, 9, tail=b"more")
    second = image(one, "another caption")
    second["media"]["mime"] = "image/x-png"
    result = compiled(image(one, "caption"), second, image(other, "caption"))
    assert outcomes(result) == [ATOMIC, EXACT, ATOMIC]
    assert "caption" in result.decisions[1].reason
    assert "caption" not in compiled(image(one), image(one)).decisions[1].reason


def test_a_text_is_no_repeat_of_an_image_with_its_caption() -> None:
    result = compiled(image(png(9, 9), "pump"), "pump", "Pump")
    assert outcomes(result) == [ATOMIC, KEPT, NEAR]


def test_only_the_last_screenshot_of_a_target_is_emitted() -> None:
    result = compiled(
        screenshot(png(1, 1), "editor"),
        screenshot(png(2, 2), "editor"),
        screenshot(png(3, 3), "browser"),
        screenshot(png(4, 4), "editor"),
    )
    assert outcomes(result) == [OUTDATED, OUTDATED, ATOMIC, ATOMIC]
    assert [one.fragment_id for one in result.retrieval_handles] == [
        one.fragment_id for one in result.decisions[:2]
    ]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ({"a": 1, "b": [2]}, {"b": [2], "a": 1}, True),
        (1, 1, True),
        (1, True, False),
        (1, "1", False),
        ([1, 2], [2, 1], False),
    ],
)
def test_targets_are_equal_as_json(one: Any, other: Any, same: bool) -> None:
    result = compiled(screenshot(png(1, 1), one), screenshot(png(2, 2), other))
    assert outcomes(result)[0] == (OUTDATED if same else ATOMIC)


def test_images_without_a_target_and_texts_are_not_replaced() -> None:
    text = {"content": "x", "kind": "screenshot", "metadata": {"target": 1}}
    result = compiled(
        image(png(1, 1), kind="screenshot"),
        image(png(2, 2), kind="screenshot"),
        image(png(3, 3), metadata={"target": 1}),
        text,
        screenshot(png(4, 4), 1),
    )
    assert outcomes(result) == [ATOMIC, ATOMIC, ATOMIC, KEPT, ATOMIC]


def test_replacing_screenshots_can_be_disabled() -> None:
    result = compiled(
        screenshot(png(1, 1), 1),
        screenshot(png(2, 2), 1),
        disabled_rules=["retrieve.screenshot_superseded"],
    )
    assert outcomes(result) == [ATOMIC, ATOMIC]


def test_of_two_equal_screenshots_of_a_target_one_is_left() -> None:
    result = compiled(screenshot(png(1, 1), 1), screenshot(png(1, 1), 1))
    assert outcomes(result) == [EXACT, ATOMIC]


def test_a_later_copy_stands_for_an_outdated_screenshot_and_its_repeats() -> None:
    old = png(1, 1)
    result = compiled(
        screenshot(old, 1),
        screenshot(old, 1),
        screenshot(png(2, 2), 1),
        image(old),
    )
    assert outcomes(result) == [EXACT, EXACT, ATOMIC, ATOMIC]
    assert all("Fragment 3" in one.reason for one in result.decisions[:2])


def test_a_repeat_of_an_outdated_screenshot_is_outdated_too() -> None:
    old = png(1, 1)
    result = compiled(screenshot(old, 1), screenshot(old, 1), screenshot(png(2, 2), 1))
    assert outcomes(result) == [OUTDATED, OUTDATED, ATOMIC]
