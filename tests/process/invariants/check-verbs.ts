import { countBy } from './check-runs.ts';
import type { Facts } from './facts.ts';

/** `mk-<call>-<place>`: stands in one verb, or in the prose, of one answer of a model or program. */
const MARKER = /\bmk-[a-z]?\d+-\d+\b/g;

/** What answers have said: markers of verbs that write them down, and of prose, which becomes a comment. */
export interface Said {
  verbs: ReadonlySet<string>;
  prose: ReadonlySet<string>;
}

/**
 * 3. No verb was applied twice: each marker stands in one issue, comment or note at most, was said before, and stands
 * there exactly when one row of `run_actions` says that the verb took effect. And a lost run that had changed something is
 * not begun again (decisions 8.3), which would have it done twice in other words.
 */
export function checkVerbs(facts: Facts, said: Said): string[] {
  return [...checkMarkers(facts, said), ...checkRetries(facts)];
}

function checkRetries({ runs, actions }: Facts): string[] {
  const changed = new Set(actions.filter(({ ok, mutating }) => ok && mutating).map(({ run_id }) => run_id));
  return runs
    .filter(({ retry_of_run_id: first }) => first !== null && changed.has(first))
    .map(({ id, retry_of_run_id: first }) => `run ${id} repeats run ${first}, whose verbs had been applied`);
}

function checkMarkers({ written, actions }: Facts, said: Said): string[] {
  const counts = countBy(written.flatMap(markersIn), (marker) => marker);
  const applied = countBy(
    actions.filter(({ ok }) => ok).flatMap(({ args }) => [...new Set(markersIn(args))]),
    (marker) => marker,
  );
  const unheard = [...counts.keys()].filter((marker) => !said.verbs.has(marker) && !said.prose.has(marker));
  const verbs = [...said.verbs].flatMap((marker) => {
    const [there, recorded] = [counts.get(marker) ?? 0, applied.get(marker) ?? 0];
    if (there > 1) return [`${marker} was written down ${there} times`];
    return there === recorded
      ? []
      : [`${marker} was written down ${there} times, and recorded ${recorded} times`];
  });
  const prose = [...said.prose].flatMap((marker) => {
    const there = counts.get(marker) ?? 0;
    return there > 1 ? [`the prose ${marker} was posted ${there} times`] : [];
  });
  return [...unheard.map((marker) => `${marker} was written down, and nobody said it`), ...verbs, ...prose];
}

function markersIn(text: string): string[] {
  return text.match(MARKER) ?? [];
}
