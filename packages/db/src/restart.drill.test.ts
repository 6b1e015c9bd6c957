import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startEmbeddedPostgres } from '@acp/embedded-postgres';
import { freePort, signalProcessesIn, testLogger, waitFor } from '@acp/testkit';
import { sql } from 'drizzle-orm';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { join } from 'node:path';
import { Client } from 'pg';
import {
  closeConnection,
  createListener,
  createNotifier,
  loneWrite,
  openDatabase,
  takeTime,
  transaction,
  watchForSilence,
} from './index.ts';
import type { Database, Tx } from './index.ts';

// A server of its own: tests running next to it must not lose theirs.
const logger = testLogger();
let folder: string;
let server: Awaited<ReturnType<typeof startEmbeddedPostgres>>;
let database: Database;
let port: number;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'acp-restart-'));
  port = await freePort();
  server = await startEmbeddedPostgres({ data_dir: folder, port, logger });
  database = openDatabase({ url: server.url, max: 4, application_name: 'test', connect_timeout_ms: 5000 });
  await database.db.execute(sql`create table counted (n int)`);
});

afterAll(async () => {
  await database.close();
  await server.stop();
  await rm(folder, { recursive: true, force: true });
});

async function restart(whileDown: () => Promise<void>): Promise<void> {
  await server.stop();
  try {
    await whileDown();
  } finally {
    server = await startEmbeddedPostgres({ data_dir: folder, port, logger });
  }
}

/** Forwards connections to the server of `to` and counts them. While frozen, it accepts more and forwards nothing. */
async function startRelay(to: string) {
  const target = new URL(to);
  const open = new Set<Socket>();
  let attempts = 0;
  let frozen = false;
  const relay = createServer((socket) => {
    attempts += 1;
    if (frozen) {
      open.add(socket.on('error', () => undefined).pause());
      return;
    }
    const upstream = connect(Number(target.port), target.hostname);
    for (const [from, into] of [
      [socket, upstream],
      [upstream, socket],
    ] as const) {
      open.add(from);
      from.on('error', () => into.destroy()).on('close', () => into.destroy());
      from.pipe(into);
    }
  });
  await new Promise<void>((resolve) => relay.listen(0, target.hostname, resolve));
  const url = new URL(to);
  url.port = String((relay.address() as AddressInfo).port);
  return {
    url: url.href,
    attempts: () => attempts,
    freeze: (freeze: boolean) => {
      frozen = freeze;
      for (const socket of open) {
        if (freeze) socket.pause();
        else socket.resume();
      }
    },
    close: async () => {
      for (const socket of open) socket.destroy();
      await new Promise((resolve) => relay.close(resolve));
    },
  };
}

const ask = async (tx: Tx) => tx.execute<{ n: number }>(sql`select 1 as n`);

const read = async (n: number) => {
  const { rows } = await database.db.execute<{ n: number }>(sql`select ${n}::int as n`);
  return rows[0]?.n;
};

describe('a restart of PostgreSQL', () => {
  it('is not noticed by reads, which wait for it', async () => {
    await Promise.all([read(1), read(2), read(3), read(4)]);
    let reads: Promise<(number | undefined)[]> | undefined;
    await restart(async () => {
      reads = Promise.all([5, 6, 7, 8, 9].map(read));
    });
    expect(await reads).toEqual([5, 6, 7, 8, 9]);
    expect(await read(10)).toBe(10);
  });

  it('fails a transaction it interrupts as unavailable, and not the one after', async () => {
    let down: Promise<void> = Promise.resolve();
    const interrupted = transaction(database, async (tx) => {
      await tx.execute(sql`insert into counted values (1)`);
      down = restart(async () => undefined);
      await down;
      await tx.execute(sql`insert into counted values (2)`);
    });
    await expect(interrupted).rejects.toMatchObject({ kind: 'unavailable' });
    await transaction(database, async (tx) => tx.execute(sql`insert into counted values (3)`));
    const { rows } = await database.db.execute(sql`select n from counted`);
    expect(rows).toEqual([{ n: 3 }]);
  });

  it('that takes too long is unavailable to those who come meanwhile', async () => {
    const relay = await startRelay(server.url);
    const impatient = openDatabase({
      url: relay.url,
      max: 5,
      application_name: 'test',
      connect_timeout_ms: 4000,
    });
    const held = await Promise.all(Array.from({ length: 5 }, async () => impatient.pool.connect()));
    for (const client of held) client.release();
    expect(relay.attempts()).toBe(5);
    await restart(async () => {
      const failing = transaction(impatient, ask);
      await expect(failing).rejects.toMatchObject({ kind: 'unavailable', message: 'database unavailable' });
      // A lone read as well. It may be sent again once per broken connection, but the patience of four seconds, with an attempt
      // every 100 ms, is spent only once.
      const before = relay.attempts();
      const lag = monitorEventLoopDelay({ resolution: 10 });
      lag.enable();
      await expect(impatient.db.execute(sql`select 1`)).rejects.toThrow('Failed query');
      lag.disable();
      // Only a process that was given no processor for a while begins once more.
      const stoodStill = lag.max > 50e6;
      expect(relay.attempts() - before).toBeLessThanOrEqual(stoodStill ? 82 : 41);
    });
    expect((await transaction(impatient, ask)).rows).toEqual([{ n: 1 }]);
    await impatient.close();
    await relay.close();
  });

  it('is told to listeners, who hear again what is signalled after it', async () => {
    const listener = createListener({ url: server.url });
    const notifier = createNotifier({ url: server.url, poll_ms: 0 });
    const heard: string[] = [];
    let reconnected = 0;
    listener.on('control', (items) => {
      heard.push(...items);
    });
    listener.onReconnect(() => {
      reconnected += 1;
    });
    await listener.ready();
    notifier.push('control', ['before']);
    await waitFor(() => heard.includes('before'));
    await restart(async () => undefined);
    await waitFor(() => reconnected === 1);
    notifier.push('control', ['after']);
    await waitFor(() => heard.includes('after'));
    expect(heard).toEqual(['before', 'after']);
    await notifier.close();
    await listener.close();
  });
});

/** A pooler whose server is away for a while: it accepts connections, rejects queries, and later forwards them. */
async function startPooler(to: string, awayMs: number, says = 'server login has been failing') {
  const target = new URL(to);
  const backAt = performance.now() + awayMs;
  let refused = 0;
  const message = (type: string, body: Buffer) => {
    const head = Buffer.alloc(5, type);
    head.writeInt32BE(body.length + 4, 1);
    return Buffer.concat([head, body]);
  };
  const welcome = Buffer.concat([message('R', Buffer.alloc(4)), message('Z', Buffer.from('I'))]);
  const away = message('E', Buffer.from(`SFATAL\0C08P01\0M${says}\0\0`));
  const pooler = createServer((socket) => {
    socket.on('error', () => undefined);
    if (performance.now() > backAt) {
      const upstream = connect(Number(target.port), target.hostname);
      upstream.on('error', () => socket.destroy()).on('close', () => socket.destroy());
      socket.on('close', () => upstream.destroy());
      socket.pipe(upstream).pipe(socket);
      return;
    }
    socket.once('data', () => {
      socket.write(welcome);
      socket.once('data', () => {
        refused += 1;
        socket.end(away);
      });
    });
  });
  await new Promise<void>((resolve) => pooler.listen(0, target.hostname, resolve));
  const url = new URL(to);
  url.port = String((pooler.address() as AddressInfo).port);
  return {
    url: url.href,
    refused: () => refused,
    close: async () => new Promise((resolve) => pooler.close(resolve)),
  };
}

describe('a pooler whose server is away', () => {
  const openAt = (url: string, connect_timeout_ms: number) =>
    openDatabase({ url, max: 3, application_name: 'test', connect_timeout_ms });

  it('is waited for by reads and by what a transaction begins with', async () => {
    const pooler = await startPooler(server.url, 700);
    const behind = openAt(pooler.url, 5000);
    const reading = ask(behind.db);
    expect((await transaction(behind, ask)).rows).toEqual([{ n: 1 }]);
    expect((await reading).rows).toEqual([{ n: 1 }]);
    // It does not hammer the pooler: four attempts at once each, then ten a second.
    expect(pooler.refused()).toBeLessThan(30);
    await behind.close();
    await pooler.close();
  });

  it('is not waited for beyond the patience', async () => {
    const pooler = await startPooler(server.url, 60_000);
    const behind = openAt(pooler.url, 500);
    await expect(transaction(behind, ask)).rejects.toMatchObject({ kind: 'unavailable' });
    await expect(behind.db.execute(sql`select 1`)).rejects.toThrow('Failed query');
    await behind.close();
    await pooler.close();
  });
});

describe('a pooler that has waited for its server itself', () => {
  it.each([
    ['reads', ask],
    ['single writes', async (_, behind) => loneWrite(behind, sql`insert into counted values (9)`)],
    ['transactions', async (_, behind) => transaction(behind, ask)],
  ] as const satisfies [string, (tx: Tx, behind: Database) => Promise<unknown>][])(
    'is not asked again by %s',
    async (_, act) => {
      const pooler = await startPooler(server.url, 60_000, 'query_wait_timeout');
      const behind = openDatabase({
        url: pooler.url,
        max: 3,
        application_name: 'test',
        connect_timeout_ms: 5000,
      });
      await expect(act(behind.db, behind)).rejects.toThrow(/unavailable|Failed query/);
      expect(pooler.refused()).toBe(1);
      await behind.close();
      await pooler.close();
    },
  );
});

describe('a server that is connected and does not answer', () => {
  const ANSWER_MS = 1500;
  const quickly = { max: 3, application_name: 'test', connect_timeout_ms: 3000, answer_within_ms: ANSWER_MS };

  it('is given up in time by reads, transactions and commits; then all connections are new', async () => {
    const relay = await startRelay(server.url);
    const frozen = openDatabase({ ...quickly, url: relay.url });
    const all = await Promise.all([1, 2, 3].map(async () => frozen.pool.connect()));
    for (const each of all) each.release();
    const attempts = relay.attempts();
    const startedAt = performance.now();
    let others: Promise<PromiseSettledResult<unknown>[]> = Promise.resolve([]);
    const committing = transaction(frozen, async (tx) => {
      await ask(tx);
      relay.freeze(true);
      others = Promise.allSettled([ask(frozen.db), transaction(frozen, ask)]);
    });
    await expect(committing).rejects.toMatchObject({ kind: 'unavailable', message: 'database unavailable' });
    expect((await others).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    const took = performance.now() - startedAt;
    // The default is more than half a minute.
    expect(took).toBeGreaterThan(ANSWER_MS - 600);
    expect(took).toBeLessThan(20_000);
    // None was sent again, and nobody waits for a connection that was open then.
    expect(relay.attempts()).toBe(attempts);
    await expect(transaction(frozen, ask)).rejects.toMatchObject({ kind: 'unavailable' });
    expect(relay.attempts()).toBeGreaterThan(attempts);
    expect(frozen.poolStats()).toMatchObject({ total: 0, waiting: 0 });
    relay.freeze(false);
    // On a busy machine, connecting may take longer than this pool's short limit.
    const back = async () => transaction(frozen, ask).catch(() => undefined);
    expect((await waitFor(back)).rows).toEqual([{ n: 1 }]);
    await frozen.close();
    await relay.close();
  });

  it('is waited for by a statement that may take its time', async () => {
    const patient = openDatabase({ ...quickly, url: server.url });
    const slowly = async (tx: Tx) => tx.execute<{ n: number }>(sql`select 1 as n from pg_sleep(2)`);
    const taking = transaction(patient, async (tx) => {
      await takeTime(tx);
      return slowly(tx);
    });
    const giving = transaction(patient, slowly);
    await expect(giving).rejects.toMatchObject({ kind: 'unavailable' });
    expect((await taking).rows).toEqual([{ n: 1 }]);
    await patient.close();
  });

  it('is not waited for by such a statement either once the server is frozen, or the answer was lost', async () => {
    const patient = openDatabase({ ...quickly, url: server.url });
    const taking = transaction(patient, async (tx) => {
      await takeTime(tx);
      signalProcessesIn(folder, 'SIGSTOP');
      return ask(tx);
    });
    try {
      await expect(taking).rejects.toMatchObject({ kind: 'unavailable' });
    } finally {
      signalProcessesIn(folder, 'SIGCONT');
    }
    expect((await transaction(patient, ask)).rows).toEqual([{ n: 1 }]);
    await patient.close();

    const relay = await startRelay(server.url);
    const client = new Client({ connectionString: relay.url });
    client.on('error', () => undefined);
    await client.connect();
    watchForSilence(client, server.url, 300);
    const pooled = openDatabase({ ...quickly, url: relay.url });
    const opened: { connection: { stream: Socket } }[] = [];
    pooled.pool.on('connect', (each) => opened.push(each as never));
    await ask(pooled.db);
    relay.freeze(true);
    // Nor is its farewell, for which the process would have to stay.
    await pooled.close();
    await waitFor(() => opened.every(({ connection }) => connection.stream.destroyed));
    await expect(client.query('select 1')).rejects.toThrow('is connected and does not answer');
    await closeConnection(client);
    await relay.close();
  });
});
