/** (i) Latency from the model's first word to the reader of a chat, across two tiers, while many replies stream. */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { cloneDatabase, createAgent, forkFakeModel, type TestDatabase } from '@acp/testkit';
import { newApiKey, sha256Hex } from '@acp/kernel';
import { LONG } from './chat-model.ts';
import { forkModule } from './forked.ts';
import type { BenchOptions, Report } from './report.ts';
import { createScene } from './scene.ts';
import { startService, temporaryFolder } from './service.ts';
import { percentile } from './statistics.ts';

const STREAMS = 200;
/** A key may have at most fifty open streams. */
const KEYS = 8;
const RAMP_MS = 40;
const PROBE_MS = 150;

export async function benchChats(report: Report, options: BenchOptions): Promise<void> {
  report.section('(i) chats');
  const kit = await cloneDatabase('bench_chats');
  const model = await forkFakeModel({ script_module: path.join(import.meta.dirname, 'chat-model.ts') });
  const shared = {
    DATABASE_URL: kit.url,
    SERVICE_HOME: temporaryFolder(),
    SERVICE_DEFAULT_LLM_PROVIDER: 'family_compat',
    SERVICE_DEFAULT_LLM_MODEL: 'fake-model',
    SERVICE_DEFAULT_LLM_BASE_URL: model.url,
  };
  const probes = options.smoke ? 20 : 100;
  const { chats, keys } = await chatsOf(kit, STREAMS + 2 * probes);
  const web = await startService({ ...shared, SERVICE_ROLE: 'web' });
  const scheduler = await startService({
    ...shared,
    SERVICE_ROLE: 'scheduler',
    WORKER_POOL_SIZE: String(STREAMS + 50),
  });
  const [crowd, probing] = [await forkModule('chat-clients.ts'), await forkModule('chat-clients.ts')];
  const probe = async (from: number): Promise<number[]> => {
    const own = chats.slice(from, from + probes);
    probing.child.send({ url: web.url, keys, chats: own, body: 'Say hello', pause_ms: PROBE_MS });
    return latenciesOf(probing.child);
  };
  try {
    const alone = await probe(0);
    report.add(figureOf('first word of a reply, p50', alone, 50, 'nobody else streams'));
    crowd.child.send({ url: web.url, keys, chats: chats.slice(2 * probes), body: LONG, pause_ms: RAMP_MS });
    await latenciesOf(crowd.child);
    const among = await probe(probes);
    const conditions = `while ${STREAMS} replies stream, five pieces a second each; model, readers and database on this machine`;
    report.add(figureOf('first word of a reply among 200, p50', among, 50, conditions));
    report.add(figureOf('first word of a reply among 200, p95', among, 95, conditions));
  } finally {
    await Promise.all([crowd.stop(), probing.stop()]);
    await Promise.all([web.stop(), scheduler.stop()]);
    await model.close();
    await kit.database.close();
  }
}

function figureOf(name: string, latencies: readonly number[], rank: number, conditions: string) {
  const value = percentile([...latencies], rank);
  const about = `from the model to the reader, ${latencies.length} replies, ${conditions}`;
  return { name, value, unit: 'ms', aim: { at_most: 50 }, conditions: about };
}

async function latenciesOf(child: ChildProcess): Promise<number[]> {
  const [{ latencies, error }] = (await once(child, 'message')) as [{ latencies?: number[]; error?: string }];
  if (latencies === undefined) throw new Error(error);
  return latencies;
}

/** Chats open to the company, each with its own agent, and keys to chat with. */
async function chatsOf(kit: TestDatabase, count: number): Promise<{ chats: string[]; keys: string[] }> {
  const { company_id } = await createScene(kit, { agents: 1, issues: 0 });
  const { pool, db } = kit.database;
  const chats: string[] = [];
  for (let n = 0; n < count; n += 1) {
    const { id } = await createAgent(db, { id: company_id }, { name: `Talker ${n}` });
    const { rows } = await pool.query(
      'insert into chats (company_id, agent_id) values ($1, $2) returning id',
      [company_id, id],
    );
    chats.push(String(rows[0].id));
  }
  const keys = Array.from({ length: KEYS }, newApiKey);
  for (const key of keys)
    await pool.query(
      `insert into board_user_keys (company_id, role, label, key_hash, key_prefix) values ($1, 'admin', 'bench', $2, $3)`,
      [company_id, sha256Hex(key), key.slice(0, 8)],
    );
  return { chats, keys };
}
