/** (m) Time from an agent's wakeup to the start of its CLI in a workspace, and the disk space a workspace uses. */
import { execFile } from 'node:child_process';
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { cloneDatabase, startGitServer, waitFor } from '@acp/testkit';
import { benchManyWorkspaces } from './many-workspaces.ts';
import type { BenchOptions, Report } from './report.ts';
import { createScene } from './scene.ts';
import { startService, temporaryFolder } from './service.ts';
import { median } from './statistics.ts';

const run = promisify(execFile);
const FILES = 10_000;
const KILOBYTE = 1024;
/** Stands in for the CLI: prints its start time, and answers immediately. */
const CLI = `#!/bin/sh
date +%s%N >> "$HOME/began"
cat > /dev/null
echo '{"type":"result","subtype":"success","is_error":false,"result":"ok","session_id":"9534d34e-0000-4000-8000-000000000000"}'
`;

export async function benchWorkspaces(report: Report, { smoke }: BenchOptions): Promise<void> {
  report.section('(m) workspaces');
  const files = Array.from({ length: FILES }, (_, n) => [`d${n % 100}/f${n}.txt`, `file ${n}\n`.repeat(40)]);
  const server = await startGitServer(Object.fromEntries(files) as Record<string, string>);
  const database = await cloneDatabase('bench_workspaces');
  const folder = temporaryFolder();
  await mkdir(folder, { recursive: true });
  const program = join(folder, 'cli.sh');
  await writeFile(program, CLI);
  await chmod(program, 0o755);
  const home = join(folder, 'home');
  const service = await startService({
    DATABASE_URL: database.url,
    SERVICE_HOME: home,
    SERVICE_CLI_A_COMMAND: program,
    SERVICE_REPOSITORY_HOSTS: server.host,
  });
  try {
    const scene = await createScene(database, { agents: 1, issues: 0 });
    const { company_id: company, board_key } = scene;
    const [agent = ''] = scene.agent_ids;
    await database.database.pool.query(`update agents set adapter_type = 'cli_a_local' where id = $1`, [
      agent,
    ]);
    const api = async (method: string, path: string, body?: object) => {
      const headers = { authorization: `Bearer ${board_key}`, 'content-type': 'application/json' };
      const answer = await fetch(`${service.url}${path}`, { method, headers, body: JSON.stringify(body) });
      if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
      return (await answer.json()) as { id: string; status: string };
    };
    const repository = { name: 'Bench', repo_url: server.url };
    const { id: project_id } = await api('POST', `/api/companies/${company}/projects`, repository);
    const began = join(home, 'companies', company, 'agents', agent, 'began');
    const wakes = { first: [] as number[], again: [] as number[] };
    const issues = smoke ? 2 : 8;
    for (let n = 0; n < issues; n += 1) {
      const body = { title: `Issue ${n}`, project_id, status: 'todo' };
      const issue = await api('POST', `/api/companies/${company}/issues`, body);
      for (const kind of ['first', 'again'] as const) {
        const before = (await linesOf(began)).length;
        const woken = Date.now();
        await api('PATCH', `/api/issues/${issue.id}`, { assignee_agent_id: kind === 'first' ? agent : null });
        if (kind === 'again') await api('PATCH', `/api/issues/${issue.id}`, { assignee_agent_id: agent });
        const lines = await waitFor(async () => {
          const now = await linesOf(began);
          return now.length > before ? now : false;
        });
        // The very first wakeup fetches the repository.
        if (n > 0) wakes[kind].push(Number(lines.at(-1)) / 1e6 - woken);
        await waitFor(async () => (await api('GET', `/api/agents/${agent}`)).status === 'idle');
      }
    }
    const conditions = `median of ${wakes.first.length}; ${FILES} files, warm copy, CLI shut in`;
    const first = { name: 'wake to CLI, new workspace', value: median(wakes.first), unit: 'ms' };
    report.add({ ...first, aim: { at_most: 300 }, conditions });
    const again = {
      name: 'wake to CLI, workspace of an earlier run',
      value: median(wakes.again),
      unit: 'ms',
    };
    report.add({ ...again, aim: { at_most: 300 }, conditions });
    const { stdout } = await run('du', ['-sk', join(home, 'companies', company, 'workspaces')]);
    const each = Number(stdout.split('\t')[0]) / issues / KILOBYTE;
    report.add({
      name: 'disk per workspace',
      value: each,
      unit: 'MB',
      conditions: `${FILES} files, which take a block each`,
    });
  } finally {
    await service.stop();
    await Promise.all([server.close(), database.close()]);
  }
  await benchManyWorkspaces(report, { smoke });
}

async function linesOf(file: string): Promise<string[]> {
  const text = await readFile(file, 'utf8').catch(() => '');
  return text.split('\n').filter((line) => line !== '');
}
