import { type Actor, MAX_CAUSE_DEPTH } from '@acp/contract';
import { conflict } from '@acp/kernel';

/** The actor's kind in activity, whose values are part of the contract: what comes from outside stands under `system`. */
export const actorType = ({ kind }: Actor): string => (kind === 'outside' ? 'system' : kind);

/** The actor's id in activity; null for the system, what is outside of it, and anonymous callers. */
export function actorId(actor: Actor): string | null {
  switch (actor.kind) {
    case 'user':
      return actor.user_id;
    case 'agent':
      return actor.agent_id;
    case 'board_user':
      return actor.key_id;
    case 'worker':
      return actor.worker_id;
    case 'system':
    case 'outside':
    case 'anonymous':
      return null;
  }
}

/** Values for the columns `…_by_agent_id` and `…_by_user_id` of a row created by the actor; both null for keys and the system. */
export function actorColumns(actor: Actor): { agent_id: string | null; user_id: string | null } {
  return {
    agent_id: actor.kind === 'agent' ? actor.agent_id : null,
    user_id: actor.kind === 'user' ? actor.user_id : null,
  };
}

/**
 * Position in the chain of causes (an agent wakes an agent, …): one step beyond an agent, even one of another instance; anyone
 * else starts a new chain.
 */
export function causeDepth(actor: Actor): number {
  if (actor.kind === 'agent') return actor.depth + 1;
  return actor.kind === 'board_user' ? (actor.depth ?? 0) : 0;
}

/** @throws conflict for a chain that has become too long, for example agents that keep passing the same work on */
export function assertCauseDepth(depth: number): void {
  if (depth > MAX_CAUSE_DEPTH) throw conflict('too many agents have woken each other in a row');
}

/** A board-user key counts as a human (decisions 7.22). */
export function humanActor(actor: Actor): boolean {
  return actor.kind === 'user' || actor.kind === 'board_user';
}
