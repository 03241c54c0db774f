"""Find the schedule in which the mbarriers of a traced kernel end badly, and the count or parity that mends it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property

from lanescope.reader.code.findings import Pitfall
from lanescope.reader.threads.barriers.barrier_agents import WAITS, AgentStep, join_events, make_cluster_agents
from lanescope.reader.threads.barriers.barrier_simulation import (
    SCHEDULES,
    Outcome,
    Simulation,
    count_arrivals,
    find_phase,
)
from lanescope.reader.threads.barriers.barrier_trace import BarrierEvent
from lanescope.reader.threads.barriers.clusters import WINDOW, get_rank
from lanescope.workbench.barriers.barrier_initialization import find_unsynchronized_use
from lanescope.workbench.barriers.barrier_messages import (
    describe_count,
    describe_missing_flip,
    describe_parity,
    describe_stuck,
    find_missing_flip,
)
from lanescope.workbench.barriers.barrier_repairs import (
    ProtocolRepair,
    keep_first,
    list_alternations,
    list_joint_parities,
    list_other_mbarriers,
    list_repairs,
    list_turns,
)
from lanescope.workbench.barriers.cluster_mistakes import find_late_signal, find_refill, find_uneven_arrival
from lanescope.workbench.barriers.missing_arrivals import ArrivalSearch
from lanescope.workbench.results import Span
from lanescope.workbench.text.function_texts import blank_text
from lanescope.workbench.text.loop_texts import find_other_bound

STUCK, STALE, LAPPED, EARLY, SKIPPED, OVERRUN = "stuck", "stale", "lapped", "early", "skipped", "overrun"


class ProtocolJudge:
    """The mbarriers of one traced kernel: of all blocks of a cluster."""

    def __init__(self, of_blocks: Sequence[Sequence[BarrierEvent]], threads: int, kernel: str, text: str) -> None:
        self.of_blocks, self.kernel, self.text = of_blocks, kernel, text
        self.events = join_events(of_blocks)
        self.agents = make_cluster_agents(of_blocks, threads)

    def find_mistake(self) -> Pitfall | None:
        """Return the mistake of a kernel that copies or commits; others may only try what mbarriers do."""
        if not self.arriving or (not self.filled and not any(event.commits for event in self.events)):
            return None  # an excerpt without arrivals, or a trial of mbarriers
        if self.unawaited and not self._is_short:
            return self._describe_unawaited()
        if self.committed and not self.committed & self.awaited:
            return self._describe_uncollected()
        unsynchronized = (find_unsynchronized_use(one, self.kernel, self.text) for one in self.of_blocks)
        return next(filter(None, unsynchronized), None) or self._find_bad_schedule()

    def _find_bad_schedule(self) -> Pitfall | None:
        outcomes = self._simulate()
        blocked = [outcome for outcome in outcomes if outcome.blocked]
        always = len(blocked) == len(outcomes)
        troubles = {self._find_trouble(outcome) for outcome in outcomes if always or not self._is_idle(outcome)}
        if troubles <= {""}:
            return None if blocked else self._find_early_wait() or self._find_cluster_mistake()
        mended = self._list_mending_repairs()
        if len(mended) == 1:
            return self._describe(mended[0], STUCK in troubles)
        if mended or STUCK not in troubles:
            return None
        moved = self._find_other_arrival() if always else None
        if moved is None and always and len(self.of_blocks) > 1:
            moved = find_uneven_arrival(outcomes[0], self.agents, self.events, self.kernel)
        return moved or self._find_stuck_wait(outcomes, always)

    def find_blocked_wait(self) -> Span | None:
        """Return a wait that ends in no schedule; None if some schedule ends, or the kernel only tries mbarriers."""
        outcomes = self._simulate() if self.committed or self.filled else []
        waits = [self.events[step.event].call for one in outcomes for _, step in one.blocked if step.kind in WAITS]
        return waits[0] if waits and all(outcome.blocked for outcome in outcomes) else None

    def _list_mending_repairs(self) -> list[ProtocolRepair]:
        """List the repairs that mend every schedule, one for each place; of several those that complete every phase,
        and of these those that let work begin.
        """
        mended = [repair for repair in list_repairs(self.events, self.agents) if self._is_mended(repair)]
        mended = mended or list(filter(self._is_mended, list_joint_parities(self.events, self.agents)))
        if not mended and all(outcome.blocked for outcome in self._simulate()):
            mended = list(filter(self._is_mended, list_alternations(self.events, self.agents)))
        mended = mended or [one for one in list_repairs(self.events, self.agents) if self._is_mended(one, idle=True)]
        if len(mended) > 1:
            mended = list(filter(self._completes_every_phase, mended)) or mended
        if len(mended) > 1:
            mended = list(filter(self._awaits_results, mended)) or mended
        if len(keep_first(mended)) > 1:
            mended = list(filter(self._lets_work_begin, mended))
        return keep_first(mended)

    def _awaits_results(self, repair: ProtocolRepair) -> bool:
        """Return whether no thread passes its first wait for a copy or a product at once that does neither itself."""
        results = self.filled | self.committed
        others = ((n, agent) for n, agent in enumerate(self.agents) if n not in self.working)
        waits = ((n, *one) for n, agent in others for one in list_turns(agent))
        firsts = ((n, step) for n, step, turn in waits if not turn and step.place in results)
        return not any(repair.parities.get((n, step.event), step.value) for n, step in firsts)

    def _completes_every_phase(self, repair: ProtocolRepair) -> bool:
        """Return whether no schedule ends in the middle of a phase."""
        barriers = (barrier for outcome in self._simulate(repair) for barrier in outcome.barriers.values())
        return all(barrier.pending == barrier.count for barrier in barriers)

    def _describe(self, repair: ProtocolRepair, stuck: bool) -> Pitfall:
        if repair.code == "mbarrier_count":
            return describe_count(repair, self.events, self.kernel)
        return describe_parity(repair, self.events, self.agents, self.text, stuck)

    def _find_cluster_mistake(self) -> Pitfall | None:
        """Return what is wrong if one block of a cluster lags behind the others."""
        if len(self.of_blocks) == 1:
            return None
        outcomes = self._simulate(lags=True)
        refill = find_refill(outcomes, self.agents, self.events, self.kernel)
        if refill is None:
            return find_late_signal(outcomes, self.events, self.kernel)
        counts = [one for one in list_repairs(self.events, self.agents) if one.counts and self._is_mended(one)]
        counts = [one for one in counts if not any(outcome.refilled for outcome in self._simulate(one, lags=True))]
        return self._describe(counts[0], False) if len(counts) == 1 else refill

    def _simulate(self, repair: ProtocolRepair | None = None, lags: bool = False) -> list[Outcome]:
        counts, parities = ({}, {}) if repair is None else (repair.counts, repair.parities)
        agents = self.agents if repair is None or not repair.places else repair.redirect(self.agents)
        simulation = Simulation(agents, counts, parities)
        if lags:
            return [simulation.run(SCHEDULES[0], block) for block in range(len(self.of_blocks))]
        return [simulation.run(schedule) for schedule in SCHEDULES]

    def _is_mended(self, repair: ProtocolRepair, idle: bool = False) -> bool:
        """Return whether every schedule ends well, and every wait with another parity has a phase of its own. idle:
        whether threads that neither copy nor multiply may wait for ever.
        """
        outcomes = [one for one in self._simulate(repair) if not (idle and self._is_idle(one))]
        ends = bool(outcomes) and not any(map(self._find_trouble, outcomes))
        return ends and all(_has_phases(repair, one) for one in outcomes)

    def _lets_work_begin(self, repair: ProtocolRepair) -> bool:
        """Return whether waits pass at once that come before copies or products: for a stage that is still free."""
        ones = {n for (n, event), parity in repair.parities.items() if event == repair.event and parity}
        return bool(ones) and ones <= self.working

    def _is_idle(self, outcome: Outcome) -> bool:
        """Return whether only threads wait for ever that neither copy nor multiply: in practice the others do not
        overtake them by two phases.
        """
        return bool(outcome.blocked) and not any(n in self.working for n, step in outcome.blocked if step.kind in WAITS)

    # what a schedule shows --------------------------------------------------------------------------------------------

    def _find_trouble(self, outcome: Outcome) -> str:
        """Return what is wrong with the end of a schedule, "" if nothing is."""
        if outcome.blocked:
            return STUCK
        for (n, place), passed in outcome.passed.items():
            completed = outcome.barriers[place].completed
            if len(passed) == completed and (trouble := self._judge_waits(n, place, passed)):
                return trouble
        if any(_is_overrun(outcome, place) for place in outcome.barriers):
            return OVERRUN
        skipped = any(self._skips_phases(outcome, place, phases) for (_, place), phases in outcome.awaited.items())
        return SKIPPED if skipped else ""

    def _skips_phases(self, outcome: Outcome, place: int, phases: Sequence[int]) -> bool:
        """Return whether an agent that arrives in every phase of an mbarrier skips a phase, or waits in one in
        which no thread that copies has arrived.
        """
        copying = self.copying.get(place, set()) & self.arriving[place]
        events = {step.event for m in copying for step in self.agents[m].steps if step.place == place}
        fed = {phase for (m, event), phase in outcome.begun.items() if m in copying and event in events}
        return phases != list(range(len(phases))) or bool(fed and not fed.issuperset(phases))

    def _judge_waits(self, n: int, place: int, passed: Sequence[tuple[int, int, int]]) -> str:
        """Judge the waits of an agent that waits once for every phase of an mbarrier."""
        first = passed[0][1]
        for turn, (_, parity, completed) in enumerate(passed):
            if parity != (turn + first) % 2:
                return STALE
            if completed >= turn - first + 3 and n in self.working:
                return LAPPED
        return EARLY if first and place in self.filled and n not in self.arriving[place] else ""

    @cached_property
    def filled(self) -> frozenset[int]:
        """The mbarriers that bytes of copies arrive on."""
        return frozenset(step.place for step in self._list_steps() if step.kind == "copy")

    @cached_property
    def copying(self) -> Mapping[int, set[int]]:
        """The agents that copy bytes that arrive on each mbarrier."""
        return self._map_agents("copy")

    @cached_property
    def unawaited(self) -> frozenset[int]:
        """The mbarriers that bytes of copies arrive on and that no thread waits for."""
        return self.filled - self.awaited

    @property
    def _is_short(self) -> bool:
        """Return whether some mbarriers of copies are waited for, and each has one phase: copies of a ring may be
        issued for more stages than the loop has turns.
        """
        steps = ((n, step.place, step.kind) for n, agent in enumerate(self.agents) for step in agent.steps)
        turns = Counter(step for step in steps if step[1] in self.filled and step[2] != "copy")
        return bool(self.filled & self.awaited) and max(turns.values(), default=0) == 1

    @cached_property
    def awaited(self) -> frozenset[int]:
        """The mbarriers that a thread waits for."""
        return frozenset(step.place for step in self._list_steps() if step.kind in WAITS)

    @cached_property
    def committed(self) -> frozenset[int]:
        """The mbarriers on which the commits of products arrive."""
        return frozenset(step.place for step in self._list_steps() if self.events[step.event].commits)

    @cached_property
    def arriving(self) -> Mapping[int, set[int]]:
        """The agents that arrive on each mbarrier."""
        return self._map_agents("arrive")

    @cached_property
    def working(self) -> frozenset[int]:
        """The agents that copy or multiply."""
        kinds = ((n, step.kind) for n, agent in enumerate(self.agents) for step in agent.steps)
        return frozenset(n for n, kind in kinds if kind in ("copy", "product"))

    def _map_agents(self, kind: str) -> Mapping[int, set[int]]:
        """Return the agents with a step of a kind by its mbarrier."""
        found: dict[int, set[int]] = defaultdict(set)
        for n, agent in enumerate(self.agents):
            for step in agent.steps:
                if step.kind == kind:
                    found[step.place].add(n)
        return found

    def _list_steps(self) -> Iterator[AgentStep]:
        return (step for agent in self.agents for step in agent.steps)

    # findings without a trouble, or without a repair ------------------------------------------------------------------

    def _describe_unawaited(self) -> Pitfall | None:
        product = next((event for event in self.events if event.kind == "product"), None)
        if product is None:
            return None
        awaited = self.filled - self.unawaited
        if (other := self._find_own_signal(awaited)) is not None:
            return other
        where = f"{len(self.unawaited)} of the {len(self.filled)} mbarriers" if awaited else "the mbarriers"
        message = (
            f"No thread of {self.kernel} waits for {where} on which the bytes of copies arrive: this product may read a"
            " tile before it is there."
        )
        return Pitfall("mbarrier_unawaited", message, product.call)

    def _find_own_signal(self, awaited: Collection[int]) -> Pitfall | None:
        """Return the finding of copies that arrive on mbarriers of their own block, while the same ones of the first
        block of the cluster alone are waited for.
        """
        leaders = {place & WINDOW for place in awaited if not get_rank(place)}
        if not all(get_rank(place) and place & WINDOW in leaders for place in self.unawaited):
            return None
        steps = [step for step in self._list_steps() if step.kind == "copy" and step.place in self.unawaited]
        event = self.events[min(step.event for step in steps)]
        message = (
            f"The bytes of this copy arrive on the mbarrier of its own block, and in {self.kernel} only the first block"
            " of a cluster waits for it: clear bit 24 of the address (& 0xFEFFFFFF), or map it to rank 0."
        )
        return Pitfall("mbarrier_other", message, event.call)

    def _describe_uncollected(self) -> Pitfall:
        commit = next(event for event in self.events if event.commits)
        message = (
            f"No thread of {self.kernel} waits for the mbarriers on which its commits of products arrive: what follows"
            " may overwrite operands that are still read, or read a sum that is not there."
        )
        return Pitfall("mbarrier_unawaited", message, commit.call)

    def _find_early_wait(self) -> Pitfall | None:
        """Return a wait for products that passes before the first one has ended, though it could wait for it."""
        for repair in list_repairs(self.events, self.agents):
            ones = {n for n, event in repair.parities if event == repair.event}
            places = {step.place for n in ones for step in self.agents[n].steps if step.event == repair.event}
            begins = bool(ones) and not any(repair.parities[n, repair.event] for n in ones)
            if begins and places <= self.committed and not ones & self.working and self._is_mended(repair):
                return self._describe(repair, False)
        return None

    def _find_other_arrival(self) -> Pitfall | None:
        """Return the one arrival that lets every schedule end well if it is on another mbarrier."""
        repairs = [one for one in list_other_mbarriers(self.events, self.agents) if self._is_mended(one)]
        repairs = list(filter(self._completes_every_phase, repairs)) or repairs
        if len(repairs) != 1:
            return None
        message = (
            f"{self.kernel} never ends: this arrives on another mbarrier than the one that is waited for. Check its"
            " array and its stage."
        )
        return Pitfall("mbarrier_other", message, repairs[0].site)

    def _find_stuck_wait(self, outcomes: Sequence[Outcome], always: bool) -> Pitfall | None:
        """Return the wait of a schedule that cannot end: the code has too few arrivals for its phase, or a thread that
        nothing holds back arrives again before the wait has ended.
        """
        for outcome in outcomes:
            for n, step in outcome.blocked:
                if step.kind not in WAITS or (self._is_idle(outcome) and not always):
                    continue
                phase = find_phase(outcome, n, step)
                barrier = outcome.barriers[step.place]
                if (total := count_arrivals(self.agents, step.place)) < (phase + 1) * barrier.count:
                    bound = self._find_bound(step)
                    search = ArrivalSearch(self.text, blank_text(self.text), self.events, self.agents, self.filled)
                    missing = search.find_place(n, step) if bound is None else None
                    place = bound or missing
                    message = describe_stuck(phase, barrier.count, total, (bound is not None, missing is not None))
                    return Pitfall("mbarrier_stuck", message, place or self.events[step.event].call)
                alone = not any(m in self.arriving[step.place] for m, place in outcome.passed if place == step.place)
                if step.place in self.filled and barrier.completed >= phase + 2 and n in self.working and alone:
                    return self._describe_refill(step.place)
        return None

    def _find_bound(self, wait: AgentStep) -> Span | None:
        """Return the condition of a loop that ends too early or too late for a wait, compared with the loop of the
        arrivals that it waits for.
        """
        own = (s for agent in self.agents for s in agent.steps if s.place == wait.place and s.kind == "arrive")
        arrivals = dict.fromkeys(self.events[step.event].call[0] for step in own)
        return find_other_bound(blank_text(self.text), self.events[wait.event].call[0], arrivals)

    def _describe_refill(self, place: int) -> Pitfall:
        steps = (step for step in self._list_steps() if step.place == place and step.kind in ("arrive", "copy"))
        waits = dict.fromkeys(event.call for event in self.events if event.kind == "wait")
        flips = {find_missing_flip(self.text, call) for call in waits}
        if len(flips) == 1 and (flip := flips.pop()) is not None:
            return Pitfall("mbarrier_parity", describe_missing_flip(self.kernel), flip)
        message = (
            f"{self.kernel} may come here for the next tile of a stage while another thread still waits for the one"
            " before: nothing makes this thread wait until the stage has been read."
        )
        return Pitfall("mbarrier_refilled", message, self.events[min(step.event for step in steps)].call)


def _is_overrun(outcome: Outcome, place: int) -> bool:
    """Return whether an mbarrier completes more than two phases for each wait: a wait passes after the first of them,
    and before the threads have arrived that are one too many for it.
    """
    waits = sum(len(found[key]) for found in (outcome.passed, outcome.awaited) for key in found if key[1] == place)
    return 0 < 2 * waits < outcome.barriers[place].completed


def _has_phases(repair: ProtocolRepair, outcome: Outcome) -> bool:
    for (n, place), passed in outcome.passed.items():
        if any((n, event) in repair.parities for event, _, _ in passed):
            completed = outcome.barriers[place].completed
            if not completed or completed < len(passed) - passed[0][1]:
                return False
    return True
