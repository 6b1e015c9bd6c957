import { beforeEach, describe, expect, it } from '@jest/globals';
import { type Database, transaction } from '@acp/db';
import { cloneDatabase, createAgent, createCompany } from '@acp/testkit';
import { beginTranscriptPart, deleteRunsBefore, dropExpiredTranscripts, listRunEvents } from './index.ts';

const DAYS = 12;
let database: Database;
let agent: { id: string; company_id: string };
beforeEach(async () => {
  ({ database } = await cloneDatabase('transcripts'));
  agent = await createAgent(database.db, await createCompany(database.db));
  // Like an instance whose first transcripts have been dropped.
  await run('drop table run_events_0; delete from transcript_parts where part = 0');
});

const run = async <T>(text: string, values: unknown[] = []): Promise<T[]> =>
  (await database.pool.query(text, values)).rows as T[];
const later = async (days: number) =>
  run(`update transcript_parts set began_at = began_at - interval '${days} days';
    update heartbeat_runs set finished_at = finished_at - interval '${days} days'`);
const parts = async () =>
  (
    await run<{ name: string }>(
      `select inhrelid::regclass::text as name from pg_inherits where inhparent = 'run_events'::regclass order by 1`,
    )
  ).map(({ name }) => name.replace('run_events_', ''));
const begin = async () => transaction(database, async (tx) => beginTranscriptPart(tx, DAYS));
const drop = async () => transaction(database, async (tx) => dropExpiredTranscripts(tx, DAYS));
const forget = async () => deleteRunsBefore(database.db, DAYS, 10);

/** An ended run with a transcript entry. */
async function ended(): Promise<string> {
  const [row] = await run<{ id: string }>(
    `with r as (
      insert into heartbeat_runs (company_id, agent_id, wake_reason, adapter_type, status, finished_at)
      values ($1, $2, 'manual', 'llm', 'succeeded', now()) returning id, transcript_part
    ), e as (
      insert into run_events (run_id, seq, kind, payload, part) select id, 1, 'output', '{}', transcript_part from r
    ) select id from r`,
    [agent.company_id, agent.id],
  );
  return row!.id;
}

const read = async (id: string) => listRunEvents(database.db, { kind: 'system', name: 'tests' }, id);

describe('a part of the transcripts', () => {
  it('is begun once a twelfth of the days has passed, and runs that began before go on in theirs', async () => {
    const first = await ended();
    expect(await begin()).toBe(false);
    await later(2);
    expect(await begin()).toBe(true);
    expect(await begin()).toBe(false);
    const second = await ended();
    expect(await parts()).toEqual(['1', '2']);
    const places = await run('select run_id, tableoid::regclass::text as place from run_events order by 2');
    expect(places).toEqual([
      { run_id: first, place: 'run_events_1' },
      { run_id: second, place: 'run_events_2' },
    ]);
    expect([await read(first), await read(second)]).toMatchObject([[{ seq: 1 }], [{ seq: 1 }]]);
  });

  it('is begun by one of two that want to', async () => {
    await later(2);
    const both = await Promise.allSettled([begin(), begin()]);
    expect(both.filter((each) => each.status === 'fulfilled' && each.value)).toHaveLength(1);
    expect(await parts()).toEqual(['1', '2']);
  });

  it('goes as a whole when all of its runs ended long ago, and they after it', async () => {
    const old = await ended();
    await later(2);
    await begin();
    const young = await ended();
    await later(10);
    // The run is old enough, but its partition is not.
    expect([await drop(), await forget()]).toEqual([false, 0]);
    await later(3);
    expect([await drop(), await drop()]).toEqual([true, false]);
    expect(await parts()).toEqual(['2']);
    expect([await read(old), (await read(young)).length]).toEqual([[], 1]);
    expect(await forget()).toBe(1);
    expect(await run('select id from heartbeat_runs')).toEqual([{ id: young }]);
  });

  it('stays while a run of it has not ended, but those that ended go before long', async () => {
    const [old, slow] = [await ended(), await ended()];
    await run(`update heartbeat_runs set finished_at = null, status = 'running' where id = $1`, [slow]);
    await later(2);
    await begin();
    await later(14);
    expect(await drop()).toBe(false);
    expect(await forget()).toBe(1);
    expect([await read(old), (await read(slow)).length]).toEqual([[], 1]);
  });

  it('makes nobody wait for who reads it for long', async () => {
    await ended();
    await later(2);
    await begin();
    await later(20);
    await transaction(database, async (tx) => {
      await listRunEvents(tx, { kind: 'system', name: 'tests' }, agent.id);
      await expect(drop()).rejects.toMatchObject({ kind: 'unavailable' });
    });
    expect(await drop()).toBe(true);
  });
});
