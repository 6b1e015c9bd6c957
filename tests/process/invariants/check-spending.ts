import { attributeCalls } from './check-runs.ts';
import { isLive } from './facts.ts';
import type { Call, Facts, PolicyFact, RunFact } from './facts.ts';

/** One that a client has asked for: in force from some moment between the request and its answer. Infinity: waived. */
export interface LimitChange {
  policy_id: string;
  limit_usd: number;
  sent_at: number;
  answered_at: number;
}

/** Something that cost money: the beginning of a model call's first attempt, or of a program. */
interface Spending {
  what: string;
  at: number;
  most_usd: number;
  scopes: readonly (string | null)[];
}

/** Between a reservation and its call, and between an end and its record, on a busy machine. */
const SLACK_MS = 2000;
/** What an unmetered agent reserves for its first run (decisions 8.4). */
const UNMETERED_USD = 1;
/** Of sums of eight decimals in floats. */
const DUST_USD = 1e-6;

/**
 * 5. Spending stayed within the cap plus one reservation. Two sides of it, for each policy that pauses:
 * nothing began once what was recorded as spent had reached the limit of that moment; and all that is spent lies below the
 * highest limit under which something began, plus the reservation of that. Ended runs hold nothing.
 */
export function checkSpending(
  facts: Facts,
  calls: readonly Call[],
  changes: readonly LimitChange[],
): string[] {
  const spendings = [...modelSpendings(facts, calls), ...programSpendings(facts, calls)];
  const live = new Set(facts.runs.filter(isLive).map(({ id }) => id));
  const left = facts.reservations
    .filter(({ run_id }) => !live.has(run_id))
    .map(({ policy_id, run_id }) => `policy ${policy_id} holds money for run ${run_id}, which has ended`);
  return [...left, ...facts.policies.flatMap((policy) => checkPolicy(facts, policy, spendings, changes))];
}

function checkPolicy(
  facts: Facts,
  policy: PolicyFact,
  spendings: readonly Spending[],
  changes: readonly LimitChange[],
): string[] {
  const { id, scope_id, spent_usd, reserved_usd } = policy;
  const own = changes.filter(({ policy_id }) => policy_id === id);
  const costs = facts.costs.filter(({ scopes }) => scopes.includes(scope_id));
  const begun = spendings.filter(({ scopes }) => scopes.includes(scope_id));
  let bound = 0;
  const late = begun.flatMap(({ what, at, most_usd }) => {
    const limit = limitAt(own, at);
    bound = Math.max(bound, limit + most_usd);
    const spent = costs
      .filter((cost) => cost.at < at - SLACK_MS)
      .reduce((sum, cost) => sum + cost.cost_usd, 0);
    return spent < limit + DUST_USD
      ? []
      : [`${what} began with ${spent} of ${limit} USD of policy ${id} spent`];
  });
  const idle = !facts.runs.some(isLive);
  return [
    ...late,
    ...(spent_usd > bound + DUST_USD ? [`policy ${id} let ${spent_usd} USD be spent, ${bound} at most`] : []),
    ...(idle && reserved_usd > DUST_USD ? [`policy ${id} holds ${reserved_usd} USD, and nothing runs`] : []),
  ];
}

/** The highest limit that may have been in force around the moment. */
function limitAt(changes: readonly LimitChange[], at: number): number {
  const inForce = changes.filter(({ sent_at }, index) => {
    const next = changes[index + 1];
    return sent_at <= at && (next === undefined || next.answered_at >= at - SLACK_MS);
  });
  return Math.max(0, ...inForce.map(({ limit_usd }) => limit_usd));
}

function modelSpendings(facts: Facts, calls: readonly Call[]): Spending[] {
  const runOf = attributeCalls(facts, calls);
  const runs = new Map(facts.runs.map((run) => [run.id, run]));
  const first = new Map<string, Spending>();
  for (const call of calls) {
    const run = runs.get(runOf.get(call.n) ?? '');
    if (run === undefined) continue;
    const turn = `turn ${call.turn} of run ${run.id}`;
    // Its repetitions go on the same reservation.
    if (first.has(turn)) continue;
    first.set(turn, { what: turn, at: call.at, most_usd: call.most_usd, scopes: scopesOf(facts, run) });
  }
  return [...first.values()];
}

/** Runs without a call of the model are programs; they reserve what is usual, and may cost more. */
function programSpendings(facts: Facts, calls: readonly Call[]): Spending[] {
  const models = new Set(attributeCalls(facts, calls).values());
  return facts.runs.flatMap((run) => {
    if (run.started_at === null || run.cost_usd === 0 || models.has(run.id)) return [];
    const most_usd = Math.max(UNMETERED_USD, run.cost_usd);
    return [{ what: `run ${run.id}`, at: run.started_at, most_usd, scopes: scopesOf(facts, run) }];
  });
}

function scopesOf({ company_id, issues }: Facts, { agent_id, issue_id }: RunFact): (string | null)[] {
  return [company_id, agent_id, issues.find(({ id }) => id === issue_id)?.project_id ?? null];
}
