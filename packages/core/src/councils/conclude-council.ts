import type { AgentActor } from '@acp/contract';
import type { Tx } from '@acp/db';
import { cutText } from '@acp/kernel';
import { recordChanges } from '../activity/index.ts';
import { writeComment } from '../comments/index.ts';
import type { IssueRow } from '../issues/index.ts';
import { requestWakeups } from '../wakeups/index.ts';
import { createExecutionDecision } from '../work-products/index.ts';
import { endCouncil } from './end-council.ts';
import type { PlannedTurn } from './next-step.ts';
import { type CouncilRow, type ParticipantRow, rankingOf, readParts } from './read-councils.ts';

// Limit in bytes.
const REASON = 2000;

/**
 * Records the chair's text as the council's conclusion: a comment and an execution decision in the chair's name. Wakes the
 * assignee, even if it is the chair, and no one else: names in the text attribute opinions and are no mentions.
 */
export async function concludeCouncil(
  tx: Tx,
  session: CouncilRow,
  issue: IssueRow,
  { agent_id, run_id, body_markdown }: PlannedTurn,
): Promise<void> {
  const { participants, turns } = await readParts(tx, [session]);
  const chair: AgentActor = {
    kind: 'agent',
    agent_id,
    company_id: session.company_id,
    name: participants.find((each) => each.agent_id === agent_id)?.name ?? 'the chair',
    key_id: null,
    permissions: {},
    run_id,
    depth: session.depth,
  };
  const conclusion = body_markdown ?? '';
  const left_out = participants.filter(({ left_out_reason: reason }) => reason !== null);
  await createExecutionDecision(tx, chair, issue, {
    decision_type: 'auto_approve',
    reason: cutText(conclusion, REASON),
    metadata: {
      council_session_id: session.id,
      question: cutText(session.question, REASON),
      ranking: rankingOf(turns),
      left_out: left_out.map(({ agent_id: id }) => id),
    },
  });
  // The council wakes, not the chair: an agent does not wake itself. Its mentions wake no one else.
  const council = { ...chair, agent_id: session.id, run_id: null };
  const written = await writeComment(
    tx,
    chair,
    issue,
    { body_markdown: `${conclusion}\n\n${signature(participants, left_out)}` },
    async (wakeups) =>
      requestWakeups(
        tx,
        council,
        wakeups.filter(({ agent_id: woken }) => woken === issue.assignee_agent_id),
      ),
  );
  await recordChanges(tx, chair, written.changes);
  // Last, because of the lock order: the issue before budget windows.
  await endCouncil(tx, chair, session, { status: 'completed', conclusion });
}

/** Names those who deliberated, and who was left out and why. */
function signature(participants: readonly ParticipantRow[], left_out: readonly ParticipantRow[]): string {
  const names = participants.filter((each) => !left_out.includes(each)).map(({ name }) => plain(name));
  const without = left_out.map(({ name, left_out_reason: why }) => `${plain(name)} (${plain(why ?? '')})`);
  const line = `Council of ${names.join(', ')}.`;
  return without.length === 0 ? `_${line}_` : `_${line} Left out: ${without.join('; ')}._`;
}

/** Removes mentions and markup. */
const plain = (text: string): string => text.replaceAll(/[@_*`[\]<>\n\r]+/g, ' ').trim();
