/** Each check accepts a good state and reports a doctored one: a check that can't fail proves nothing. */
import { describe, expect, it } from '@jest/globals';
import { checkCheckouts, checkEnds, checkExecutions, checkFaults, checkProcesses } from './check-runs.ts';
import { checkSpending } from './check-spending.ts';
import type { LimitChange } from './check-spending.ts';
import { checkVerbs } from './check-verbs.ts';
import { checkLetGo, checkWaiting, whyWakeupWaits } from './check-waiting.ts';
import type { Call, Facts, RunFact, WakeupFact } from './facts.ts';

const run = (id: string, values: Partial<RunFact> = {}): RunFact => ({
  id,
  agent_id: 'ada',
  issue_id: 'one',
  status: 'succeeded',
  error: null,
  error_category: null,
  retry_of_run_id: null,
  fence: 2,
  cost_usd: 0.1,
  started_at: 10_000,
  finished_at: 20_000,
  ...values,
});

const call = (n: number, values: Partial<Call> = {}): Call => ({
  n,
  agent: 'Ada',
  issue: 'ACM-1',
  turn: 1,
  parent: null,
  at: 11_000,
  answered: true,
  most_usd: 0.2,
  cost_usd: 0.1,
  ...values,
});

const wakeup = (values: Partial<WakeupFact> = {}): WakeupFact => ({
  id: 'w',
  agent_id: 'ada',
  issue_id: 'one',
  run_id: null,
  depth: 0,
  ...values,
});

const issue = (id: string, identifier: string) => ({
  id,
  identifier,
  project_id: null,
  stalled_runs: 0,
  checked_out_by_agent_id: null,
  checkout_run_id: null,
});
const agent = (id: string, name: string) => ({ id, name, status: 'idle', max_concurrent_runs: 1 });

/** Two runs have finished, one of them with two turns; nothing is left to do. */
const good = (values: Partial<Facts> = {}): Facts => ({
  company_id: 'company',
  runs_paused: false,
  held_scopes: [],
  agents: [agent('ada', 'Ada'), agent('bob', 'Bob')],
  issues: [issue('one', 'ACM-1'), issue('two', 'ACM-2')],
  runs: [run('r1'), run('r2', { agent_id: 'bob', issue_id: 'two', started_at: 30_000, finished_at: 40_000 })],
  wakeups: [],
  jobs: [],
  actions: [
    {
      run_id: 'r1',
      ordinal: 1,
      verb: 'create-issue',
      ok: true,
      mutating: true,
      args: '{"line":"Look at mk-1-1"}',
    },
  ],
  written: ['Look at mk-1-1', 'I did mk-1-2'],
  started: ['r1', 'r2'],
  ended: ['r1', 'r2'],
  prompts: [
    { run_id: 'r1', turn: 1 },
    { run_id: 'r1', turn: 2 },
  ],
  final_entries: ['r1', 'r2'],
  policies: [{ id: 'p', scope_id: 'company', spent_usd: 0.2, reserved_usd: 0 }],
  reservations: [],
  costs: [
    { at: 20_000, cost_usd: 0.1, scopes: ['company', 'ada'] },
    { at: 40_000, cost_usd: 0.1, scopes: ['company', 'bob'] },
  ],
  ...values,
});

describe('the check of checkouts', () => {
  const heldBy = (run_id: string | null) => [
    { ...issue('one', 'ACM-1'), checked_out_by_agent_id: 'ada', checkout_run_id: run_id },
  ];
  const running = [run('r1', { status: 'running', finished_at: null })];

  it('lets free issues pass, one that is being worked on, and one that an agent took itself', () => {
    expect(checkCheckouts(good())).toEqual([]);
    expect(checkCheckouts(good({ issues: heldBy('r1'), runs: running }))).toEqual([]);
    const actions = [{ run_id: 'r1', ordinal: 1, verb: 'checkout', ok: true, mutating: true, args: '{}' }];
    expect(checkCheckouts(good({ issues: heldBy(null), actions }))).toEqual([]);
  });

  it('reports a finished run, an unknown one, another agent’s, and none', () => {
    expect(checkCheckouts(good({ issues: heldBy('r1') }))).toEqual([
      'the checkout of ACM-1 points at run r1, which is succeeded',
    ]);
    expect(checkCheckouts(good({ issues: heldBy('r9') }))).toHaveLength(1);
    const other = [run('r1', { status: 'running', agent_id: 'bob' })];
    expect(checkCheckouts(good({ issues: heldBy('r1'), runs: other }))).toHaveLength(1);
    expect(checkCheckouts(good({ issues: heldBy(null) }))).toHaveLength(1);
  });
});

describe('the check of executions', () => {
  const second = call(2, { turn: 2, parent: 1, at: 12_000 });
  const bobs = call(3, { agent: 'Bob', issue: 'ACM-2', at: 31_000 });

  it('lets one execution pass, with attempts that failed in passing and a session that was forgotten', () => {
    expect(checkExecutions(good(), [call(1), second, bobs], [])).toEqual([]);
    const failed = [call(4, { answered: false }), call(5, { answered: false }), call(6)];
    expect(checkExecutions(good(), failed, [])).toEqual([]);
    const programs = [
      { run_id: 'r1', forgotten: true },
      { run_id: 'r1', forgotten: false },
    ];
    expect(checkExecutions(good(), [], programs)).toEqual([]);
  });

  it('tells two runs of one agent and issue apart by their times', () => {
    const runs = [run('r1'), run('r2', { started_at: 20_100, finished_at: 21_000 })];
    expect(checkExecutions(good({ runs }), [call(1), call(2, { at: 20_200 })], [])).toEqual([]);
  });

  it('reports a second answer to the same turn, of the first and of a later one', () => {
    expect(checkExecutions(good(), [call(1), call(2, { at: 15_000 })], [])).toEqual([
      'turn 1 of run r1 was computed again after call 1 had been answered',
    ]);
    const again = { ...second, n: 3, at: 13_000 };
    expect(checkExecutions(good(), [call(1), second, again], [])).toHaveLength(1);
  });

  it('reports more attempts than are made, and a call at a time without a run', () => {
    const attempts = [1, 2, 3, 4].map((n) => call(n, { answered: false }));
    expect(checkExecutions(good(), attempts, [])).toEqual(['turn 1 of run r1 was tried 4 times']);
    expect(checkExecutions(good(), [call(1, { at: 25_000 })], [])).toEqual([
      'call 1 (Ada, ACM-1) belongs to no run of its time',
    ]);
  });

  it('reports a second claim, a second start, a second prompt and a second program', () => {
    expect(checkExecutions(good({ runs: [run('r1', { fence: 3 })] }), [], [])).toHaveLength(1);
    expect(checkExecutions(good({ started: ['r1', 'r1'] }), [], [])).toHaveLength(1);
    const prompts = [
      { run_id: 'r1', turn: 1 },
      { run_id: 'r1', turn: 1 },
    ];
    expect(checkExecutions(good({ prompts }), [], [])).toEqual(['turn 1 of run r1 was prompted 2 times']);
    const program = { run_id: 'r1', forgotten: false };
    // One for each turn.
    const programs = good().prompts.flatMap(({ run_id }) => (run_id === 'r1' ? [program] : []));
    expect(checkExecutions(good(), [], programs)).toEqual([]);
    expect(checkExecutions(good(), [], [...programs, program])).toHaveLength(1);
  });
});

describe('the check of verbs', () => {
  const said = { verbs: new Set(['mk-1-1', 'mk-1-3']), prose: new Set(['mk-1-2', 'mk-1-4']) };

  it('lets pass what was applied once, refused or never reached', () => {
    expect(checkVerbs(good(), said)).toEqual([]);
  });

  it('reports what was written down twice, without a record, and recorded without an effect', () => {
    const twice = good({ written: ['Look at mk-1-1', 'Look at mk-1-1'] });
    expect(checkVerbs(twice, said)).toEqual(['mk-1-1 was written down 2 times']);
    expect(checkVerbs(good({ actions: [] }), said)).toHaveLength(1);
    expect(checkVerbs(good({ written: [] }), said)).toHaveLength(1);
    const [action] = good().actions;
    const retried = [action!, { ...action!, run_id: 'r2' }];
    expect(checkVerbs(good({ actions: retried }), said)).toEqual([
      'mk-1-1 was written down 1 times, and recorded 2 times',
    ]);
  });

  it('reports the repetition of a run that had changed something, and of no other', () => {
    const runs = [run('r1'), run('r2', { retry_of_run_id: 'r1' })];
    expect(checkVerbs(good({ runs }), said)).toEqual(['run r2 repeats run r1, whose verbs had been applied']);
    const actions = good().actions.map((action) => ({ ...action, mutating: false }));
    expect(checkVerbs(good({ runs, actions }), said)).toEqual([]);
  });

  it('reports prose that was posted twice, and what nobody said', () => {
    const written = ['Look at mk-1-1', 'I did mk-1-2', 'I did mk-1-2'];
    expect(checkVerbs(good({ written }), said)).toEqual(['the prose mk-1-2 was posted 2 times']);
    expect(checkVerbs(good({ written: ['Look at mk-1-1', 'mk-9-1'] }), said)).toHaveLength(1);
  });
});

describe('the check of what waits', () => {
  const waiting = (values: Partial<Facts> = {}, of: Partial<WakeupFact> = {}) =>
    good({ wakeups: [wakeup(of)], ...values });
  const ada = { ...agent('ada', 'Ada') };

  it('reports a wakeup that nothing holds up', () => {
    expect(checkWaiting(good())).toEqual([]);
    expect(checkWaiting(waiting())).toEqual(['wakeup w (agent ada, issue one) waits for nothing']);
    expect(checkWaiting(waiting({}, { issue_id: null }))).toHaveLength(1);
    const elsewhere = [{ name: 'dispatch-agent', agent_id: 'bob' }];
    expect(checkWaiting(waiting({ jobs: elsewhere, held_scopes: ['bob'] }))).toHaveLength(1);
    expect(checkWaiting(waiting({}, { run_id: 'r1' }))).toHaveLength(1);
  });

  const live = (values: Partial<RunFact>) => [run('r3', { status: 'running', ...values })];
  it.each<[string, Partial<Facts>, Partial<WakeupFact>]>([
    ['it has a job', { jobs: [{ name: 'dispatch-agent', agent_id: 'ada' }] }, {}],
    ['a queued run will take it', { runs: live({ status: 'queued' }) }, { run_id: 'r3' }],
    ['runs are paused on the instance', { runs_paused: true }, {}],
    ['a budget is exceeded', { held_scopes: ['company'] }, {}],
    ['the agent is paused', { agents: [{ ...ada, status: 'paused' }] }, {}],
    ['the agent is busy', { runs: live({ issue_id: 'two' }) }, {}],
    ['the issue has a run', { runs: live({ agent_id: 'bob' }) }, {}],
    [
      'another agent holds the issue',
      { issues: [{ ...issue('one', 'ACM-1'), checked_out_by_agent_id: 'bob' }] },
      {},
    ],
    ['too many agents have woken each other in a row', {}, { depth: 13 }],
    [
      'the issue needs human attention',
      { issues: [{ ...issue('one', 'ACM-1'), stalled_runs: 5 }] },
      { depth: 1 },
    ],
    [
      'the agent is at work already',
      { agents: [{ ...ada, max_concurrent_runs: 2 }], runs: live({}) },
      { issue_id: null },
    ],
  ])('accepts: %s', (reason, values, of) => {
    const facts = waiting(values, of);
    expect(whyWakeupWaits(facts, facts.wakeups[0]!)).toBe(reason);
  });

  it('reports agents that are still paused once nothing holds them back', () => {
    const paused = [{ ...ada, status: 'paused' }];
    expect(checkLetGo(good())).toEqual([]);
    expect(checkLetGo(good({ agents: paused }))).toEqual(['agent Ada is still paused']);
    expect(checkLetGo(good({ agents: paused, held_scopes: ['company'] }))).toEqual([]);
  });

  it('reports queued runs that could start, as many as have no job', () => {
    const queued = [
      run('r3', { status: 'queued', started_at: null }),
      run('r4', { status: 'queued', started_at: null, agent_id: 'bob', issue_id: 'two' }),
    ];
    expect(checkWaiting(good({ runs: queued }))).toHaveLength(2);
    const job = { name: 'execute-run', agent_id: null };
    expect(checkWaiting(good({ runs: queued, jobs: [job] }))).toHaveLength(1);
    expect(checkWaiting(good({ runs: queued, jobs: [job, job] }))).toEqual([]);
    expect(checkWaiting(good({ runs: queued, runs_paused: true }))).toEqual([]);
    expect(checkWaiting(good({ runs: [...queued, ...live({})] }))).toHaveLength(1);
  });
});

describe('the check of spending', () => {
  const limit = (limit_usd: number, at = 0): LimitChange => ({
    policy_id: 'p',
    limit_usd,
    sent_at: at,
    answered_at: at + 10,
  });
  const calls = [call(1), call(2, { agent: 'Bob', issue: 'ACM-2', at: 31_000 })];
  const spent = (usd: number, reserved_usd = 0) =>
    good({ policies: [{ id: 'p', scope_id: 'company', spent_usd: usd, reserved_usd }] });

  it('lets pass what stays below the cap, or ends one reservation above it', () => {
    expect(checkSpending(good(), calls, [limit(1)])).toEqual([]);
    expect(checkSpending(spent(0.3), calls, [limit(0.15)])).toEqual([]);
  });

  it('reports more than the cap and one reservation, and counts only limits under which something began', () => {
    expect(checkSpending(spent(0.4), calls, [limit(0.15)])).toEqual([
      'policy p let 0.4 USD be spent, 0.35 at most',
    ]);
    expect(checkSpending(spent(0.4), calls, [limit(0.15), limit(5, 50_000)])).toHaveLength(1);
    expect(checkSpending(spent(0.4), calls, [limit(0.15), limit(5, 25_000)])).toEqual([]);
  });

  it('reports a call that began after the cap was spent, and after it was lowered', () => {
    const message = 'turn 1 of run r2 began with 0.1 of 0.08 USD of policy p spent';
    expect(checkSpending(good(), calls, [limit(0.08)])).toContain(message);
    expect(checkSpending(good(), calls, [limit(1), limit(0.08, 25_000)])).toContain(message);
    expect(checkSpending(good(), calls, [limit(1), limit(0.08, 30_900)])).toEqual([]);
  });

  it('knows what programs cost, and that a waived breach has no cap', () => {
    expect(checkSpending(good(), [], [limit(0.08)])).toHaveLength(1);
    expect(checkSpending(spent(99), calls, [limit(0.08), limit(Infinity, 9000)])).toEqual([]);
  });

  it('counts what was reserved before, and not what a lost run was said to have cost', () => {
    // When Bob's call starts, twice the limit is in progress: none of it has finished.
    const runs = good().runs.map((each, n) => ({
      ...each,
      started_at: 10_000 + n * 2500,
      finished_at: 40_000,
    }));
    const [first, second] = [
      call(1, { cost_usd: 0.2 }),
      call(2, { agent: 'Bob', issue: 'ACM-2', at: 13_000 }),
    ];
    const found = checkSpending(good({ runs }), [first, second], [limit(0.1)]);
    expect(found).toEqual(['turn 1 of run r2 began with 0.2 of 0.1 USD of policy p spent']);
    // Unless Bob's money may have been reserved before.
    const sooner = runs.map((each) => ({ ...each, started_at: 10_000 }));
    expect(checkSpending(good({ runs: sooner }), [first, second], [limit(0.1)])).toEqual([]);
    const lost = runs.map((each) => ({ ...each, status: 'failed', error_category: 'lost' }));
    expect(checkSpending(good({ runs: lost }), [first, second], [limit(0.1)])).toEqual([]);
  });

  it('reports a cost that the policy has not counted', () => {
    expect(checkSpending(spent(0.1), calls, [limit(1)])).toEqual(['policy p counts 0.1 of 0.2 USD']);
  });

  it('reports money that is held for nobody', () => {
    expect(checkSpending(spent(0.2, 0.1), calls, [limit(1)])).toHaveLength(1);
    const reservations = [{ policy_id: 'p', run_id: 'r1' }];
    expect(checkSpending(good({ reservations }), calls, [limit(1)])).toHaveLength(1);
  });
});

describe('the check of ends', () => {
  it('lets one terminal event for each finished run pass, and none for others', () => {
    expect(checkEnds(good())).toEqual([]);
    const running = [run('r1', { status: 'running' })];
    expect(checkEnds(good({ runs: running, ended: [] }))).toEqual([]);
  });

  it('reports a missing event, a second one, one too early, and a transcript that ends twice', () => {
    expect(checkEnds(good({ ended: ['r1'] }))).toEqual(['run r2 is succeeded and has 0 terminal events']);
    expect(checkEnds(good({ ended: ['r1', 'r2', 'r2'] }))).toHaveLength(1);
    expect(checkEnds(good({ runs: [run('r1', { status: 'queued' })], ended: ['r1'] }))).toHaveLength(1);
    expect(checkEnds(good({ final_entries: ['r1', 'r1'] }))).toHaveLength(1);
  });
});

it('the check of faults reports runs that failed by the service’s own fault, and no others', () => {
  const failed = (error_category: string) => run('r1', { status: 'failed', error: 'why', error_category });
  expect(checkFaults(good({ runs: [failed('transient'), failed('lost'), failed('budget')] }))).toEqual([]);
  expect(checkFaults(good({ runs: [failed('internal')] }))).toEqual(['run r1 failed (internal): why']);
  expect(checkFaults(good({ runs: [failed('config')] }))).toHaveLength(1);
});

it('the check of processes reports each that is left', () => {
  expect(checkProcesses([])).toEqual([]);
  expect(checkProcesses([{ pid: 7, command: 'node fake' }])).toEqual(['process 7 survived: node fake']);
});
