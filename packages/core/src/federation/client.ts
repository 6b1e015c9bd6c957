import type { AgentActor, BoardUserActor } from '@acp/contract';
import { forbidden } from '@acp/kernel';

/**
 * In whose name a client acts: it holds a key of the agent, yet it is somebody else, who wakes the agent and answers its
 * questions. So it counts as a human, with a member's role.
 * @throws forbidden for the key of a run, with which an agent would wake and answer itself
 */
export function clientActor({ key_id, company_id, run_id }: AgentActor): BoardUserActor {
  if (run_id !== null || key_id === null) throw forbidden('the key of a run opens no task');
  return { kind: 'board_user', key_id, company_id, role: 'member', name: 'A2A client' };
}
