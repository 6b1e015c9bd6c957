import { beforeEach, describe, expect, it } from '@jest/globals';
import { cloneDatabase, createAgent, createCompany } from '@acp/testkit';
import { sql } from 'drizzle-orm';
import { type Database, partitionTranscripts, transaction } from './index.ts';
import { partitionTranscriptStep } from './partition-transcripts.ts';

const never = new AbortController().signal;
let database: Database;
let agent: { id: string; company_id: string };
beforeEach(async () => {
  ({ database } = await cloneDatabase('transcripts'));
  agent = await createAgent(database.db, await createCompany(database.db));
});

const run = async <T>(text: string, values: unknown[] = []): Promise<T[]> =>
  (await database.pool.query(text, values)).rows as T[];

const partitions = async () =>
  (
    await run<{ part: string }>(`select relname || ' ' || pg_get_expr(relpartbound, c.oid) as part
      from pg_inherits join pg_class c on c.oid = inhrelid where inhparent = 'run_events'::regclass order by c.oid`)
  ).map(({ part }) => part);

const begun = async () => {
  const [row] = await run<{ id: string; part: number }>(
    `insert into heartbeat_runs (company_id, agent_id, wake_reason, adapter_type) values ($1, $2, 'manual', 'llm')
      returning id, transcript_part as part`,
    [agent.company_id, agent.id],
  );
  return row!;
};

/** As the previous release writes it: without knowledge of parts. */
const say = async ({ id }: { id: string }, seq: number) =>
  run(
    `insert into run_events (run_id, seq, kind, payload) values ($1, $2, 'output', '{}') on conflict (run_id, seq) do nothing`,
    [id, seq],
  );

const entries = async () =>
  (await run<{ entry: string }>('select run_id || $1 || seq as entry from run_events order by 1', [' '])).map(
    ({ entry }) => entry,
  );

/** The tables as previous releases had them, with the columns of the migration. */
async function asBefore(): Promise<void> {
  await run(`
    drop table run_events;
    create table run_events (run_id uuid not null, seq int not null, kind text not null, payload jsonb not null,
      created_at timestamptz(3) not null default now(), part int not null default 0);
    alter table run_events add constraint run_events_run_id_seq_pk primary key (run_id, seq);
    alter table run_events add constraint run_events_run_id_heartbeat_runs_id_fk
      foreign key (run_id) references heartbeat_runs (id) on delete cascade;
    alter table heartbeat_runs alter column transcript_part set default 0;
    delete from transcript_parts where part > 0`);
}

const aDayLater = async () => run(`update transcript_parts set began_at = began_at - interval '25 hours'`);

describe('the transcripts of a new instance', () => {
  it('lie in partitions, an entry that is sent twice once, and go with their run', async () => {
    expect(await partitions()).toEqual(['run_events_0 FOR VALUES IN (0)', 'run_events_1 FOR VALUES IN (1)']);
    const { id, part } = await begun();
    expect(part).toBe(1);
    for (const kind of ['output', 'log'])
      await run(
        `insert into run_events (run_id, seq, kind, payload, part) values ($1, 1, $2, '{}', 1) on conflict do nothing`,
        [id, kind],
      );
    expect(await run('select kind, tableoid::regclass::text as place from run_events')).toEqual([
      { kind: 'output', place: 'run_events_1' },
    ]);
    await run('delete from heartbeat_runs where id = $1', [id]);
    expect(await entries()).toEqual([]);
  });
});

describe('the transcripts of an instance that had some before', () => {
  it('are left as they are while the release before may be there', async () => {
    await asBefore();
    await say(await begun(), 1);
    await partitionTranscripts(database, never);
    expect(await partitions()).toEqual([]);
    expect((await begun()).part).toBe(0);
  });

  it('become the first partition where they lie, while more is said', async () => {
    await asBefore();
    const old = await begun();
    await say(old, 1);
    await aDayLater();
    const done = new AbortController();
    let said = 1;
    const talking = (async () => {
      while (!done.signal.aborted) {
        said += 1;
        await run(
          `insert into run_events (run_id, seq, kind, payload, part)
            select id, $2, 'output', '{}', transcript_part from heartbeat_runs where id = $1 on conflict do nothing`,
          [old.id, said],
        );
      }
    })();
    await partitionTranscripts(database, never);
    done.abort();
    await talking;
    expect(await entries()).toHaveLength(said);
    expect(await partitions()).toEqual(['run_events_0 FOR VALUES IN (0)', 'run_events_1 FOR VALUES IN (1)']);
    expect((await begun()).part).toBe(1);
    expect(await run(`select from pg_constraint where conname = 'run_events_part'`)).toEqual([]);
  });

  it('are taken up where a killed process left them, whatever it had done', async () => {
    await asBefore();
    const { id } = await begun();
    await say({ id }, 1);
    await aDayLater();
    const step = async () => transaction(database, async (tx) => partitionTranscriptStep(tx));
    const killed = async () =>
      transaction(database, async (tx) => {
        await partitionTranscriptStep(tx);
        throw new Error('killed');
      });
    for (const more of [true, true, false]) {
      await expect(killed()).rejects.toThrow('killed');
      expect(await step()).toBe(more);
      expect(await entries()).toEqual([`${id} 1`]);
    }
    expect(await partitions()).toHaveLength(2);
    expect(await step()).toBe(false);
  });

  it('are left alone by a second process', async () => {
    await asBefore();
    await aDayLater();
    await transaction(database, async (tx) => {
      expect(await partitionTranscriptStep(tx)).toBe(true);
      expect(await transaction(database, async (other) => partitionTranscriptStep(other))).toBe(false);
    });
  });
});

describe('an entry is looked for', () => {
  it('in the one partition of its run, by the key', async () => {
    const { id } = await begun();
    await run(`insert into run_events (run_id, seq, kind, payload, part) values ($1, 1, 'output', '{}', 1)`, [
      id,
    ]);
    const { rows } = await transaction(database, async (tx) => {
      await tx.execute(sql`set local enable_seqscan = off`);
      return tx.execute<{ 'QUERY PLAN': string }>(sql`explain (analyze, costs off, timing off)
        select * from run_events where run_id = ${id}
          and part = (select transcript_part from heartbeat_runs where id = ${id}) order by seq`);
    });
    const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
    expect(plan).toMatch(/run_events_1_pkey .*actual/);
    expect(plan).toMatch(/on run_events_0 .*never executed/);
  });
});
