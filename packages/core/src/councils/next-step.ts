/** Decides a council's next step from its rows. Pure. */
import { stated } from '@acp/kernel';
import type { CouncilTurnKind } from '@acp/contract';

export interface PlannedTurn {
  agent_id: string;
  kind: CouncilTurnKind;
  round: number;
  run_id: string;
  status: string;
  body_markdown: string | null;
  is_revised: boolean;
}

interface CouncilState {
  rounds: number;
  phase: CouncilTurnKind;
  round: number;
  /** Highest in the reporting tree first. */
  participants: { agent_id: string; left_out_reason: string | null }[];
  turns: PlannedTurn[];
}

export type Step =
  | { what: 'wait' }
  | { what: 'ask'; turns: PlannedTurn[] }
  | { what: 'go on'; phase: CouncilTurnKind; round: number }
  /** The previous chair is gone. */
  | { what: 'appoint'; agent_id: string }
  | { what: 'conclude'; turn: PlannedTurn }
  | { what: 'fail'; error: string };

/** With fewer answers there is nothing to rank, as an agent's vote for itself does not count. */
export const LEAST_RANKED = 3;

export function nextStep(council: CouncilState): Step {
  const { phase, round, turns } = council;
  const here = turns.filter((turn) => turn.kind === phase && turn.round === round);
  if (here.some(({ status }) => status === 'asked')) return { what: 'wait' };
  const present = council.participants.flatMap(({ agent_id, left_out_reason: reason }) =>
    reason === null ? [agent_id] : [],
  );
  const open = here.filter(({ agent_id, status }) => status === 'planned' && present.includes(agent_id));
  if (open.length > 0) return { what: 'ask', turns: open };
  if (phase === 'conclusion') return conclude(here, present);
  if (present.length === 0) return { what: 'fail', error: stated('no participant is left') };
  return afterRound(council, here, present.length);
}

function afterRound(
  { rounds, phase, round }: CouncilState,
  here: readonly PlannedTurn[],
  present: number,
): Step {
  const conclusion: Step = { what: 'go on', phase: 'conclusion', round: rounds + 2 };
  if (phase === 'ranking') return conclusion;
  const revised = round === 1 || here.some((turn) => turn.status === 'done' && turn.is_revised);
  if (round < rounds && revised && present > 1) return { what: 'go on', phase: 'answer', round: round + 1 };
  return present < LEAST_RANKED ? conclusion : { what: 'go on', phase: 'ranking', round: rounds + 1 };
}

function conclude(here: readonly PlannedTurn[], present: readonly string[]): Step {
  const written = here.find(({ status }) => status === 'done');
  if (written !== undefined) return { what: 'conclude', turn: written };
  const next = present.find((id) => !here.some(({ agent_id }) => agent_id === id));
  return next === undefined
    ? { what: 'fail', error: stated('nobody could write the conclusion') }
    : { what: 'appoint', agent_id: next };
}
