import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Database, schema } from '@acp/db';
import { loadConfig, newId } from '@acp/kernel';
import { cloneDatabase, createAgent, createCompany, testLogger } from '@acp/testkit';
import { eq } from 'drizzle-orm';
import { sweepWorkFolders } from './work-folders.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'acp-work-folders-'));
const config = loadConfig({ SERVICE_HOME: folder });
const { heartbeat_runs, agent_runtime_states } = schema;
let database: Database;
beforeAll(async () => {
  ({ database } = await cloneDatabase('work_folders'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const sweep = async () =>
  sweepWorkFolders({ config, database, logger: testLogger() }, new AbortController().signal);

/** Creates an agent with a home; `lay` creates a working folder last written two days ago. */
async function setUp() {
  const company = await createCompany(database.db);
  const adapter_type = 'cli_a_local';
  const agent = await createAgent(database.db, company, { adapter_type });
  const home = path.join(folder, 'companies', company.id, 'agents', agent.id);
  const work = path.join(home, 'work');
  const lay = (name: string, { empty = false, days = 2 } = {}) => {
    mkdirSync(path.join(work, name), { recursive: true });
    if (!empty) writeFileSync(path.join(work, name, 'result.txt'), 'a week of it');
    const at = new Date(Date.now() - days * 86_400_000);
    utimesSync(path.join(work, name), at, at);
    return name;
  };
  const runOf = async (values: Partial<typeof heartbeat_runs.$inferInsert>) => {
    const base = { company_id: company.id, agent_id: agent.id, wake_reason: 'manual', adapter_type };
    const [row] = await database.db
      .insert(heartbeat_runs)
      .values({ ...base, ...values })
      .returning();
    return row!.id;
  };
  return { agent, home, work, lay, runOf, left: () => readdirSync(work).toSorted() };
}

describe('the sweep of working folders', () => {
  it('removes those of forgotten runs and empty ones of ended runs; keeps sessions, remembered runs and what agents made', async () => {
    const s = await setUp();
    const ended = { status: 'failed', finished_at: new Date() };
    const session = s.lay(newId());
    await database.db
      .update(agent_runtime_states)
      .set({ session_id: 'x', session_cwd: path.join(s.work, session, 'repository') })
      .where(eq(agent_runtime_states.agent_id, s.agent.id));
    const kept = [
      session,
      s.lay(await s.runOf(ended)),
      s.lay(await s.runOf({ status: 'queued' }), { empty: true }),
      s.lay(newId(), { days: 0 }),
      s.lay('notes'),
    ];
    s.lay(newId());
    s.lay(await s.runOf(ended), { empty: true });
    await sweep();
    expect(s.left()).toEqual(kept.toSorted());
  });

  it('leaves an agent alone that is at work, whose session may just have been cleared', async () => {
    const s = await setUp();
    const id = s.lay(newId());
    const run = await s.runOf({ status: 'running' });
    await sweep();
    expect(s.left()).toEqual([id]);
    await database.db
      .update(heartbeat_runs)
      .set({ status: 'failed', finished_at: new Date() })
      .where(eq(heartbeat_runs.id, run));
    await sweep();
    expect(s.left()).toEqual([]);
  });

  it('follows no link: neither of a home nor of its folder', async () => {
    const [one, two, victim] = [await setUp(), await setUp(), await setUp()];
    const kept = victim.lay(newId());
    // The victim is busy, so only another agent's link could remove anything from its home.
    await victim.runOf({ status: 'running' });
    one.lay(newId());
    rmSync(one.work, { recursive: true });
    symlinkSync(victim.work, one.work);
    two.lay(newId());
    renameSync(two.home, `${two.home}-before`);
    symlinkSync(victim.home, two.home);
    await sweep();
    expect(victim.left()).toEqual([kept]);
  });
});
