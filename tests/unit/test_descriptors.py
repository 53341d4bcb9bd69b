"""Which descriptors of plugins are taken, and what is said of the others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from wfbench.contract import (
    ClaimSpec,
    CollectorSpec,
    EnvSpec,
    Health,
    HealthCheckSpec,
    Published,
    Reference,
    ReporterSpec,
    Spec,
    TrainerSpec,
)
from wfbench.host.descriptors import DescriptorError, check_specs, valid_name


@dataclass(frozen=True)
class Options:
    """Options of an environment."""

    steps: int = 9


def described(kind: Callable[..., Spec], **changes: Any) -> Spec:
    return kind(**{"name": "it", "summary": "Is sound", **changes})


def built(kind: Callable[..., Spec], **changes: Any) -> Spec:
    return described(kind, **{"factory": "a.b:C", **changes})


def claim(**changes: Any) -> Spec:
    given = {"documented": "10x", "conditions": "here", "measure": "a:b", **changes}
    return described(ClaimSpec, **given)


def check() -> Health:
    return Health(ok=True, message="fine")


RETURNS = {("bline", 30): -3.0}
SOUND = (
    built(CollectorSpec, cannot={"promise": "why"}, capabilities=frozenset({"workers"})),
    built(CollectorSpec, name="a1-b2", factory="_a.b1:C_.d"),
    built(TrainerSpec),
    built(EnvSpec, options=Options, horizon="steps", positional="steps", batched="a:b"),
    built(
        EnvSpec,
        references=(Reference("r", "x", "a:b"),),
        published=(Published("p", RETURNS, "x"), Published("q", dict(RETURNS), "y")),
    ),
    built(ReporterSpec, suffix=".txt"),
    claim(number=3),
    described(HealthCheckSpec, check=check),
)
UNSOUND = (
    (built(TrainerSpec, api=0), "speaks API 0; this wfbench serves 1 to 1"),
    (built(TrainerSpec, api=2), "speaks API 2"),
    (built(TrainerSpec, api="1"), "speaks API 1"),
    (built(TrainerSpec, name="It"), "a name is lower-case letters"),
    (built(TrainerSpec, name="none"), "a name is lower-case letters"),
    (built(TrainerSpec, name=3), "a name is lower-case letters"),
    (built(TrainerSpec, summary=" "), "the summary must be one line"),
    (built(TrainerSpec, summary="a\nb"), "the summary must be one line"),
    (built(TrainerSpec, summary=None), "the summary must be one line"),
    (built(TrainerSpec, factory="a.b"), "factory 'a.b' is not 'package.module:name'"),
    (built(TrainerSpec, factory=None, cadence=3), "cadence 3 is not a Cadence"),
    (built(TrainerSpec, capabilities={"x"}), "capabilities must be a frozenset"),
    (built(TrainerSpec, positional="x"), "positional is 'x', but there are no options"),
    (built(TrainerSpec, options=3), "options must be a dataclass"),
    (built(TrainerSpec, options=int), "options must be a dataclass"),
    (built(TrainerSpec, options=Options()), "options must be a dataclass"),
    (built(EnvSpec, options=Options, positional="x"), "'x', which is not an option"),
    (built(EnvSpec, options=Options, horizon="x"), "horizon is 'x', which is not an option"),
    (built(EnvSpec, batched="a"), "batched 'a' is not 'package.module:name'"),
    (built(EnvSpec, references=("r",)), "reference 'r' is not a named Reference"),
    (built(EnvSpec, references=(Reference("R", "x", "a:b"),)), "is not a named Reference"),
    (built(EnvSpec, references=(Reference("r", "x", "a"),)), "policy 'a' is not 'package"),
    (built(EnvSpec, published=("p",)), "published results must be Published objects"),
    (
        built(EnvSpec, published=(Published("p", RETURNS, "x"), Published("q", {}, "y"))),
        "with the same red agents and numbers of steps",
    ),
    (built(CollectorSpec, cannot=3), "cannot is 3, not a mapping"),
    (built(CollectorSpec, cannot={"p": ""}), "why it cannot keep 'p' must be one line"),
    (built(ReporterSpec, suffix="txt"), "suffix 'txt' does not begin with a dot"),
    (claim(documented=""), "documented must be one line"),
    (claim(conditions="a\nb"), "conditions must be one line"),
    (claim(number="3"), "number '3' is not an int"),
    (described(HealthCheckSpec, check=3), "check 3 cannot be called"),
)


@pytest.mark.parametrize("spec", SOUND, ids=lambda spec: spec.kind)
def test_sound_descriptors_are_taken_as_they_are(spec: Spec) -> None:
    assert check_specs("hook", type(spec), [spec]) == [spec]
    assert check_specs("hook", type(spec), iter([spec, spec])) == [spec, spec]


@pytest.mark.parametrize(("spec", "problem"), UNSOUND)
def test_others_are_refused_with_what_is_wrong(spec: Spec, problem: str) -> None:
    with pytest.raises(DescriptorError) as refused:
        check_specs("hook", type(spec), [spec])
    assert problem in str(refused.value)
    assert str(refused.value).startswith(f"hook: {spec.kind} {spec.name!r}")


def test_only_lists_of_the_right_descriptors_are_taken() -> None:
    sound = built(TrainerSpec)
    for returned in ("text", sound, 3, None):
        with pytest.raises(DescriptorError, match="not a list of TrainerSpec"):
            check_specs("hook", TrainerSpec, returned)
    with pytest.raises(DescriptorError, match="hook returned a CollectorSpec, not a TrainerSpec"):
        check_specs("hook", TrainerSpec, [sound, built(CollectorSpec)])


def test_names() -> None:
    assert [valid_name(name) for name in ("a", "a-1", "1", "ab-cd-2")] == [True] * 4
    for name in ("", "-a", "a-", "a--b", "A", "a_b", "all", "none", 3, None):
        assert not valid_name(name)
