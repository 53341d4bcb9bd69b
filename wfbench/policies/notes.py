"""Keep blue's notes, from its observations and its own actions alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from wfbench.contract import NotesModel


class Notes:
    """The notes of one episode, and what its actions mean.

    Call `begin` with the first observation of an episode, then `act` and `observe` in turn. The
    environment's own implementation of this form, where it has one, shows the same bits.
    """

    def __init__(self, model: NotesModel) -> None:
        self._model = model
        self._decoys = {decoy.action: decoy for decoy in model.decoys}
        self._restores = {action: host for host, action in enumerate(model.restores)}

    def begin(self, obs: NDArray[Any]) -> NDArray[Any]:
        """Forget the last episode; return the first observation with the notes."""
        self._standing: set[int] = set()
        self._open: set[tuple[int, int]] = set()
        self._exploited: set[int] = set()
        self._alarmed: dict[int, set[int]] = {}
        self._again: set[int] = set()
        self._last = self._earlier = (-1, False)
        self._quiet = 0
        self._restored = False
        self._step = 0
        return self._noted(obs)

    def act(self, chosen: int) -> int:
        """Return the plain action that the chosen one means now, and note it as played."""
        action = self._plain(self._model.actions[chosen])
        self._step += 1
        decoy = self._decoys.get(action)
        if decoy is not None and (decoy.host, decoy.needs) not in self._open:
            self._standing.add(action)
            self._open.add((decoy.host, decoy.opens))
        host = self._restores.get(action)
        if host is not None:
            self._standing = {a for a in self._standing if self._decoys[a].host != host}
            self._open = {place for place in self._open if place[0] != host}
            self._again.discard(host)
            self._restored = self._restored or host == self._model.watched
        return action

    def observe(self, obs: NDArray[Any]) -> NDArray[Any]:
        """Note what a plain observation shows and return it with the notes."""
        self._quiet += 1
        for host, (active, exploit, *_) in enumerate(obs.reshape(-1, 4).tolist()):
            if active:
                self._earlier, self._last = self._last, (host, bool(exploit))
                self._quiet = 0
                if host not in self._alarmed:
                    self._alarmed[host] = set(self._standing)
                elif not exploit:
                    self._again.add(host)
            if exploit:
                self._exploited.add(host)
        return self._noted(obs)

    def _plain(self, meaning: int) -> int:
        if meaning >= 0:
            return meaning
        host = -1 - meaning
        for place in self._model.preferred:
            decoy = self._model.decoys[place]
            if decoy.host == host and (host, decoy.needs) not in self._open:
                return decoy.action
        return self._model.otherwise

    def _noted(self, obs: NDArray[Any]) -> NDArray[Any]:
        model = self._model
        if not model.memory:
            return obs
        hosts = range(len(model.restores))
        features = [decoy.action in self._standing for decoy in model.decoys]
        features += [host in self._exploited for host in hosts]
        features += [host == self._last[0] for host in hosts]
        features.append(self._restored)
        features += [min(self._step, model.steps - 1) == step for step in range(model.steps)]
        if model.history:
            features += self._past()
        return np.concatenate([obs, np.array(features, dtype=obs.dtype)])

    def _past(self) -> list[bool]:
        model = self._model
        hosts = range(len(model.restores))
        met = self._alarmed
        features = [decoy.action in met.get(decoy.host, ()) for decoy in model.decoys]
        features += [host in met for host in hosts]
        features += [host in self._again for host in hosts]
        features += [host == self._earlier[0] for host in hosts]
        features += [self._last[1], self._earlier[1]]
        features += [min(self._quiet, model.quiet - 1) == steps for steps in range(model.quiet)]
        period = min(self._step // model.period_steps, model.periods - 1)
        return features + [period == number for number in range(model.periods)]
