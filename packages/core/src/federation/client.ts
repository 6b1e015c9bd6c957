import type { AgentActor, BoardUserActor } from '@acp/contract';
import { forbidden } from '@acp/kernel';
import { assertCauseDepth } from '../activity/index.ts';

/**
 * In whose name a client acts: it holds a key of the agent, yet it is somebody else, who wakes the agent and answers its
 * questions. So it counts as a human, with a member's role.
 * @param depth agent-made causes behind it, by its own word
 * @throws forbidden for the key of a run, with which an agent would wake and answer itself
 */
export function clientActor({ key_id, company_id, run_id }: AgentActor, depth = 0): BoardUserActor {
  if (run_id !== null || key_id === null) throw forbidden('the key of a run opens no task');
  const client = { kind: 'board_user', key_id, company_id, role: 'member', name: 'A2A client' } as const;
  return depth === 0 ? client : { ...client, depth };
}

/** Under which the depth of causes stands in the metadata of a message between two instances. */
const DEPTH = 'causeDepth';

export const depthMetadata = (depth: number): object => (depth === 0 ? {} : { metadata: { [DEPTH]: depth } });

/**
 * How many agents in a row made what a message asks for. A client that does not say begins a chain: what bounds those that
 * lie are their key, the rate limit and the budgets.
 * @throws conflict for a chain that has been going on for too long
 */
export function depthOfMessage(metadata: Readonly<Record<string, unknown>> | null | undefined): number {
  const depth = metadata?.[DEPTH];
  if (typeof depth !== 'number' || !Number.isInteger(depth) || depth < 0) return 0;
  assertCauseDepth(depth);
  return depth;
}
