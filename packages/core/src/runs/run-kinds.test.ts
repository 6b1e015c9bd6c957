/** The kernel's promises apply to every kind: each test runs over the table, and over a kind of its own. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type Database, schema, transaction, type Tx } from '@acp/db';
import { inWords, newId } from '@acp/kernel';
import { openQueue, type Queue } from '@acp/queue';
import { actors, cloneDatabase, createAgent, createCompany, createIssue, queuedJobs } from '@acp/testkit';
import { eq, sql } from 'drizzle-orm';
import {
  admitRuns,
  cancelRun,
  cancelRuns,
  type ClaimedRun,
  claimRun,
  eachAlone,
  type EndedRun,
  endHandedOverRun,
  finishRun,
  handOverRun,
  issueKey,
  kindTable,
  listRunEvents,
  type Proposal,
  readAgentFacts,
  recordAction,
  registerRunKind,
  requestWakeups,
  type RunKind,
  type RunResult,
  type RunRow,
  storeRunEvents,
  sweepLostRun,
  takeBackRun,
} from '../index.ts';

const {
  agents,
  chat_messages,
  chats,
  compiled_batches,
  compiled_indexes,
  cost_events,
  council_participants,
  council_sessions,
  council_turns,
  evolution_steps,
  heartbeat_runs,
  outbox,
  prompt_evolutions,
} = schema;

/** The smallest possible kind: it records what the kernel calls. */
const asked: string[] = [];
const note = (what: string) => async () => {
  asked.push(what);
  return Promise.resolve({ changes: [] });
};
const probe: RunKind = {
  name: 'probe',
  subject: { type: 'issue', table: 'issues' },
  liveKey: ({ subject_id, agent_id }) => (subject_id === null ? null : `probe:${subject_id}:${agent_id}`),
  audience: ({ subject_id }) => ({ topic: `chat:${subject_id!}`, admins_only: true }),
  retries: true,
  begin: eachAlone(note('begin')),
  end: async (_, { run, subject, retried }: EndedRun) => {
    expect(subject).toMatchObject({ id: run.subject_id });
    return note(`end ${run.status}${retried ? ', retried' : ''}`)();
  },
  cancelQueued: async (_, runs) => {
    asked.push(...runs.map(() => 'cancelQueued'));
    return Promise.resolve();
  },
};
registerRunKind(probe);

let database: Database;
let queue: Queue;
beforeAll(async () => {
  ({ database } = await cloneDatabase('kinds'));
  queue = await openQueue({ database, role: 'client' });
});
afterAll(async () => queue.stop());
beforeEach(async () => {
  await database.db.execute(sql`delete from heartbeat_runs`);
  asked.length = 0;
});

const human = actors.board({ id: '00000000-0000-4000-8000-000000000000' });
const act = async <T>(work: Parameters<typeof transaction<T>>[1]) => transaction(database, work);
const claim = async () => act(async (tx) => claimRun(tx, { claimed_by: 'scheduler', lease_sec: 30 }));
const rowOf = async (id: string) =>
  (await database.db.select().from(heartbeat_runs).where(eq(heartbeat_runs.id, id)))[0]!;
const lapse = async () =>
  database.db.execute(sql`update heartbeat_runs set lease_expires_at = now() - interval '1 second'
    where lease_expires_at is not null`);
const sweep = async () => act(async (tx) => sweepLostRun(tx));
const usage = {
  provider: 'family_compat',
  model: 'small',
  input_tokens: 10,
  output_tokens: 10,
  cached_tokens: 0,
  usage_missing: false,
  price_estimated: false,
  cost_usd: '0.50000000',
};
const succeeded: RunResult = { failure: null, text: 'Done.', usage, changed: true };
const verb = (ordinal: number) => ({ ordinal, verb: 'status', args: {}, mutating: true, ok: true });

/** The subject of a run of the kind, and what records that a run was admitted. */
async function subjectOf(
  kind: string,
  company: { id: string },
  agent: { id: string },
): Promise<{
  subject: { type: string; id: string };
  payload: Record<string, unknown>;
  answers: (tx: Tx, run_id: string | undefined) => Promise<void>;
}> {
  if (kind === 'council_turn') return councilOf(company, agent);
  if (kind === 'evolution_step') return evolutionOf(company, agent);
  if (kind === 'compile') return compilationOf(company, agent);
  if (!kind.startsWith('chat_')) {
    const { id } = await createIssue(database.db, company, { assignee_agent_id: agent.id });
    return { subject: { type: 'issue', id }, payload: { round: 1 }, answers: async () => Promise.resolve() };
  }
  const of = { company_id: company.id, agent_id: agent.id };
  const [chat] = await database.db
    .insert(chats)
    .values({ ...of, last_turn: 2 })
    .returning();
  const said = { company_id: company.id, chat_id: chat!.id, author_name: 'Mary', body_markdown: 'Hello' };
  const [question] = await database.db
    .insert(chat_messages)
    .values({ ...said, position: 4, role: 'user', status: 'waiting' })
    .returning();
  const payload = kind === 'chat_reply' ? { message_id: question!.id } : { from_turn: 0, up_to_turn: 1 };
  const answers = async (tx: Tx, run_id: string | undefined) => {
    if (run_id === undefined) return;
    await tx
      .update(chat_messages)
      .set({ run_id, status: 'answering' })
      .where(eq(chat_messages.id, question!.id));
  };
  return { subject: { type: 'chat', id: chat!.id }, payload, answers };
}

async function evolutionOf(company: { id: string }, agent: { id: string }): ReturnType<typeof subjectOf> {
  const of = { company_id: company.id, agent_id: agent.id, base_version_number: 1 };
  const [evolution] = await database.db
    .insert(prompt_evolutions)
    .values({ ...of, max_rollouts: 80, max_cost_usd: '5' })
    .returning();
  const step = { candidate_number: 0, kind: 'rollout', ordinal: 0 };
  const asked_of = { ...step, evolution_id: evolution!.id, run_id: newId() };
  await database.db.insert(evolution_steps).values(asked_of);
  const answers = async (tx: Tx, run_id: string | undefined) => {
    if (run_id === undefined) return;
    await tx.update(evolution_steps).set({ run_id }).where(eq(evolution_steps.run_id, asked_of.run_id));
  };
  return { subject: { type: 'prompt_evolution', id: evolution!.id }, payload: step, answers };
}

async function compilationOf(company: { id: string }, agent: { id: string }): ReturnType<typeof subjectOf> {
  const [index] = await database.db
    .insert(compiled_indexes)
    .values({ company_id: company.id, agent_id: agent.id, version: 1 })
    .returning();
  const batch = { index_id: index!.id, number: 0, source_keys: [], revisions: [], status: 'asked' };
  await database.db.insert(compiled_batches).values(batch);
  const answers = async (tx: Tx, run_id: string | undefined) => {
    if (run_id === undefined) return;
    await tx.update(compiled_batches).set({ run_id }).where(eq(compiled_batches.index_id, index!.id));
  };
  return { subject: { type: 'compiled_index', id: index!.id }, payload: { batch: 0 }, answers };
}

async function councilOf(company: { id: string }, agent: { id: string }): ReturnType<typeof subjectOf> {
  const { id: issue_id } = await createIssue(database.db, company);
  const [session] = await database.db
    .insert(council_sessions)
    .values({ company_id: company.id, issue_id, question: 'Why?', rounds: 2, depth: 0 })
    .returning();
  const of = { session_id: session!.id, company_id: company.id, agent_id: agent.id };
  await database.db.insert(council_participants).values({ ...of, place: 0, name: 'Ada', role: 'ceo' });
  const planned = { ...of, kind: 'answer', round: 1, run_id: newId() };
  await database.db.insert(council_turns).values(planned);
  const answers = async (tx: Tx, run_id: string | undefined) => {
    if (run_id === undefined) return;
    await tx
      .update(council_turns)
      .set({ run_id, status: 'asked' })
      .where(eq(council_turns.session_id, session!.id));
  };
  return { subject: { type: 'council_session', id: session!.id }, payload: {}, answers };
}

describe.each([...kindTable.map(({ name }) => name), 'probe'])('a run of the kind %s', (kind) => {
  async function stage() {
    const company = await createCompany(database.db);
    const agent = await createAgent(database.db, company, { max_concurrent_runs: 3 });
    const { subject, payload, answers } = await subjectOf(kind, company, agent);
    const propose = (changes: Partial<Proposal> = {}): Proposal => ({
      kind,
      subject_id: subject.id,
      issue_id: kind === 'heartbeat' ? subject.id : null,
      payload,
      wake_reason: 'manual',
      trigger_detail: null,
      depth: 0,
      objection: null,
      ...changes,
    });
    const admit = async (...wanted: Proposal[]) =>
      act(async (tx) => {
        const admission = await admitRuns(tx, human, (await readAgentFacts(tx, agent.id))!, wanted);
        await answers(tx, admission.admitted[0]?.run.id);
        return admission;
      });
    return { company, agent, subject, payload, propose, admit };
  }
  async function running() {
    const set = await stage();
    await set.admit(set.propose());
    return { ...set, run: (await claim())! };
  }
  const finish = async (run: ClaimedRun, result = succeeded) => act(async (tx) => finishRun(tx, run, result));

  it('passes the one admission, is claimed with its payload and ends with its cost, told to everyone once', async () => {
    const { company, agent, subject, payload, admit, propose } = await stage();
    const { admitted } = await admit(propose());
    expect(admitted).toMatchObject([{ run: { kind, subject_type: subject.type, subject_id: subject.id } }]);
    const run = (await claim())!;
    expect(run).toMatchObject({ kind, subject_id: subject.id, payload, agent_id: agent.id });
    expect(await finish(run)).toBe(true);
    expect(await rowOf(run.run_id)).toMatchObject({ status: 'succeeded', summary: 'Done.', model: 'small' });
    expect(await database.db.$count(cost_events, eq(cost_events.run_id, run.run_id))).toBe(1);
    expect(
      (await listRunEvents(database.db, { kind: 'system', name: 'tests' }, run.run_id)).at(-1),
    ).toMatchObject({
      kind: 'status',
      payload: { status: 'succeeded' },
    });
    const told = await database.db.select().from(outbox).where(eq(outbox.company_id, company.id));
    expect(told.filter(({ type }) => type === 'heartbeat_completed')).toMatchObject([
      { data: { kind, subject } },
    ]);
    const [idle] = await database.db.select().from(agents).where(eq(agents.id, agent.id));
    expect(idle!.status).toBe('idle');
  });

  it('is one at a time per live key, and refused while its agent, its depth or its subject has something against it', async () => {
    const { agent, admit, propose } = await stage();
    expect((await admit(propose(), propose())).admitted).toHaveLength(1);
    expect((await admit(propose())).admitted).toEqual([]);
    const other = { subject_id: null, issue_id: null };
    const { refused } = await admit(
      propose({ ...other, depth: 13 }),
      propose({ ...other, objection: 'not now' }),
    );
    expect(refused.map(({ reason }) => reason)).toEqual([
      'too many agents have woken each other in a row',
      'not now',
    ]);
    await database.db.update(agents).set({ status: 'paused' }).where(eq(agents.id, agent.id));
    const again = await admit(propose(other));
    expect(again.refused.map(({ reason }) => inWords(reason))).toEqual(['agent is paused']);
  });

  it('that is lost before it did anything is tried once more with subject and payload; the next time it is not', async () => {
    const { run } = await running();
    await lapse();
    expect(await sweep()).toMatchObject({ id: run.run_id, status: 'failed', error_category: 'lost' });
    const again = (await claim())!;
    expect(again).toMatchObject({
      kind,
      retry_of_run_id: run.run_id,
      subject_id: run.subject_id,
      payload: run.payload,
    });
    await lapse();
    await sweep();
    expect(await claim()).toBeUndefined();
  });

  it('that is lost with a verb applied is not tried again, and its late holder changes nothing', async () => {
    const { run } = await running();
    expect(await recordAction(database.db, run, verb(1))).toBe(true);
    await lapse();
    await sweep();
    const before = await rowOf(run.run_id);
    expect(await claim()).toBeUndefined();
    expect(await recordAction(database.db, run, verb(2))).toBe(false);
    expect(
      await storeRunEvents(database.db, { lease: run, first_seq: 9, events: [{ kind: 'log', payload: {} }] }),
    ).toBeUndefined();
    expect(await finish(run)).toBe(false);
    expect(await rowOf(run.run_id)).toEqual(before);
  });

  it('that the database broke off ends as lost and is tried once more', async () => {
    const { run } = await running();
    await finish(run, { ...succeeded, failure: { category: 'lost', message: 'away' }, changed: false });
    expect(await rowOf(run.run_id)).toMatchObject({ status: 'failed', error: 'away' });
    expect(await claim()).toMatchObject({ kind, retry_of_run_id: run.run_id });
  });

  it('ends cancelled once its cancel was acknowledged, though it finished meanwhile or was lost', async () => {
    const [first, second] = [await running(), await running()];
    for (const { run } of [first, second]) await act(async (tx) => cancelRun(tx, human, { id: run.run_id }));
    await finish(first.run);
    await lapse();
    await sweep();
    for (const { run } of [first, second])
      expect(await rowOf(run.run_id)).toMatchObject({ status: 'cancelled', error: null });
    expect(await claim()).toBeUndefined();
  });

  it('that ends first answers a cancel with a conflict: one of the two decides', async () => {
    const { run } = await running();
    const [ended, cancelled] = await Promise.allSettled([
      finish(run),
      act(async (tx) => cancelRun(tx, human, { id: run.run_id })),
    ]);
    expect(ended.status).toBe('fulfilled');
    const { status } = await rowOf(run.run_id);
    expect(status).toBe(cancelled.status === 'fulfilled' ? 'cancelled' : 'succeeded');
  });

  it('that waits is cancelled at once, alone or with all of a deleted thing', async () => {
    const { agent, admit, propose } = await stage();
    const { admitted } = await admit(propose(), propose({ subject_id: null, issue_id: null }));
    const [one, other] = admitted.map(({ run }) => run);
    await act(async (tx) => cancelRun(tx, human, one!));
    await act(async (tx) => cancelRuns(tx, sql`r.agent_id = ${agent.id}`, 'agent was deleted'));
    for (const { id } of [one!, other!]) expect((await rowOf(id)).status).toBe('cancelled');
    expect(asked).toEqual(kind === 'probe' ? ['cancelQueued', 'cancelQueued'] : []);
  });

  it('lets go on at its end what waited for its agent', async () => {
    const { company, agent, run } = await running();
    const other = await createIssue(database.db, company);
    await act(async (tx) =>
      requestWakeups(tx, human, [
        { company_id: company.id, agent_id: agent.id, issue_id: other.id, reason: 'comment' },
      ]),
    );
    const jobs = async () => queuedJobs(database.db, 'dispatch-agent', { agent_id: agent.id });
    const before = (await jobs()).length;
    await finish(run);
    expect(await jobs()).toHaveLength(before + 1);
  });

  describe('that was handed over', () => {
    const take = async (run: { run_id: string }, claimed_by = 'scheduler-2') =>
      act(async (tx) => takeBackRun(tx, run.run_id, { claimed_by, lease_sec: 30 }));
    async function handedOver() {
      const set = await running();
      await storeRunEvents(database.db, {
        lease: set.run,
        first_seq: 1,
        events: [{ kind: 'log', payload: {} }],
      });
      await act(async (tx) => handOverRun(tx, set.run));
      return set;
    }

    it('has neither slot nor lease nor holder, and is not swept', async () => {
      const { run } = await handedOver();
      expect(await rowOf(run.run_id)).toMatchObject({ status: 'running', lease_expires_at: null });
      expect(await sweep()).toBeUndefined();
      expect(await finish(run)).toBe(false);
    });

    it('is taken back with a higher fence by one, who goes on after what is recorded and ends it', async () => {
      const { run } = await handedOver();
      const taken = await Promise.all([take(run), take(run)]);
      const [mine, ...others] = taken.filter((each) => each !== undefined);
      expect(others).toEqual([]);
      expect(mine).toMatchObject({ next_ordinal: 1, applied: false, next_seq: 2, run: { kind } });
      expect(mine!.run.fence).toBeGreaterThan(run.fence + 1);
      expect(await recordAction(database.db, mine!.run, verb(1))).toBe(true);
      expect(await finish(mine!.run)).toBe(true);
      expect(await take(run)).toBeUndefined();
    });

    it('goes back outside when who took it back dies; the next one goes on where that one stood', async () => {
      const { run } = await handedOver();
      const first = (await take(run))!;
      await recordAction(database.db, first.run, verb(1));
      await lapse();
      expect(await sweep()).toMatchObject({ status: 'running', lease_expires_at: null });
      expect(await recordAction(database.db, first.run, verb(2))).toBe(false);
      const second = (await take(run, 'scheduler-3'))!;
      expect(second).toMatchObject({ next_ordinal: 2, applied: true });
      expect(await finish(first.run)).toBe(false);
      expect(await finish(second.run)).toBe(true);
    });

    it('is taken back from a lapsed lease that nobody swept', async () => {
      const { run } = await handedOver();
      await take(run);
      expect(await take(run)).toBeUndefined();
      await lapse();
      expect(await take(run)).toBeDefined();
    });

    it('ends without a result where nobody brings one, cancelled where it was called off', async () => {
      const [late, unwanted] = [await handedOver(), await handedOver()];
      await act(async (tx) => cancelRun(tx, human, { id: unwanted.run.run_id }));
      const failure = { category: 'timeout', message: 'no result' };
      for (const { run } of [late, unwanted]) {
        const row: RunRow = await rowOf(run.run_id);
        expect(await act(async (tx) => endHandedOverRun(tx, row, failure, sql`true`))).toBe(true);
        expect(await act(async (tx) => endHandedOverRun(tx, row, failure, sql`true`))).toBe(false);
      }
      expect(await rowOf(late.run.run_id)).toMatchObject({ status: 'failed', error: 'no result' });
      expect((await rowOf(unwanted.run.run_id)).status).toBe('cancelled');
    });
  });
});

describe('a kind', () => {
  it('is asked at each step, and its audience goes with every line of the transcript', async () => {
    const company = await createCompany(database.db);
    const agent = await createAgent(database.db, company);
    const subject = await createIssue(database.db, company);
    await act(async (tx) =>
      admitRuns(tx, human, (await readAgentFacts(tx, agent.id))!, [
        {
          kind: 'probe',
          subject_id: subject.id,
          issue_id: null,
          wake_reason: 'manual',
          trigger_detail: null,
          depth: 0,
          objection: null,
        },
      ]),
    );
    const run = (await claim())!;
    const item = await storeRunEvents(database.db, {
      lease: run,
      first_seq: 1,
      events: [{ kind: 'log', payload: {} }],
    });
    expect(JSON.parse(item!)).toMatchObject({ topic: `chat:${subject.id}`, admins_only: true });
    await lapse();
    await sweep();
    expect(asked).toEqual(['begin', 'end failed, retried']);
  });

  it('that this process does not know is left alone', async () => {
    const company = await createCompany(database.db);
    const agent = await createAgent(database.db, company);
    const base = { company_id: company.id, agent_id: agent.id, wake_reason: 'manual', adapter_type: 'llm' };
    const [later, lost] = await database.db
      .insert(heartbeat_runs)
      .values([
        { ...base, kind: 'of a later release' },
        { ...base, kind: 'of a later release', status: 'running', lease_expires_at: new Date(0) },
      ])
      .returning();
    expect(await claim()).toBeUndefined();
    expect(await sweep()).toBeUndefined();
    expect([(await rowOf(later!.id)).status, (await rowOf(lost!.id)).status]).toEqual(['queued', 'running']);
  });

  it('of two that work on issues shares their live key', () => {
    expect(issueKey('7')).toBe('issue:7');
    expect(issueKey(null)).toBeNull();
  });
});
