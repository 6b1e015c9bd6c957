/** docs/integrating.md as a newcomer would follow it: its blocks run in one shell, its answers match the printed ones. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  emptyDatabase,
  type FakeModel,
  type ServiceProcess,
  startFakeModel,
  startService,
} from '@acp/testkit';

const page = path.resolve(import.meta.dirname, '../../docs/integrating.md');

interface Step {
  heading: string;
  script: string;
  printed: string;
}

/** Pairs each shell block with the text block that follows it. */
function stepsOf(markdown: string): Step[] {
  const steps: Step[] = [];
  let heading = '';
  for (const [, title, language, block] of markdown.matchAll(/^## (.+)$|^```(\w+)\n([\s\S]*?)^```$/gm)) {
    if (title !== undefined) heading = title;
    else if (language === 'sh') steps.push({ heading, script: block!, printed: '' });
    else steps.at(-1)!.printed = block!;
  }
  return steps;
}

/** `…` matches anything. */
const pattern = (printed: string): RegExp =>
  new RegExp(
    `^${printed
      .trimEnd()
      .split('…')
      .map((part) => part.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&'))
      .join('[\\s\\S]*')}$`,
  );

const steps = stepsOf(readFileSync(page, 'utf8'));
const MARK = '--- end of a block ---';

// On a machine without these tools the test is skipped; the title says so.
const tools = ['bash', 'curl', 'jq', 'openssl'];
const absent = tools.filter((tool) => spawnSync(tool, ['--version']).error !== undefined);
const [walk, why] = absent.length === 0 ? [describe, ''] : [describe.skip, ` (skipped: no ${absent.join()})`];

walk(`the integrators’ walk${why}`, () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'acp-integrating-'));
  let service: ServiceProcess;
  let model: FakeModel;
  let answers: string[] = [];
  let complaints = '';

  beforeAll(async () => {
    model = await startFakeModel({ script: () => 'I counted 4,120 books.\n/status done' });
    const { url: DATABASE_URL } = await emptyDatabase('integrating');
    service = await startService({
      DATABASE_URL,
      SERVICE_HOME: path.join(folder, 'home'),
      SERVICE_ENCRYPTION_KEY: 'ab'.repeat(32),
      SERVICE_DEFAULT_LLM_PROVIDER: 'family_compat',
      SERVICE_DEFAULT_LLM_MODEL: 'test',
      SERVICE_DEFAULT_LLM_BASE_URL: model.url,
    });
    const line = await service.logged('no user yet: open this link to create the first admin');
    const SETUP_TOKEN = new URL(String(line.url)).searchParams.get('token')!;
    const shell = spawn('bash', ['-euo', 'pipefail'], {
      cwd: folder,
      env: { PATH: process.env.PATH ?? '', BASE: service.url, SETUP_TOKEN },
    });
    const [printed, said] = [text(shell.stdout), text(shell.stderr)];
    shell.stdin.end(steps.map(({ script }) => `${script}\necho '${MARK}'\n`).join(''));
    await once(shell, 'close');
    answers = (await printed).split(`${MARK}\n`);
    complaints = await said;
  });

  afterAll(async () => {
    await service?.stop();
    await model?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it('goes to its end without a complaint', () => {
    expect(complaints).toBe('');
    expect(answers).toHaveLength(steps.length + 1);
  });

  it.each(steps.map((step, index) => [`${index + 1}: ${step.heading}`, step, index] as const))(
    'prints what the page shows in block %s',
    (_title, { printed }, index) => {
      expect(printed).not.toBe('');
      expect(answers[index]?.trimEnd()).toMatch(pattern(printed));
    },
  );
});
