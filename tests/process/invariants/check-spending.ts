import { attributeCalls } from './check-runs.ts';
import { isLive } from './facts.ts';
import type { Call, Facts, PolicyFact, RunFact } from './facts.ts';

/** A limit requested by a client: in force from some moment between the request and its response. Infinity: waived. */
export interface LimitChange {
  policy_id: string;
  limit_usd: number;
  sent_at: number;
  answered_at: number;
}

/** Something that cost money: a turn of a model, from its first attempt on, or a run of a program. */
interface Spending {
  what: string;
  /** Its money was reserved between these: it may take as long as the machine likes to begin afterwards. */
  from: number;
  at: number;
  most_usd: number;
  cost_usd: number;
  /** When it starts to count, as reserved or as spent. */
  counts_from: number;
  scopes: readonly (string | null)[];
}

/** Between the check of a program's budget and the start of its run. */
const SLACK_MS = 1000;
/** Reserved by an unmetered agent for its first run (decisions 8.4). */
const UNMETERED_USD = 1;
/** Rounding error of sums of eight decimals in floats. */
const DUST_USD = 1e-6;

/**
 * 5. Spending stayed within the cap plus one reservation. Checks two things for each policy that pauses: nothing started once
 * the cost of what had started before its reservation (by then spent or reserved) had reached the limit; and the total spend
 * is below the highest limit under which something started, plus that thing's reservation. Recorded costs are counted, and
 * finished runs hold no reservations.
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
  const bounded = facts.policies.flatMap((policy) => checkLimits(policy, spendings, changes));
  return [...left, ...bounded, ...facts.policies.flatMap((policy) => checkSums(facts, policy))];
}

function checkLimits(
  { id, scope_id, spent_usd }: PolicyFact,
  spendings: readonly Spending[],
  changes: readonly LimitChange[],
): string[] {
  const own = changes.filter(({ policy_id }) => policy_id === id);
  const begun = spendings.filter(({ scopes }) => scopes.includes(scope_id));
  let bound = 0;
  const late = begun.flatMap(({ what, from, at, most_usd }) => {
    const limit = limitAt(own, from, at);
    bound = Math.max(bound, limit + most_usd);
    const spent = begun
      .filter(({ counts_from }) => counts_from < from)
      .reduce((sum, { cost_usd }) => sum + cost_usd, 0);
    return spent < limit + DUST_USD
      ? []
      : [`${what} began with ${spent} of ${limit} USD of policy ${id} spent`];
  });
  const over = spent_usd > bound + DUST_USD;
  return [...late, ...(over ? [`policy ${id} let ${spent_usd} USD be spent, ${bound} at most`] : [])];
}

function checkSums({ runs, costs }: Facts, { id, scope_id, spent_usd, reserved_usd }: PolicyFact): string[] {
  const recorded = costs
    .filter(({ scopes }) => scopes.includes(scope_id))
    .reduce((sum, { cost_usd }) => sum + cost_usd, 0);
  const held = reserved_usd > DUST_USD && !runs.some(isLive);
  return [
    ...(recorded > spent_usd + DUST_USD ? [`policy ${id} counts ${spent_usd} of ${recorded} USD`] : []),
    ...(held ? [`policy ${id} holds ${reserved_usd} USD, and nothing runs`] : []),
  ];
}

/** The highest limit that may have been in force between those moments. */
function limitAt(changes: readonly LimitChange[], from: number, to: number): number {
  const inForce = changes.filter(({ sent_at }, index) => {
    const next = changes[index + 1];
    return sent_at <= to && (next === undefined || next.answered_at >= from);
  });
  return Math.max(0, ...inForce.map(({ limit_usd }) => limit_usd));
}

function modelSpendings(facts: Facts, calls: readonly Call[]): Spending[] {
  const runOf = attributeCalls(facts, calls);
  const runs = new Map(facts.runs.map((run) => [run.id, run]));
  const turns = new Map<string, Spending>();
  const previous = new Map<string, number>();
  for (const call of calls) {
    const run = runs.get(runOf.get(call.n) ?? '');
    if (run === undefined) continue;
    const { at, most_usd } = call;
    const what = `turn ${call.turn} of run ${run.id}`;
    // Retries use the same reservation.
    const turn = turns.get(what) ?? {
      what,
      from: previous.get(run.id) ?? run.started_at ?? at,
      at,
      most_usd,
      counts_from: at,
      cost_usd: 0,
      scopes: scopesOf(facts, run),
    };
    // The final cost of a lost or cancelled run differs from what its model reported.
    const known = call.answered && run.error_category !== 'lost' && /succeeded|failed/.test(run.status);
    turns.set(what, { ...turn, cost_usd: turn.cost_usd + (known ? call.cost_usd : 0) });
    previous.set(run.id, at);
  }
  return [...turns.values()];
}

/** Runs without a model call are programs: they reserve the usual amount, may cost more, and count when they finish. */
function programSpendings(facts: Facts, calls: readonly Call[]): Spending[] {
  const models = new Set(attributeCalls(facts, calls).values());
  return facts.runs.flatMap((run) => {
    const { id, started_at: at, cost_usd } = run;
    if (at === null || cost_usd === 0 || models.has(id)) return [];
    const most_usd = Math.max(UNMETERED_USD, cost_usd);
    const counts_from = run.finished_at ?? Infinity;
    const scopes = scopesOf(facts, run);
    return [{ what: `run ${id}`, from: at - SLACK_MS, at, most_usd, cost_usd, counts_from, scopes }];
  });
}

function scopesOf({ company_id, issues }: Facts, { agent_id, issue_id }: RunFact): (string | null)[] {
  return [company_id, agent_id, issues.find(({ id }) => id === issue_id)?.project_id ?? null];
}
