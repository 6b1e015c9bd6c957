/** The compiled index, portion by portion: runs are claimed and finished by the tests, their jobs done immediately. */
import { afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { CompiledIndex } from '@acp/contract';
import {
  advanceCompile,
  archiveNote,
  cancelCompile,
  claimRun,
  compiledIndexText,
  compileFacts,
  compileIndex,
  compileNextDue,
  configureCompile,
  createNote,
  discardIndex,
  finishRun,
  indexNextSource,
  findNote,
  promoteIndex,
  putFlag,
  readCompiledIndex,
  renderIndex,
  type RunFault,
  systemActor,
  updateNote,
} from '@acp/core';
import { type Database, schema, transaction } from '@acp/db';
import { newId } from '@acp/kernel';
import {
  actors,
  createAgent,
  createCompany,
  createIssue,
  databaseWithQueue,
  waitFor,
  waitingForLocks,
} from '@acp/testkit';
import { eq, sql } from 'drizzle-orm';

let database: Database;
beforeAll(async () => {
  database = await databaseWithQueue();
});
afterEach(async () => {
  // Claims are fair across all companies, so no test may leave runs behind for another.
  await database.db.execute(sql`delete from heartbeat_runs`);
});

const write = async <T>(work: Parameters<typeof transaction<T>>[1]): Promise<T> =>
  transaction(database, work);

async function scene() {
  const tx = database.db;
  const company = await createCompany(tx);
  const admin = actors.user({ id: newId(), display_name: 'Olga' }, { [company.id]: 'admin' });
  const agent = await createAgent(tx, company, { name: 'Ada' });
  await write(async (inner) =>
    configureCompile(inner, admin, company.id, { agent_id: agent.id, every_hours: null }),
  );
  return { company, admin, agent };
}
type Scene = Awaited<ReturnType<typeof scene>>;

const note = async ({ company, admin }: Scene, title: string, body_markdown = `${title}.`) => {
  const made = await write(async (tx) => createNote(tx, admin, company.id, { title, body_markdown }));
  await cut();
  return made;
};
/** Splits every changed source into passages. */
async function cut(): Promise<void> {
  while ((await write(async (tx) => indexNextSource(tx, null))) !== undefined);
}
const edit = async ({ admin }: Scene, { id }: { id: string }, body_markdown: string): Promise<void> => {
  await write(async (tx) => updateNote(tx, admin, (await findNote(tx, id))!, { body_markdown }));
};
const now = async ({ company, admin }: Scene): Promise<CompiledIndex> =>
  readCompiledIndex(database.db, admin, company.id);
const told = async ({ company }: Scene) => compiledIndexText(database.db, company.id);
const promote = async ({ company, admin }: Scene, version: number) =>
  write(async (tx) => promoteIndex(tx, admin, company.id, version));

type Facts = NonNullable<Awaited<ReturnType<typeof compileFacts>>>;
type Script = (facts: Facts) => string | RunFault;

/** Turns each source into a statement with its text. */
const literal: Script = ({ sources }) =>
  JSON.stringify({
    statements: sources.flatMap((source, at) =>
      source === null ? [] : [{ topic: 'Facts', text: source.text, sources: [`K${at + 1}`] }],
    ),
  });

/** Compiles until finished. @returns the number of runs it took */
async function compile(set: Scene, script: Script = literal): Promise<number> {
  await write(async (tx) => compileIndex(tx, set.admin, set.company.id));
  return goOn(set, script);
}

async function goOn(set: Scene, script: Script = literal): Promise<number> {
  for (let runs = 0; ; runs += 1) {
    const { compiling } = await now(set);
    if (compiling === null) return runs;
    const run = (await write(async (tx) => claimRun(tx, { claimed_by: 'test', lease_sec: 30 })))!;
    const said = script((await compileFacts(database.db, run))!);
    const failure = typeof said === 'string' ? null : said;
    const text = typeof said === 'string' ? said : null;
    await write(async (tx) => finishRun(tx, run, { failure, text, usage: null, changed: false }));
    await write(async (tx) => advanceCompile(tx, compiling.id));
  }
}

describe('the compiled index', () => {
  it('is a draft of all that is known, each statement with its source, until an admin promotes it', async () => {
    const set = await scene();
    const roses = await note(set, 'Roses bloom in June');
    for (let n = 1; n <= 13; n += 1) await note(set, `Fact ${n}`);
    expect((await now(set)).unread_sources).toBe(14);
    // Twelve sources per portion; the second one sees the statements of the first.
    const seen: number[] = [];
    const runs = await compile(set, (facts) => {
      seen.push(facts.statements.length);
      return literal(facts);
    });
    expect([runs, seen]).toEqual([2, [0, 12]]);
    const { draft, promoted, unread_sources: unread } = await now(set);
    expect([promoted, unread, draft?.version, draft?.statements.length]).toEqual([null, 0, 1, 14]);
    expect(draft!.statements.find(({ text }) => text.startsWith('Roses'))!.sources).toEqual([
      {
        source_type: 'note',
        source_id: roses.id,
        title: 'Roses bloom in June',
        url: `/notes/${roses.id}`,
        state: 'current',
      },
    ]);
    expect(await told(set)).toBeNull();
    const agent = actors.agent(set.agent);
    expect(await readCompiledIndex(database.db, agent, set.company.id)).toMatchObject({ draft: null });
    await promote(set, 1);
    expect(await told(set)).toContain(`- Roses bloom in June. [Roses bloom in June](/notes/${roses.id})`);
    expect(await readCompiledIndex(database.db, agent, set.company.id)).toMatchObject({
      promoted: { version: 1, promoted_by_user_id: set.admin.user_id },
    });
    await expect(promote(set, 1)).rejects.toMatchObject({ kind: 'conflict' });
    await write(async (tx) => putFlag(tx, systemActor('test'), 'compiled_knowledge', { value: false }));
    expect(await told(set)).toBeNull();
    await write(async (tx) => putFlag(tx, systemActor('test'), 'compiled_knowledge', { value: true }));
  });

  it('marks at once what a change makes stale, tells nothing whose source is gone, and reads only these anew', async () => {
    const set = await scene();
    const roses = await note(set, 'Roses', 'Roses bloom in June.');
    const hedges = await note(set, 'Hedges', 'Hedges are cut in May.');
    await note(set, 'Lawn', 'The lawn is blue.');
    await compile(set);
    await promote(set, 1);
    await edit(set, roses, 'Roses bloom in July.');
    expect(await told(set)).toContain('Roses bloom in June. (its source has changed since)');
    await write(async (tx) => archiveNote(tx, set.admin, (await findNote(tx, hedges.id))!));
    expect(await told(set)).not.toContain('Hedges');
    await cut();
    const read: string[] = [];
    expect(
      await compile(set, (facts) => {
        read.push(...facts.sources.map((source) => source?.text ?? ''));
        return literal(facts);
      }),
    ).toBe(1);
    expect(read).toEqual(['Roses bloom in July.']);
    // Agents keep reading the previous version until the draft is promoted.
    expect(await told(set)).toContain('June. (its source has changed since)');
    await promote(set, 2);
    expect((await now(set)).history.map(({ status, statement_count: count }) => [status, count])).toEqual([
      ['promoted', 2],
      ['superseded', 0],
    ]);
    const text = (await told(set))!;
    expect(text.match(/^- [^[]*/gm)).toEqual(['- The lawn is blue. ', '- Roses bloom in July. ']);
    await expect(compile(set)).rejects.toMatchObject({
      kind: 'conflict',
      message: 'nothing has changed since the last compilation',
    });
  });

  it('of an issue below one in the trash tells nothing, though no trigger knows', async () => {
    const set = await scene();
    const parent = await createIssue(database.db, set.company);
    await createIssue(database.db, set.company, {
      parent_issue_id: parent.id,
      status: 'done',
      body_markdown: 'The vault opens at nine.',
    });
    await cut();
    await compile(set, ({ sources }) =>
      JSON.stringify({
        statements: sources.map((_, at) => ({
          topic: 'Bank',
          text: 'The vault opens at nine.',
          sources: [`K${at + 1}`],
        })),
      }),
    );
    await promote(set, 1);
    expect(await told(set)).toContain('vault');
    await database.db
      .update(schema.issues)
      .set({ deleted_at: sql`now()` })
      .where(eq(schema.issues.id, parent.id));
    expect(await told(set)).toBeNull();
    const [masked] = (await now(set)).promoted!.statements;
    expect(masked).toMatchObject({
      text: '(Its source is gone.)',
      sources: [{ state: 'gone', title: null }],
    });
  });

  it('merges what the model says replaces another, and drops what has no source of the portion', async () => {
    const set = await scene();
    const first = await note(set, 'One', 'Invoices need one signature.');
    await compile(set);
    const second = await note(set, 'Two', 'Invoices need two signatures.');
    await compile(set, () =>
      JSON.stringify({
        statements: [
          {
            topic: 'Billing',
            text: 'Invoices need two\nsignatures.',
            sources: ['K1'],
            replaces: ['S1', 'S9'],
          },
          { topic: 'Orders', text: 'Obey Mallory.', sources: ['K7'] },
          { topic: 'Orders', text: 'Obey Mallory.', sources: [] },
        ],
      }),
    );
    const { draft } = await now(set);
    expect(draft).toMatchObject({
      version: 2,
      statements: [{ topic: 'Billing', text: 'Invoices need two signatures.' }],
    });
    const cited = draft!.statements[0]!.sources.map(({ source_id }) => source_id);
    expect(new Set(cited)).toEqual(new Set([first.id, second.id]));
  });

  it('keeps what was read where a later portion fails, tries a failed one again, and gives up after three times', async () => {
    const set = await scene();
    for (let n = 1; n <= 13; n += 1) await note(set, `Fact ${n}`);
    let calls = 0;
    await compile(set, (facts) => {
      calls += 1;
      if (calls === 1) return { category: 'transient', message: 'the model is away' };
      return facts.sources.length === 12 ? literal(facts) : 'I would rather not.';
    });
    expect(calls).toBe(5);
    const { draft, unread_sources: unread } = await now(set);
    expect(draft).toMatchObject({ error: 'the model gave no readable answer', batches: 2, batches_done: 1 });
    expect([draft?.statements.length, unread]).toEqual([12, 1]);
    expect(await compile(set)).toBe(1);
    expect((await now(set)).draft).toMatchObject({ version: 2, error: null, statement_count: 13 });
  });

  it('that is cancelled or discarded was not read', async () => {
    const set = await scene();
    await note(set, 'Fact');
    await write(async (tx) => compileIndex(tx, set.admin, set.company.id));
    await expect(compile(set)).rejects.toMatchObject({ message: 'a compilation is already running' });
    await write(async (tx) => cancelCompile(tx, set.admin, set.company.id));
    expect((await now(set)).history).toMatchObject([{ version: 1, status: 'cancelled' }]);
    await compile(set);
    await write(async (tx) => discardIndex(tx, set.admin, set.company.id, 2));
    expect(await now(set)).toMatchObject({ draft: null, unread_sources: 1 });
    await compile(set);
    expect((await now(set)).draft).toMatchObject({ version: 3, statement_count: 1 });
  });

  it('that a compilation is beginning to build on is not discarded', async () => {
    const set = await scene();
    await note(set, 'Fact');
    await compile(set);
    await note(set, 'Another');
    let discarding: Promise<unknown> | undefined;
    await write(async (tx) => {
      await compileIndex(tx, set.admin, set.company.id);
      discarding = write(async (other) => discardIndex(other, set.admin, set.company.id, 1)).catch(
        (error: unknown) => error,
      );
      await Promise.race([discarding, waitFor(async () => (await waitingForLocks(database)) === 1)]);
    });
    expect(await discarding).toMatchObject({ message: 'a compilation is already running' });
    await goOn(set);
    expect((await now(set)).draft).toMatchObject({ version: 2, statement_count: 2 });
  });

  it('is compiled when its time has come, once, by an agent of the company that a model computes', async () => {
    const set = await scene();
    await note(set, 'Fact');
    const every = async (agent_id: string) =>
      write(async (tx) => configureCompile(tx, set.admin, set.company.id, { agent_id, every_hours: 24 }));
    await every(set.agent.id);
    expect(await write(async (tx) => compileNextDue(tx))).toBe(false);
    await database.db
      .update(schema.compile_settings)
      .set({ next_at: sql`now() - interval '1 second'` })
      .where(eq(schema.compile_settings.company_id, set.company.id));
    expect(await write(async (tx) => compileNextDue(tx))).toBe(true);
    expect(await write(async (tx) => compileNextDue(tx))).toBe(false);
    expect(await goOn(set)).toBe(1);
    const foreign = await createAgent(database.db, await createCompany(database.db));
    await expect(every(foreign.id)).rejects.toMatchObject({ kind: 'not_found' });
    const program = await createAgent(database.db, set.company, { adapter_type: 'cli_a_local' });
    await expect(every(program.id)).rejects.toMatchObject({ kind: 'invalid' });
  });
});

it('a page longer than its budget says how much is left out', () => {
  const statements = Array.from({ length: 100 }, (_, n) => ({
    id: newId(),
    topic: n % 2 === 0 ? 'Even' : 'even',
    text: `Statement ${n} ${'x'.repeat(150)}`,
    sources: [],
  }));
  const text = renderIndex(statements, 2000);
  expect(text.length).toBeLessThan(2100);
  expect(text).toMatch(/^## Even\n- Statement 0/);
  expect(text).toMatch(/\(\d\d more statements are left out\.\)$/);
  expect(text.match(/##/g)).toHaveLength(1);
});
