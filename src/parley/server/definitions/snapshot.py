"""The frozen definition that is kept with a run, and the conversation's spec made from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from parley.engine.spec import Hook, Spec, ToolMock, UserSampling
from parley.server.definitions.numbers import Price
from parley.server.definitions.revision import fingerprint_of, revision
from parley.server.definitions.start import message_of
from parley.server.definitions.words import words_of
from parley.server.gateways.target import GATEWAY_FACTS
from parley.server.llm.prices import Prices
from parley.server.llm.profiles import PricedLlm, Profile, ProfileName


class Fact(BaseModel):
    """A part of a snapshot: written once, read as it was."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class PriceFacts(Fact):
    """US dollars per million tokens at the run's start."""

    input: Price
    cached: Price
    output: Price

    @classmethod
    def of(cls, prices: Prices) -> PriceFacts:
        """The prices to keep."""
        return cls(input=prices.input, cached=prices.cached, output=prices.output)

    def prices(self) -> Prices:
        """The prices to charge by."""
        return Prices(input=self.input, cached=self.cached, output=self.output)


class SeatFacts(Fact):
    """One llm of the profile and its prices."""

    model: str
    prices: PriceFacts

    @classmethod
    def of(cls, llm: PricedLlm) -> SeatFacts:
        """The facts of an llm; its address and key stay with the operator."""
        return cls(model=llm.endpoint.model, prices=PriceFacts.of(llm.prices))


class ProfileFacts(Fact):
    """Which llms played user and judge."""

    name: ProfileName
    user: SeatFacts
    judge: SeatFacts

    @classmethod
    def of(cls, profile: Profile) -> ProfileFacts:
        """The facts of a profile."""
        return cls(name=profile.name, user=SeatFacts.of(profile.user), judge=SeatFacts.of(profile.judge))

    def llms(self) -> dict[str, str]:
        """What a revision takes of a profile."""
        return {"profile": self.name, "user": self.user.model, "judge": self.judge.model}


class Target(Fact):
    """The system under test, without secrets. An integrated llm has no id, no name and no facts."""

    kind: Literal["gateway", "integrated"]
    slug: str
    id: str | None = None
    name: str | None = None
    facts: dict[str, Any] = Field(default_factory=dict)
    prices: PriceFacts

    @classmethod
    def gateway(cls, *, id: str, slug: str, name: str, settings: Mapping[str, Any], prices: Prices) -> Target:
        """A gateway of the account. Of `settings` only `GATEWAY_FACTS` are taken."""
        facts = {fact: settings[fact] for fact in GATEWAY_FACTS if fact in settings}
        return cls(kind="gateway", slug=slug, id=id, name=name, facts=facts, prices=PriceFacts.of(prices))

    @classmethod
    def integrated(cls, slug: str, prices: Prices) -> Target:
        """An integrated llm; where it lives is the operator's affair."""
        return cls(kind="integrated", slug=slug, prices=PriceFacts.of(prices))

    @property
    def fingerprint(self) -> str:
        """Equal for targets that answer alike: names and prices do not count, settings do."""
        own = {"slug": self.slug} if self.kind == "integrated" else self.facts
        return fingerprint_of({"kind": self.kind, "facts": own})


class Snapshot(Fact):
    """Everything a run was started with. `resource_texts` is null until they are fetched."""

    version: Literal[1] = 1
    revision: str
    fields: dict[str, Any]
    gateway: Target
    profile: ProfileFacts
    prompt_versions: dict[str, str]
    resource_texts: list[str] | None = None

    def with_resource_texts(self, texts: Sequence[str]) -> Snapshot:
        """The snapshot with one text per resource, in their order. Raises ValueError for another count."""
        if len(texts) != len(self.fields["resources"]):
            raise ValueError("a snapshot wants one text for each resource")
        return self.model_copy(update={"resource_texts": list(texts)})


def snapshot(
    fields: Mapping[str, Any],
    *,
    target: Target,
    profile: ProfileFacts,
    prompt_versions: Mapping[str, str],
) -> Snapshot:
    """The stored fields as they stand now. Resources that are all plain text are taken in at once."""
    return Snapshot(
        revision=revision(
            fields,
            fingerprint=target.fingerprint,
            llms=profile.llms(),
            prompt_versions=prompt_versions,
        ),
        fields=dict(fields),
        gateway=target,
        profile=profile,
        prompt_versions=dict(prompt_versions),
        resource_texts=_given_texts(fields["resources"]),
    )


def spec_of(kept: Snapshot, seed: int) -> Spec:
    """The conversation to hold. Raises ValueError while resources are not fetched.

    The fields were checked when the test was defined; they are read here as they stand.
    """
    if kept.resource_texts is None:
        raise ValueError("the resources of this snapshot are not fetched yet")
    fields = kept.fields
    criteria = fields["validation_criteria"]
    sampling = fields["user_sampling"]
    return Spec(
        goal=words_of(fields["goal"]),
        seed=seed,
        validation_criteria=None if criteria is None else words_of(criteria),
        start=tuple(message_of(line) for line in fields["start"]),
        resources=tuple(kept.resource_texts),
        hooks=tuple(Hook(event=hook["event"], url=hook["url"]) for hook in fields.get("hooks", ())),
        tool_mocks=tuple(_mock(mock) for mock in fields["tool_mocks"]),
        max_turns=fields["max_turns"],
        minimum_turns=fields["minimum_turns"],
        allow_user_exit=fields["allow_user_exit"],
        judge_start_turn=fields["judge_start_turn"],
        loss_threshold=Decimal(str(fields["loss_threshold"])),
        base_threshold=Decimal(str(fields["base_threshold"])),
        user_sampling=UserSampling(top_k=float(sampling["top_k"]), max_decay=float(sampling["max_decay"])),
    )


def _given_texts(resources: Sequence[Mapping[str, Any]]) -> list[str] | None:
    if any(resource["type"] != "Text" for resource in resources):
        return None
    return [resource["data"] for resource in resources]


def _mock(mock: Mapping[str, Any]) -> ToolMock:
    return ToolMock(
        name=mock["name"], match=mock.get("match"), result=mock.get("result"), error=mock.get("error")
    )
