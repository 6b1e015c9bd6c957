import type { Tx } from '@acp/db';
import { cutText, storableText } from '@acp/kernel';
import { sql } from 'drizzle-orm';
import { type Change, recordChanges } from '../activity/index.ts';
import { writeComment } from '../comments/index.ts';
import type { IssueRow } from '../issues/index.ts';
import { requestWakeups, returnWakeups } from '../wakeups/index.ts';
import { endedChange } from './changes.ts';
import { afterRun, endRow, type FinalState } from './end-run.ts';
import { storeLastEvents } from './transcript.ts';
import type { ClaimedRun, RunOutcome } from './types.ts';

/** The `error_category` of a run that a budget ended. */
export const BUDGET_CATEGORY = 'budget';

// In bytes.
const SUMMARY = 2000;
const ERROR = 4000;
// No more than the schema of a comment admits.
const COMMENT = 1_000_000;

/**
 * The whole end of a run, for one transaction of eight statements, nine with the last of its transcript: prose posted as
 * the agent's comment, checkout given back, cost recorded, agent idle, those woken that waited, final status last seen
 * by everyone at once.
 * @returns false when the run is no longer ours: the caller rolls back, nothing was written.
 */
export async function finishRun(tx: Tx, run: ClaimedRun, outcome: RunOutcome): Promise<boolean> {
  const ended = await endRow(
    tx,
    { id: run.run_id, agent_id: run.agent_id, issue_id: run.issue_id },
    finalState(outcome),
    sql`r.fence = ${run.fence} and r.status = 'running'`,
  );
  if (ended === undefined) return false;
  if (outcome.transcript) await storeLastEvents(tx, run, outcome.transcript);
  const said = await postProse(tx, run, ended.issue, outcome.comment);
  // A run that was called off says nothing about whether the issue gets on.
  // The same goes for one that found no money left: its wakeups wait until there is some again.
  const broke = outcome.error_category === BUDGET_CATEGORY && !outcome.changed;
  if (broke) await returnWakeups(tx, run.run_id);
  const counted = broke || (outcome.status === 'cancelled' && !outcome.changed) ? undefined : outcome;
  const changes = await afterRun(tx, ended, counted && { changed: counted.changed }, {
    dispatched: said.woken,
    session: outcome.session,
  });
  await recordChanges(tx, run.actor, [...said.changes, ...changes, endedChange(ended.run)]);
  return true;
}

function finalState(outcome: RunOutcome): FinalState {
  return {
    status: outcome.status,
    error: short(outcome.error, ERROR),
    error_category: outcome.error_category ?? null,
    summary: short(outcome.summary, SUMMARY),
    usage: outcome.usage,
  };
}

/** As the agent: it is never woken by it, whom it mentions is. */
async function postProse(
  tx: Tx,
  run: ClaimedRun,
  issue: IssueRow | null,
  prose: string | null | undefined,
): Promise<{ changes: Change[]; woken: string[] }> {
  const body_markdown = short(prose, COMMENT)?.trim() ?? '';
  if (issue === null || body_markdown === '') return { changes: [], woken: [] };
  const written = await writeComment(tx, run.actor, issue, { body_markdown });
  const wakeups = await requestWakeups(tx, run.actor, written.wakeups);
  const woken = wakeups.filter(({ run_id }) => run_id === null).map(({ agent_id }) => agent_id);
  return { changes: written.changes, woken };
}

function short(text: string | null | undefined, bytes: number): string | null {
  return text === null || text === undefined ? null : cutText(storableText(text), bytes);
}
