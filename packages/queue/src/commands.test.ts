import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { conflict, newId, rateLimited } from '@acp/kernel';
import { cloneDatabase, waitFor } from '@acp/testkit';
import type { TestDatabase } from '@acp/testkit';
import { sql } from 'drizzle-orm';
import { callCommand, forgetCommands, migrateQueue, openQueue } from './index.ts';
import type { CommandContext, Queue } from './index.ts';

let test: TestDatabase;
let queue: Queue;
let served: CommandContext[] = [];

beforeAll(async () => {
  test = await cloneDatabase('commands');
  await migrateQueue(test.url);
  await test.notifier.sequenceNow();
  queue = await openQueue({ database: test.database, role: 'consumer', listener: test.listener });
  queue.serveCommands({
    handlers: {
      echo: async (payload, context) => {
        served.push(context);
        return { payload, actor: context.actor };
      },
      nothing: async () => undefined,
      refuse: async () => {
        throw conflict('plugin is banned', { plugin: 'p' });
      },
      later: async () => {
        throw rateLimited('slow down', 7);
      },
      break: async () => {
        throw new Error('secret detail');
      },
      hang: async (_, { signal }) => waitFor(() => signal.aborted, { timeout_ms: 5000 }),
    },
  });
});

afterAll(async () => {
  await queue.stop({ timeout_ms: 2000 });
});

const call = async (name: string, payload: unknown = {}, timeoutMs = 5000) =>
  callCommand(test.database, test.listener, name, payload, { actor: { id: 'a' }, timeout_ms: timeoutMs });

describe('a command', () => {
  it('is answered with what its handler gives back', async () => {
    served = [];
    expect(await call('echo', { n: 1 })).toEqual({ payload: { n: 1 }, actor: { id: 'a' } });
    expect(await call('nothing')).toBeNull();
    expect(served).toHaveLength(1);
  });

  it('called 50 times at once is answered 50 times', async () => {
    const answers = await Promise.all(Array.from({ length: 50 }, async (_, n) => call('echo', n)));
    expect(answers).toEqual(Array.from({ length: 50 }, (_, n) => ({ payload: n, actor: { id: 'a' } })));
  });

  it('whose handler throws a service error throws the same to the caller', async () => {
    await expect(call('refuse')).rejects.toMatchObject({
      kind: 'conflict',
      message: 'plugin is banned',
      extra: { plugin: 'p' },
    });
    await expect(call('later')).rejects.toMatchObject({ kind: 'rate_limited', retry_after_sec: 7 });
  });

  it('whose handler breaks fails without telling the caller why', async () => {
    await expect(call('break')).rejects.toThrow(/^the command failed$/);
    await expect(call('unknown')).rejects.toThrow(/^the command failed$/);
    const { rows } = await test.database.db.execute(sql`select error from commands where name = 'break'`);
    expect(JSON.stringify(rows)).not.toContain('secret detail');
  });

  it('that is not answered in time is unavailable, and its handler is told', async () => {
    const message = 'no scheduler answered in time';
    await expect(call('hang', {}, 300)).rejects.toMatchObject({ kind: 'unavailable', message });
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
    expect(await forgetCommands(test.database.db)).toBe(1);
    expect(await forgetCommands(test.database.db)).toBe(0);
  });
});
