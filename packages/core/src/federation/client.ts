import type { AgentActor, BoardUserActor } from '@acp/contract';
import { forbidden } from '@acp/kernel';
import { assertCauseDepth } from '../activity/index.ts';

/**
 * The actor a client acts as: it uses a key of the agent but is someone else, who wakes the agent and answers its questions.
 * So it counts as a human with a member's role.
 * @param depth number of agent-made causes behind it, as stated by the client
 * @throws forbidden for a run's key, with which an agent would wake and answer itself
 */
export function clientActor({ key_id, company_id, run_id }: AgentActor, depth = 0): BoardUserActor {
  if (run_id !== null || key_id === null) throw forbidden('a run’s key cannot open a task');
  const client = { kind: 'board_user', key_id, company_id, role: 'member', name: 'A2A client' } as const;
  return depth === 0 ? client : { ...client, depth };
}

/** Metadata key for the depth of causes in a message between two instances. */
const DEPTH = 'causeDepth';

export const depthMetadata = (depth: number): object => (depth === 0 ? {} : { metadata: { [DEPTH]: depth } });

/**
 * Number of consecutive agents that led to a message. A client that does not state it starts a new chain; those that lie are
 * limited by their key, the rate limit and the budgets.
 * @throws conflict for a chain that is too long
 */
export function depthOfMessage(metadata: Readonly<Record<string, unknown>> | null | undefined): number {
  const depth = metadata?.[DEPTH];
  if (typeof depth !== 'number' || !Number.isInteger(depth) || depth < 0) return 0;
  assertCauseDepth(depth);
  return depth;
}
