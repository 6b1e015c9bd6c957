import { afterEach, describe, expect, it } from '@jest/globals';
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { findIssue, findRun, findWorkspace, invokeAgent, listRunEvents } from '@acp/core';
import { schema, transaction } from '@acp/db';
import { loadConfig } from '@acp/kernel';
import * as kit from '@acp/testkit';
import { eq } from 'drizzle-orm';
import { type RunningScheduler, startScheduler } from '../main.ts';

/** An agent's folder is never inspected without a sandbox. */
const withBubblewrap = await kit.needsBubblewrap(describe);

let folder: string;
let scheduler: RunningScheduler;
let db: kit.TestDatabase;

async function start(settings: Record<string, string> = {}): Promise<void> {
  db = await kit.cloneDatabase('unstorable');
  folder = await mkdtemp('/var/tmp/unstorable-');
  const script = path.join(folder, 'script.json');
  const calls = [
    { sh: 'echo one > one.txt', usage: { input: 1000, output: 100 } },
    { sh: 'echo two > two.txt' },
  ];
  await writeFile(script, JSON.stringify({ calls }));
  const config = loadConfig({
    DATABASE_URL: db.url,
    SERVICE_HOME: path.join(folder, 'home'),
    SERVICE_PUBLIC_URL: 'http://service.example',
    SERVICE_DRAIN_TIMEOUT_SEC: '0',
    ...settings,
    SERVICE_CLI_A_COMMAND: kit
      .fakeCliCommand('a', script)
      .map((word) => `"${word}"`)
      .join(' '),
  });
  await mkdir(path.join(folder, 'home'));
  scheduler = await startScheduler({ config, logger: kit.testLogger() });
}
afterEach(async () => {
  await scheduler.stop();
  await rm(folder, { recursive: true, force: true });
});

async function stage() {
  const tx = db.database.db;
  const company = await kit.createCompany(tx);
  const human = kit.actors.user(await kit.createUser(tx), { [company.id]: 'admin' });
  const agent = await kit.createAgent(tx, company, { name: 'Ada', adapter_type: 'cli_a_local' });
  const issue = await kit.createIssue(tx, company, { assignee_agent_id: agent.id });
  const complete = async () => {
    const { id } = await transaction(db.database, async (t) => {
      await t
        .update(schema.issues)
        .set({ stalled_runs: 0, status: 'todo' })
        .where(eq(schema.issues.id, issue.id));
      return invokeAgent(t, human, agent);
    });
    const run = await kit.waitFor(
      async () => {
        const found = (await findRun(tx, id))!;
        return ['succeeded', 'failed', 'cancelled'].includes(found.status) ? found : false;
      },
      { what: 'the end of the run' },
    );
    const log = await listRunEvents(tx, { kind: 'system', name: 'tests' }, id, { limit: 1000 });
    return { ...run, log: JSON.stringify(log) };
  };
  return { tx, issue, complete };
}

withBubblewrap('a run whose work can’t be stored', () => {
  it('keeps its outcome and its cost, and the next one stores all of it', async () => {
    await start();
    const { tx, issue, complete } = await stage();
    const storage = path.join(folder, 'home', 'storage');
    await rename(storage, `${storage}.away`);
    await writeFile(storage, 'a disk that is not mounted');
    const first = await complete();
    expect(first).toMatchObject({ status: 'succeeded', input_tokens: 1000, output_tokens: 100 });
    expect(first.log).toContain('what the run left in its workspace is not stored yet');
    await rm(storage);
    await rename(`${storage}.away`, storage);
    expect(await complete()).toMatchObject({ status: 'succeeded' });
    const workspace = await findWorkspace(tx, (await findIssue(tx, issue.id))!);
    expect(workspace).toMatchObject({ file_count: 2, error: null });
  });

  it('is not begun on a disk that is nearly full', async () => {
    await start({ SERVICE_WORKSPACE_MIN_FREE: '1000000GB' });
    const { complete } = await stage();
    expect(await complete()).toMatchObject({
      status: 'failed',
      error_category: 'config',
      error: 'the workspace: there is not enough free space on the disk for a workspace',
    });
  });
});
