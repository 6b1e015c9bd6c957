import { countBy } from './check-runs.ts';
import type { Facts } from './facts.ts';

/** `mk-<call>-<place>`: occurs in one verb, or in the prose, of a single answer of a model or program. */
const MARKER = /\bmk-[a-z]?\d+-\d+\b/g;

/** Markers in the answers: those of verbs that write them, and those of prose, which becomes a comment. */
export interface Said {
  verbs: ReadonlySet<string>;
  prose: ReadonlySet<string>;
}

/**
 * 3. No verb was applied twice: each marker occurs in at most one issue, comment or note, was part of an answer, and occurs
 * there exactly if one row of `run_actions` records that the verb took effect. A lost run that had changed something is not
 * retried (decisions 8.3), since that would repeat the work in other words.
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
