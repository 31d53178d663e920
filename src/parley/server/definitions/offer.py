"""What every test finds here: the operator's profiles and integrated llms, and the prompts in use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from parley.server.definitions.prompts import PROMPT_VERSIONS
from parley.server.definitions.snapshot import ProfileFacts
from parley.server.errors import LlmsNotConfigured
from parley.server.llm.integrated import IntegratedLlms
from parley.server.llm.profiles import PROFILE_NAMES, Profile, ProfileName


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """Built once by the wiring."""

    profiles: Mapping[ProfileName, Profile]
    playable: frozenset[ProfileName] = frozenset(PROFILE_NAMES)
    """Profiles in which the operator has named who plays user and judge."""
    integrated: IntegratedLlms
    prompt_versions: Mapping[str, str] = field(default_factory=lambda: PROMPT_VERSIONS)

    def profile_facts(self, name: ProfileName) -> ProfileFacts:
        """The llms of a profile and their prices, as they stand now."""
        return ProfileFacts.of(self.profiles[name])

    def profile_to_play(self, name: ProfileName) -> ProfileFacts:
        """The same for what starts now. Raises `LlmsNotConfigured`."""
        if name not in self.playable:
            raise LlmsNotConfigured.of(name)
        return self.profile_facts(name)
