import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { transaction } from '@acp/db';
import { conflict, newId, notFound, rateLimited, said } from '@acp/kernel';
import { cloneDatabase, waitFor } from '@acp/testkit';
import type { TestDatabase } from '@acp/testkit';
import { DrizzleQueryError, sql } from 'drizzle-orm';
import { Type } from 'typebox';
import { callRow } from './call-command.ts';
import { deleteOldCommands, LeaseLost, migrateQueue, openQueue, refuseLeased } from './index.ts';
import type { CommandContext, CommandHandlers, Queue } from './index.ts';

const row = { payload: Type.Any(), result: Type.Any(), deadline_sec: 5, taken_by: 'any', doc: '' } as const;
const table = {
  echo: row,
  nothing: row,
  refuse: row,
  later: row,
  break: row,
  query: row,
  hang: row,
  hold: { ...row, deadline_sec: 20 },
  typed: {
    ...row,
    payload: Type.Object({ n: Type.Integer() }),
    result: Type.Object({ sum: Type.Integer() }),
  },
  leased: { ...row, taken_by: ({ plugin }: { plugin: string }) => `plugin ${plugin}` },
} as const;
type Name = keyof typeof table;

/** Stores bodies over 64 KB, in memory. */
const stored = new Map<string, string>();
const bodies = {
  put: async (text: string) => {
    const key = newId();
    stored.set(key, text);
    return Promise.resolve(key);
  },
  get: async (key: string) => Promise.resolve(stored.get(key)),
};
/** Let those commands end that are held. */
const held: (() => void)[] = [];
let leases: string[] = [];
let moves = 0;
let hanging = true;
/** Handlers that were told that nobody waits for them any more. */
let told = 0;

let test: TestDatabase;
let queue: Queue;
let served: CommandContext[] = [];

beforeAll(async () => {
  test = await cloneDatabase('commands');
  await migrateQueue(test.url);
  await test.notifier.sequenceNow();
  queue = await openQueue({ database: test.database, role: 'consumer', listener: test.listener });
  queue.serveTable(table, { handlers, bodies, leases: () => leases });
});

const handlers: CommandHandlers<typeof table> = {
  echo: async (payload, context) => {
    served.push(context);
    return { payload, actor: context.actor };
  },
  nothing: async () => undefined,
  refuse: async () => {
    throw conflict(said`plugin ${'p'} is banned`, { plugin: 'p' });
  },
  later: async () => {
    throw rateLimited('slow down', 7);
  },
  break: async () => {
    throw new Error('secret detail');
  },
  query: async (code: string) => {
    throw new DrizzleQueryError('select 1', [], Object.assign(new Error('it ends'), { code }));
  },
  // Its caller's time is over before it answers.
  hang: async (_, { signal }) => {
    await waitFor(() => signal.aborted);
    told += 1;
    await new Promise<void>((done) => held.push(done));
  },
  hold: async (payload) => {
    await new Promise<void>((done) => held.push(done));
    return payload;
  },
  // Returns a wrong type for numbers below 0.
  typed: async ({ n }) => Promise.resolve(n < 0 ? ({ total: n } as never) : { sum: n + 1 }),
  leased: async ({ plugin }: { plugin: string }, { signal }) => {
    if (plugin === 'that moves' && (moves += 1) === 1) throw new LeaseLost();
    if (plugin === 'that hangs') await waitFor(() => !hanging || signal.aborted);
    return `done for ${plugin}`;
  },
};

afterAll(async () => {
  await queue.stop({ timeout_ms: 2000 });
});

const options = { actor: { id: 'a' }, bodies };
const call = async (name: Name, payload: unknown = {}, timeoutMs = 5000) =>
  callRow(test.database, test.listener, { name, row: table[name] }, payload, {
    ...options,
    timeout_ms: timeoutMs,
  });

describe('a command', () => {
  it('is answered with what its handler gives back', async () => {
    served = [];
    expect(await call('echo', { n: 1 })).toEqual({ payload: { n: 1 }, actor: { id: 'a' } });
    expect(await call('nothing')).toBeNull();
    expect(served).toHaveLength(1);
  });

  it('is not executed once its caller gave up, though it could not be listened for until then', async () => {
    served = [];
    const deaf = { ...test.listener, ready: async () => new Promise<void>(() => {}) };
    const target = { name: 'echo', row: table.echo };
    const answer = callRow(test.database, deaf, target, { n: 2 }, { ...options, timeout_ms: 200 });
    await expect(answer).rejects.toMatchObject({ kind: 'unavailable' });
    // An earlier one would have been executed by the time a later one has been.
    await call('typed', { n: 1 });
    const { rows } = await test.database.db.execute(sql`select from commands where payload->>'n' = '2'`);
    expect(rows).toHaveLength(0);
    expect(served).toHaveLength(0);
  });

  it('may not be started after its caller gives up, however late it was written', async () => {
    const late = async () => {
      // By now it is settled when the caller gives up.
      const begun = performance.now();
      await waitFor(() => performance.now() - begun > 400);
    };
    const slow = { ...test.listener, ready: late };
    const target = { name: 'echo', row: table.echo };
    await callRow(test.database, slow, target, { n: 3 }, { ...options, timeout_ms: 5000 });
    const { rows } = await test.database.db.execute<{ left_ms: number }>(sql`
      select (extract(epoch from deadline - created_at) * 1000)::float8 as left_ms from commands where payload->>'n' = '3'`);
    expect(rows[0]!.left_ms).toBeLessThanOrEqual(4600);
  });

  it('called 50 times at once is answered 50 times', async () => {
    const answers = await Promise.all(Array.from({ length: 50 }, async (_, n) => call('echo', n)));
    expect(answers).toEqual(Array.from({ length: 50 }, (_, n) => ({ payload: n, actor: { id: 'a' } })));
  });

  it('whose handler throws a service error throws the same to the caller', async () => {
    await expect(call('refuse')).rejects.toMatchObject({
      kind: 'conflict',
      message: 'plugin p is banned',
      // Pages say it in the reader's language.
      said: { text: 'plugin {0} is banned', values: ['p'] },
      extra: { plugin: 'p' },
    });
    await expect(call('later')).rejects.toMatchObject({ kind: 'rate_limited', retry_after_sec: 7 });
  });

  it('whose handler breaks fails without telling the caller why', async () => {
    await expect(call('break')).rejects.toThrow(/^the command failed$/);
    await expect(
      callRow(test.database, test.listener, { name: 'unknown', row }, {}, options),
    ).rejects.toThrow(/^the command failed$/);
    const { rows } = await test.database.db.execute(sql`select error from commands where name = 'break'`);
    expect(JSON.stringify(rows)).not.toContain('secret detail');
  });

  it('whose database goes away is unavailable for a while; one whose query is wrong has failed', async () => {
    await expect(call('query', '57P01')).rejects.toMatchObject({
      kind: 'unavailable',
      message: 'database unavailable',
      retry_after_sec: 2,
    });
    await expect(call('query', '42703')).rejects.toThrow('the command failed');
  });

  it('is refused with a payload that its row does not take, and fails with such a result', async () => {
    expect(await call('typed', { n: 1 })).toEqual({ sum: 2 });
    await expect(call('typed', { n: 'one' })).rejects.toMatchObject({ kind: 'invalid' });
    await expect(call('typed', { n: -1 })).rejects.toThrow(/^the command failed$/);
    const other = { ...table.typed, result: Type.Object({ total: Type.Integer() }) };
    await expect(
      callRow(test.database, test.listener, { name: 'typed', row: other }, { n: 1 }, options),
    ).rejects.toThrow('a result that does not match its schema');
  });

  it('passes bodies over 64 KB by the storage, and is refused them where there is none', async () => {
    const text = 'é'.repeat(40_000);
    expect(await call('echo', { text })).toMatchObject({ payload: { text } });
    expect(stored.size).toBe(2);
    const { rows } = await test.database.db.execute<{ most: number }>(
      sql`select max(pg_column_size(payload) + coalesce(pg_column_size(result), 0)) as most from commands`,
    );
    expect(rows[0]!.most).toBeLessThan(1000);
    const without = { actor: null };
    await expect(
      callRow(test.database, test.listener, { name: 'echo', row }, { text }, without),
    ).rejects.toMatchObject({ kind: 'too_large' });
  });

  it('of a company that has eight at work waits for one of them, and another company’s for none', async () => {
    const [slow, other] = [newId(), newId()];
    const of = async (company_id: string, name: Name, payload: unknown, timeout_ms = 5000) => {
      const command = { name, row: table[name] };
      return callRow(test.database, test.listener, command, payload, { ...options, company_id, timeout_ms });
    };
    const all = Array.from({ length: 40 }, async (_, n) => of(slow, 'hold', n, 20_000));
    await waitFor(() => held.length === 8);
    expect(await of(other, 'echo', 'meanwhile')).toMatchObject({ payload: 'meanwhile' });
    expect(held).toHaveLength(8);
    const answers = Promise.all(all);
    let [released, most] = [0, 0];
    for (; released < 40; released += 1) {
      await waitFor(() => held.length > 0);
      most = Math.max(most, held.length);
      held.shift()!();
    }
    expect(await answers).toEqual(Array.from({ length: 40 }, (_, n) => n));
    expect(most).toBe(8);
  });

  it('for the holder of a lease waits for it, and is taken by no other', async () => {
    leases = ['plugin a'];
    expect(await call('leased', { plugin: 'a' })).toBe('done for a');
    await expect(call('leased', { plugin: 'b' }, 300)).rejects.toMatchObject({ kind: 'unavailable' });
    const waiting = call('leased', { plugin: 'c' });
    await waitFor(async () => {
      const { rows } = await test.database.db.execute(sql`select 1 from commands where lease = 'plugin c'`);
      return rows.length === 1;
    });
    leases = ['plugin b', 'plugin c'];
    queue.lookForCommands();
    expect(await waiting).toBe('done for c');
    // No one is waiting for it any more.
    await waitFor(async () => {
      const { rows } = await test.database.db.execute(
        sql`select 1 from commands where lease = 'plugin b' and status = 'expired'`,
      );
      return rows.length === 1;
    });
  });

  it('for a holder that hangs holds up nobody else’s', async () => {
    leases = ['plugin that hangs', 'plugin d'];
    const hung = Array.from({ length: 100 }, async () => call('leased', { plugin: 'that hangs' }, 60_000));
    const ended = Promise.all(hung);
    await waitFor(async () => {
      const { rows } = await test.database.db.execute(sql`
        select 1 from commands where lease = 'plugin that hangs' having count(*) = 100 and count(claimed_by) >= 16`);
      return rows.length === 1;
    });
    expect(await call('leased', { plugin: 'd' }, 60_000)).toBe('done for d');
    hanging = false;
    expect(new Set(await ended)).toEqual(new Set(['done for that hangs']));
  });

  it('for a lease that nobody will hold again is refused at once, and others wait on', async () => {
    const [gone, other] = [call('leased', { plugin: 'gone' }), call('leased', { plugin: 'other' })];
    gone.catch(() => undefined);
    await waitFor(async () => {
      const { rows } = await test.database.db.execute(
        sql`select from commands where lease in ('plugin gone', 'plugin other') and status = 'queued'`,
      );
      return rows.length === 2;
    });
    await transaction(test.database, async (tx) => refuseLeased(tx, 'plugin gone', notFound()));
    await expect(gone).rejects.toMatchObject({ kind: 'not_found' });
    leases = ['plugin other'];
    queue.lookForCommands();
    expect(await other).toBe('done for other');
  });

  it('whose lease was lost before anything was done goes to the next holder', async () => {
    leases = ['plugin that moves'];
    expect(await call('leased', { plugin: 'that moves' })).toBe('done for that moves');
    expect(moves).toBe(2);
  });

  it('called with many others shares its statements with them, and the refusal of its body with nobody', async () => {
    leases = Array.from({ length: 16 }, (_, n) => `plugin ${n}`);
    const ends = await Promise.allSettled(
      // One of them has a body that no database accepts.
      Array.from({ length: 64 }, async (_, n) =>
        call('leased', n === 7 ? { plugin: '7', said: '\u0000' } : { plugin: `${n % 16}` }),
      ),
    );
    expect(ends.filter(({ status }) => status === 'rejected')).toHaveLength(1);
    expect(ends[7]).toMatchObject({ status: 'rejected', reason: { kind: 'invalid' } });
    const before = test.database.statements();
    await Promise.all(Array.from({ length: 64 }, async (_, n) => call('leased', { plugin: `${n % 16}` })));
    // Every step of a call at least once, for several calls together rather than once per call.
    expect(test.database.statements() - before).toBeLessThan(32);
  });

  it('is answered also where word of it, or of its end, is lost', async () => {
    leases = ['plugin e'];
    const deaf = { ...test.listener, ready: async () => undefined, on: () => () => undefined };
    const mute = { ...test.database, notifier: undefined };
    const named = { name: 'leased', row: table.leased };
    expect(await callRow(mute, deaf, named, { plugin: 'e' }, { ...options, timeout_ms: 10_000 })).toBe(
      'done for e',
    );
  });

  it('without a handler keeps its scheduler from starting', () => {
    const { echo } = handlers;
    expect(() => queue.serveTable(table, { handlers: { echo } as unknown as typeof handlers })).toThrow(
      'commands and handlers disagree',
    );
  });

  it('that is not answered in time is unavailable, and its handler is told', async () => {
    const message = 'no scheduler answered in time';
    await expect(call('hang', {}, 300)).rejects.toMatchObject({ kind: 'unavailable', message });
    await waitFor(() => told === 1);
    for (const end of held.splice(0)) end();
  });

  it('whose deadline is over is not started any more', async () => {
    served = [];
    const id = newId();
    await test.database.db.execute(sql`
      insert into commands (id, name, actor, payload, status, deadline)
      values (${id}, 'echo', '{}', '{}', 'queued', now() - interval '1 s')`);
    await test.database.db.execute(sql`
      insert into pgboss.job (name, data, start_after, keep_until, retry_limit, expire_seconds, deletion_seconds, policy)
      select name, ${JSON.stringify({ command_id: id })}::jsonb, now(), now() + interval '1 day', retry_limit, expire_seconds,
        deletion_seconds, policy from pgboss.queue where name = 'run-command'`);
    queue.kick('run-command');
    await waitFor(async () => {
      const { rows } = await test.database.db.execute(
        sql`select 1 from commands where id = ${id} and status = 'expired'`,
      );
      return rows.length === 1;
    });
    expect(served).toEqual([]);
  });

  it('is forgotten after an hour', async () => {
    await test.database.db.execute(
      sql`update commands set created_at = now() - interval '61 min' where name = 'nothing'`,
    );
    expect(await deleteOldCommands(test.database.db)).toBe(1);
    expect(await deleteOldCommands(test.database.db)).toBe(0);
  });
});
