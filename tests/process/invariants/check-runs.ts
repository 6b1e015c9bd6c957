/** Checkouts, executions and ends of runs. Each check is pure: facts in, violations as text out. */
import { isLive } from './facts.ts';
import type { Call, Facts, ProgramCall, RunFact } from './facts.ts';

/** 1. No checkout refers to a finished run; a checkout without a run must have been taken by its agent itself. */
export function checkCheckouts({ issues, runs, actions }: Facts): string[] {
  const byId = new Map(runs.map((run) => [run.id, run]));
  const tookItself = new Set(
    actions
      .filter(({ verb, ok }) => verb === 'checkout' && ok)
      .map(({ run_id }) => byId.get(run_id)?.agent_id),
  );
  return issues.flatMap((issue) => {
    const { identifier, checkout_run_id: run_id, checked_out_by_agent_id: holder } = issue;
    if (run_id === null) {
      const stray = holder !== null && !tookItself.has(holder);
      return stray ? [`${identifier} is held by agent ${holder}, who never checked it out`] : [];
    }
    const run = byId.get(run_id);
    const is = `the checkout of ${identifier} points at run ${run_id}`;
    if (run?.status !== 'running') return [`${is}, which is ${run?.status ?? 'unknown'}`];
    const right = run.agent_id === holder && run.issue_id === issue.id;
    return right ? [] : [`${is}, which is another agent's or issue's`];
  });
}

/** The first call and two retries after transient failures (adapters: llm/retry.ts). */
const MOST_ATTEMPTS = 3;
/** One claim, and one end. */
const FENCE_OF_ONE_EXECUTION = 2;
/** A call may be in flight while its scheduler hands the run back. */
const SLACK_MS = 1000;

/**
 * 2. No run was executed twice: claimed once, announced once, each turn prompted once, and answered once by the outside.
 * Exceptions admitted by the run's own record are not second executions: a call that failed transiently is retried, and a
 * program that no longer knows its session is restarted.
 */
export function checkExecutions(
  facts: Facts,
  calls: readonly Call[],
  programs: readonly ProgramCall[],
): string[] {
  const { runs, started, prompts } = facts;
  const startsOf = countBy(started, (id) => id);
  const programsOf = countBy(programs, ({ run_id }) => run_id);
  // A CLI is started again for each turn.
  const turnsOf = countBy(prompts, ({ run_id }) => run_id);
  const freshOf = countBy(
    programs.filter(({ forgotten }) => forgotten),
    ({ run_id }) => run_id,
  );
  const fences = runs.flatMap(({ id, fence }) => {
    const told = startsOf.get(id) ?? 0;
    const begun = programsOf.get(id) ?? 0;
    return [
      ...(fence > FENCE_OF_ONE_EXECUTION
        ? [`run ${id} was claimed more than once: its fence is ${fence}`]
        : []),
      ...(told > 1 ? [`run ${id} was told to have started ${told} times`] : []),
      ...(begun > Math.max(1, turnsOf.get(id) ?? 0) + (freshOf.get(id) ?? 0)
        ? [`the program of run ${id} was started ${begun} times`]
        : []),
    ];
  });
  const twice = [...countBy(prompts, ({ run_id, turn }) => `turn ${turn} of run ${run_id}`)]
    .filter(([, count]) => count > 1)
    .map(([turn, count]) => `${turn} was prompted ${count} times`);
  return [...fences, ...twice, ...checkCalls(facts, calls)];
}

function checkCalls(facts: Facts, calls: readonly Call[]): string[] {
  const runOf = attributeCalls(facts, calls);
  const orphans = calls
    .filter(({ n }) => !runOf.has(n))
    .map(
      ({ n, agent, issue }) => `call ${n} (${agent}, ${issue ?? 'no issue'}) belongs to no run of its time`,
    );
  const turns = new Map<string, Call[]>();
  for (const call of calls) {
    const run_id = runOf.get(call.n);
    if (run_id === undefined) continue;
    const turn = `turn ${call.turn} of run ${run_id}`;
    turns.set(turn, [...(turns.get(turn) ?? []), call]);
  }
  const repeated = [...turns].flatMap(([turn, tried]) => {
    const again = tried.slice(0, -1).filter(({ answered }) => answered);
    if (again.length > 0) return [`${turn} was computed again after call ${again[0]!.n} had been answered`];
    return tried.length > MOST_ATTEMPTS ? [`${turn} was tried ${tried.length} times`] : [];
  });
  return [...orphans, ...repeated];
}

/**
 * Maps calls to runs. A prompt names its agent and issue, which have one live run at a time, and a later turn continues
 * from the previous turn's answer. Calls without a run at that time are missing.
 */
export function attributeCalls(facts: Facts, calls: readonly Call[]): Map<number, string> {
  const agents = new Map(facts.agents.map(({ id, name }) => [id, name]));
  const issues = new Map(facts.issues.map(({ id, identifier }) => [id, identifier]));
  const runOf = new Map<number, string>();
  const answered = new Set<string>();
  for (const call of calls) {
    const run_id = call.parent === null ? choose(candidates(call), answered) : runOf.get(call.parent);
    if (run_id === undefined) continue;
    runOf.set(call.n, run_id);
    if (call.parent === null && call.answered) answered.add(run_id);
  }
  return runOf;

  function candidates({ agent, issue, at }: Call): RunFact[] {
    const own = facts.runs.filter(
      (run) =>
        agents.get(run.agent_id) === agent &&
        (run.issue_id === null ? null : issues.get(run.issue_id)) === issue,
    );
    const within = (slack: number) =>
      own.filter(
        ({ started_at: from, finished_at: to }) =>
          from !== null && from - slack <= at && at <= (to ?? Infinity) + slack,
      );
    const exactly = within(0);
    return exactly.length > 0 ? exactly : within(SLACK_MS);
  }
}

/** Prefers a run whose first turn is not answered yet; otherwise the call is one too many for any of them. */
function choose(among: readonly RunFact[], answered: ReadonlySet<string>): string | undefined {
  return (among.find(({ id }) => !answered.has(id)) ?? among[0])?.id;
}

/** 7. Every finished run has exactly one terminal event, and no other run has any; no transcript ends twice. */
export function checkEnds({ runs, ended, final_entries: entries }: Facts): string[] {
  const eventsOf = countBy(ended, (id) => id);
  const entriesOf = countBy(entries, (id) => id);
  return runs.flatMap((run) => {
    const { id, status } = run;
    const told = eventsOf.get(id) ?? 0;
    const written = entriesOf.get(id) ?? 0;
    return [
      ...(told === (isLive(run) ? 0 : 1) ? [] : [`run ${id} is ${status} and has ${told} terminal events`]),
      ...(written > 1 ? [`the transcript of run ${id} ends ${written} times`] : []),
    ];
  });
}

/** In addition to the seven: nothing in a mix is misconfigured, so no run may fail for that, nor with an internal error. */
export function checkFaults({ runs }: Facts): string[] {
  return runs
    .filter(({ error_category: category }) => category === 'internal' || category === 'config')
    .map(({ id, error, error_category: category }) => `run ${id} failed (${category}): ${error}`);
}

/** 6. No child process survives. */
export function checkProcesses(left: readonly { pid: number; command: string }[]): string[] {
  return left.map(({ pid, command }) => `process ${pid} survived: ${command}`);
}

export function countBy<T>(items: Iterable<T>, key: (item: T) => string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const item of items) counts.set(key(item), (counts.get(key(item)) ?? 0) + 1);
  return counts;
}
