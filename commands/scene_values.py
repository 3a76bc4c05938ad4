"""Values of `!verse` beside the turn it starts. Pure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ShowScene:
    """`!verse`."""


@dataclass(frozen=True, slots=True)
class BeginScene:
    """`!verse on`."""


@dataclass(frozen=True, slots=True)
class EndScene:
    """`!verse off`."""


SceneValue = ShowScene | BeginScene | EndScene
