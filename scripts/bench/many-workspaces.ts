/** (m), second half: many issues of one project with several agents working concurrently, and the sweep that cleans up. */
import { execFile } from 'node:child_process';
import { chmod, mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { loadConfig } from '@acp/kernel';
import { cloneDatabase, startGitServer, type TestDatabase, testLogger, waitFor } from '@acp/testkit';
import { clearWorkspaces } from '../../apps/scheduler/src/workspaces/clear-workspaces.ts';
import { workspaceSources } from '../../apps/scheduler/src/workspaces/sources.ts';
import type { BenchOptions, Report } from './report.ts';
import { createScene } from './scene.ts';
import { startService, temporaryFolder } from './service.ts';

const run = promisify(execFile);
const FILES = 500;
const AGENTS = 8;
const MEGABYTE = 1024 * 1024;
/** Stands in for the CLI: commits one change, leaves another uncommitted, and answers. */
const CLI = `#!/bin/sh
cat > /dev/null
echo more >> d1/f1.txt
git commit -qam Change
echo new > made.txt
echo '{"type":"result","subtype":"success","is_error":false,"result":"ok","session_id":"9534d34e-0000-4000-8000-000000000000"}'
`;

export async function benchManyWorkspaces(report: Report, { smoke }: BenchOptions): Promise<void> {
  const count = smoke ? 16 : 200;
  const files = Array.from({ length: FILES }, (_, n) => [`d${n % 20}/f${n}.txt`, `file ${n}\n`.repeat(200)]);
  const server = await startGitServer(Object.fromEntries(files) as Record<string, string>);
  const database = await cloneDatabase('bench_many_workspaces');
  const folder = temporaryFolder();
  const home = join(folder, 'home');
  await mkdir(home, { recursive: true });
  const program = join(folder, 'cli.sh');
  await writeFile(program, CLI);
  await chmod(program, 0o755);
  const settings = {
    DATABASE_URL: database.url,
    SERVICE_HOME: home,
    SERVICE_CLI_A_COMMAND: program,
    SERVICE_REPOSITORY_HOSTS: server.host,
  };
  try {
    const { company_id, agent_ids, board_key } = await createScene(database, { agents: AGENTS, issues: 0 });
    const project_id = await prepare(database, company_id, server.url);
    const service = await startService(settings);
    const query = async (text: string) =>
      (await database.database.pool.query<{ n: number }>(text)).rows[0]!.n;
    const began = performance.now();
    try {
      for (let n = 0; n < count; n += 1) {
        const assignee_agent_id = agent_ids[n % AGENTS];
        const answer = await fetch(`${service.url}/api/companies/${company_id}/issues`, {
          method: 'POST',
          headers: { authorization: `Bearer ${board_key}`, 'content-type': 'application/json' },
          body: JSON.stringify({ title: `Issue ${n}`, project_id, status: 'todo', assignee_agent_id }),
        });
        if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`);
      }
      await waitFor(
        async () => (await query(`select count(*)::int as n from workspaces where version > 0`)) >= count,
        { what: 'all workspaces', timeout_ms: 300_000 },
      );
    } finally {
      await service.stop();
    }
    const seconds = (performance.now() - began) / 1000;
    const errors = await query(`select count(*)::int as n from workspaces where error is not null`);
    const conditions = `${count} issues of one project, ${AGENTS} agents, ${FILES} files of 2 KB; ${errors} errors`;
    report.add({
      name: 'workspaces made, worked in and stored',
      value: count / seconds,
      unit: '/s',
      conditions,
    });
    const of = join(home, 'companies', company_id);
    const sizes = {
      workspaces: await sizeOf(join(of, 'workspaces')),
      copy: await sizeOf(join(of, 'repositories')),
    };
    const disk = { unit: 'MB', conditions };
    report.add({ name: 'disk of each workspace', value: sizes.workspaces / count, ...disk });
    report.add({ name: 'disk of the copy and a spare folder', value: sizes.copy, ...disk });
    await sweep(report, database, { settings, count, of });
  } finally {
    await Promise.all([server.close(), database.close()]);
  }
}

/** @returns the project */
async function prepare({ database }: TestDatabase, company_id: string, repo_url: string): Promise<string> {
  const { rows } = await database.pool.query<{ id: string }>(
    `insert into projects (company_id, name, repo_url) values ($1, 'Bench', $2) returning id`,
    [company_id, repo_url],
  );
  await database.pool.query(`update agents set adapter_type = 'cli_a_local'`);
  return rows[0]!.id;
}

/** Sweeps as of a week after all issues were closed. */
async function sweep(
  report: Report,
  database: TestDatabase,
  { settings, count, of }: { settings: Record<string, string>; count: number; of: string },
): Promise<void> {
  await database.database.pool.query(`update issues set status = 'done'`);
  await database.database.pool.query(
    `update heartbeat_runs set status = 'cancelled' where status in ('queued', 'running')`,
  );
  await database.database.pool.query(`update workspaces set last_used_at = now() - interval '8 days'`);
  const shared = {
    config: loadConfig(settings),
    database: database.database,
    logger: testLogger(),
  };
  const workspaces = workspaceSources({ ...shared, storage: {} as never, vault: {} as never });
  const began = performance.now();
  await clearWorkspaces({ ...shared, workspaces }, new AbortController().signal);
  const left = (await readdir(join(of, 'workspaces'))).length;
  report.add({
    name: 'a sweep that removes them',
    value: performance.now() - began,
    unit: 'ms',
    conditions: `${count} folders of ${FILES} files, ${left} left`,
  });
}

async function sizeOf(folder: string): Promise<number> {
  const { stdout } = await run('du', ['-sk', folder]);
  return (Number(stdout.split('\t')[0]) * 1024) / MEGABYTE;
}
