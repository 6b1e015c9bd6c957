/**
 * What agents' programs have no access to: each other's homes, stored sessions, the operator's variables.
 * @in-order the last two restart the scheduler with stricter settings
 */
import { chmod, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { findAgent, findRun, invokeAgent, runtimeState } from '@acp/core';
import { createListener, type Listener, transaction } from '@acp/db';
import { loadConfig } from '@acp/kernel';
import { callCommand } from '@acp/queue';
import * as kit from '@acp/testkit';
import { type RunningScheduler, startScheduler } from './main.ts';

const withBubblewrap = await kit.needsBubblewrap(describe);

let db: kit.TestDatabase;
let folder: string;
let listener: Listener;
let scheduler: RunningScheduler;
let env: Record<string, string>;

/** An engine that logs the arguments and variable names it gets; `create` also runs the test's script next to it. */
const engine = (at: string) => `#!/bin/sh
echo "$@" >> ${at}/journal
case "$1" in
  create) env | cut -d= -f1 >> ${at}/environment; [ -x ${at}/meanwhile ] && ${at}/meanwhile "$@" || true ;;
  start) cat > /dev/null; echo '{"summary":"Done."}' ;;
esac
`;

beforeAll(async () => {
  db = await kit.cloneDatabase('walls');
  void db.notifier;
  folder = await mkdtemp('/var/tmp/walls-test-');
  listener = createListener({ url: db.url, logger: kit.testLogger() });
  const script = path.join(folder, 'script.json');
  await writeFile(script, JSON.stringify({ calls: [{ texts: ['ok'] }] }));
  await writeFile(path.join(folder, 'engine'), engine(folder));
  await chmod(path.join(folder, 'engine'), 0o755);
  process.env.TEST_MODEL_API_KEY = 'operators-own-model-key-1234';
  env = {
    DATABASE_URL: db.url,
    SERVICE_HOME: path.join(folder, 'home'),
    SERVICE_CLI_A_COMMAND: kit
      .fakeCliCommand('a', script)
      .map((word) => `"${word}"`)
      .join(' '),
    SERVICE_CLI_B_COMMAND: kit
      .fakeCliCommand('b', script)
      .map((word) => `"${word}"`)
      .join(' '),
    SERVICE_CLI_ENV_PASSTHROUGH: 'TEST_MODEL_API_KEY',
    SERVICE_LOCAL_CLI: 'host',
    SERVICE_CONTAINER_CLI: path.join(folder, 'engine'),
    SERVICE_DRAIN_TIMEOUT_SEC: '0',
  };
  scheduler = await startScheduler({ config: loadConfig(env), logger: kit.testLogger() });
});
afterAll(async () => {
  delete process.env.TEST_MODEL_API_KEY;
  await scheduler.stop();
  await listener.close();
  await rm(folder, { recursive: true, force: true });
});

async function restart(changes: Record<string, string>): Promise<void> {
  await scheduler.stop();
  scheduler = await startScheduler({ config: loadConfig({ ...env, ...changes }), logger: kit.testLogger() });
}

async function scene(values: Parameters<typeof kit.createAgent>[2] = {}) {
  const tx = db.database.db;
  const company = await kit.createCompany(tx);
  const agent = await kit.createAgent(tx, company, { adapter_type: 'cli_a_local', ...values });
  await kit.createIssue(tx, company, { assignee_agent_id: agent.id });
  const homes = path.join(folder, 'home', 'companies', company.id);
  const complete = async () => {
    const { id } = await transaction(db.database, async (t) =>
      invokeAgent(t, kit.actors.board(company), agent),
    );
    return kit.waitFor(
      async () => {
        const run = await findRun(db.database.db, id);
        return run && ['succeeded', 'failed'].includes(run.status) ? run : false;
      },
      { what: 'the end of the run' },
    );
  };
  return { company, agent, homes, home: path.join(homes, 'agents', agent.id), complete };
}

describe('a test of an adapter', () => {
  it('leaves the stored session alone, and the folder with the work in it', async () => {
    const s = await scene();
    await s.complete();
    const state = async () => runtimeState(db.database.db, (await findAgent(db.database.db, s.agent.id))!);
    const { session_id, session_cwd } = await state();
    await writeFile(path.join(session_cwd!, 'work.txt'), 'a week of it');
    const tested = await callCommand(
      db.database,
      listener,
      'test-adapter',
      { agent_id: s.agent.id },
      { actor: null },
    );
    expect(tested).toMatchObject({ ok: true });
    expect(await readFile(path.join(session_cwd!, 'work.txt'), 'utf8')).toBe('a week of it');
    const [run, test] = await kit.fakeCliJournal(s.home);
    expect(test?.cwd).not.toBe(run?.cwd);
    expect(test?.args.join(' ')).not.toContain(session_id);
    expect(await state()).toMatchObject({ session_id, session_cwd });
  });
});

describe('a container', () => {
  const docker = { adapter_type: 'docker', adapter_config: { image: 'agent:1' } };

  it('gets none of the variables that the operator hands to CLIs', async () => {
    const s = await scene(docker);
    expect(await s.complete()).toMatchObject({ status: 'succeeded', error: null });
    const names = (await readFile(path.join(folder, 'environment'), 'utf8')).split('\n');
    expect(names).toContain('SERVICE_API_KEY');
    expect(names).not.toContain('TEST_MODEL_API_KEY');
  });

  it('is not started where the home was exchanged for a link while it was made', async () => {
    const s = await scene(docker);
    const victim = path.join(folder, 'victim');
    await mkdir(victim);
    await writeFile(
      path.join(folder, 'meanwhile'),
      `#!/bin/sh\nmv ${s.home} ${s.home}-own; ln -s ${victim} ${s.home}\n`,
    );
    await chmod(path.join(folder, 'meanwhile'), 0o755);
    const run = await s.complete();
    await rm(path.join(folder, 'meanwhile'));
    expect(run).toMatchObject({ status: 'failed', error_category: 'config' });
    expect(run.error).toContain('exchanged');
    const journal = await readFile(path.join(folder, 'journal'), 'utf8');
    expect(journal).toContain(`create --rm --interactive --name=service-run-${run.id}`);
    expect(journal).not.toContain(`start --attach --interactive service-run-${run.id}`);
  });
});

describe('a home', () => {
  it('that leads into another agent’s by now is refused when the run begins', async () => {
    const s = await scene();
    const other = await kit.createAgent(db.database.db, s.company, { adapter_type: 'cli_a_local' });
    const target = path.join(s.homes, 'agents', other.id);
    await mkdir(target, { recursive: true });
    await mkdir(path.dirname(s.home), { recursive: true });
    await symlink(target, s.home);
    const run = await s.complete();
    expect(run).toMatchObject({ status: 'failed', error_category: 'config' });
    expect(run.error).toContain('inside an agent’s home');
  });
});

withBubblewrap('a CLI on this machine', () => {
  it('is shut in unless the operator trusts its company: it works in its home and sees nothing beside', async () => {
    const s = await scene({ adapter_type: 'cli_b_local' });
    const trusted = await scene({ adapter_type: 'cli_b_local' });
    await restart({ SERVICE_LOCAL_CLI_HOST_COMPANIES: trusted.company.id });
    expect(await trusted.complete()).toMatchObject({ status: 'succeeded', error: null });
    const run = await s.complete();
    expect(run).toMatchObject({ status: 'succeeded', error: null });
    const [open] = await kit.fakeCliJournal(trusted.home);
    const [call] = await kit.fakeCliJournal(s.home);
    expect(open?.env).not.toHaveProperty('HTTPS_PROXY');
    expect(call?.env).toMatchObject({ HOME: s.home, HTTPS_PROXY: 'http://127.0.0.1:3128' });
    expect(call?.env).toHaveProperty('TEST_MODEL_API_KEY');
    // In a PID namespace of its own, its number is small.
    expect(call?.pid).toBeLessThan(100);
    expect(
      (await runtimeState(db.database.db, (await findAgent(db.database.db, s.agent.id))!)).session_id,
    ).toBeTruthy();
  });
});

describe('a CLI where local ones are switched off', () => {
  it('is refused by name', async () => {
    await restart({ SERVICE_LOCAL_CLI: 'off' });
    const run = await (await scene()).complete();
    expect(run).toMatchObject({ status: 'failed', error_category: 'config' });
    expect(run.error).toContain('cli_a_local is switched off');
  });
});
