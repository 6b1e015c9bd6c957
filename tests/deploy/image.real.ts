// The container image in a real engine, with the confinement and environment of compose. Run by `npm run test:image`, which
// builds it. It uses the host's network, to reach the database of the tests.
import { chmod, mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newId } from '@acp/kernel';
import { emptyDatabase, type FakeModel, freePort, startFakeModel, waitFor } from '@acp/testkit';
import { baseEnv, createTeam, modelEnv, signIn } from '../process/api.ts';
import { engine, image } from './engine.ts';
import { type Environment, readCompose, readDockerfile } from './files.ts';

interface Container {
  name: string;
  url: string;
  exec(...command: string[]): { status: number | null; out: string };
}

const started: Container[] = [];

/** Starts it as compose does, except for its address and storage. */
async function start(tier: 'web' | 'scheduler', home: string, more: Environment): Promise<Container> {
  const service = readCompose().services[tier]!;
  const port = await freePort();
  const env = { ...service.environment, PORT: String(port), SERVICE_HOST: '127.0.0.1', ...more };
  const name = `acp-image-test-${newId().slice(0, 8)}`;
  const { status, out } = engine([
    'run',
    '--detach',
    `--name=${name}`,
    '--network=host',
    '--read-only',
    ...(service.tmpfs as string[]).map((each) => `--tmpfs=${each}`),
    ...(service.cap_drop as string[]).map((each) => `--cap-drop=${each}`),
    ...(service.security_opt as string[]).map((each) => `--security-opt=${each.replace(/:true$/, '')}`),
    `--volume=${home}:/var/lib/service`,
    ...Object.entries(env).map(([key, value]) => `--env=${key}=${value}`),
    image,
  ]);
  if (status !== 0) throw new Error(out);
  const container: Container = {
    name,
    url: `http://127.0.0.1:${port}`,
    exec: (...command) => engine(['exec', name, ...command]),
  };
  started.push(container);
  await waitFor(() => engine(['logs', name]).out.includes('"message":"ready"'), {
    timeout_ms: 40_000,
    what: `the ${tier} container`,
  });
  return container;
}

describe('the image', () => {
  let home: string;
  let model: FakeModel;
  let web: Container;
  let scheduler: Container;

  beforeAll(async () => {
    home = await mkdtemp(path.join(tmpdir(), 'acp-image-'));
    // The image's user does not exist on this machine.
    await chmod(home, 0o777);
    model = await startFakeModel();
    const { url } = await emptyDatabase('image');
    const env = { ...baseEnv, ...modelEnv(model.url), DATABASE_URL: url, RATE_LIMIT_RPM: '0' };
    [web, scheduler] = await Promise.all([start('web', home, env), start('scheduler', home, env)]);
  }, 120_000);

  afterAll(async () => {
    for (const { name } of started) engine(['rm', '--force', name]);
    await model.close();
    await rm(home, { recursive: true, force: true });
  });

  it('runs as its own user, on a root that can’t be written', () => {
    for (const container of [web, scheduler]) {
      expect(container.exec('id', '-u').out).toBe('1000');
      expect(container.exec('touch', '/app/x').status).not.toBe(0);
      expect(container.exec('touch', '/tmp/x', '/var/lib/service/x').status).toBe(0);
    }
  });

  it('is healthy by its own check in both roles, and says what it is', async () => {
    const { text } = readDockerfile().find(({ name }) => name === 'HEALTHCHECK')!;
    const check = JSON.parse(text.slice(text.indexOf('['))) as string[];
    expect([web, scheduler].map((each) => each.exec(...check).status)).toEqual([0, 0]);
    const { version, commit } = (await (await fetch(`${web.url}/healthz`)).json()) as Environment;
    expect([version, commit]).toEqual([expect.stringMatching(/^(\d+\.\d+\.\d+|dev)$/), expect.any(String)]);
  });

  it('has a company worked for: an agent is woken, runs in the scheduler and closes its issue', async () => {
    const api = await signIn(web);
    const { company_id, agents } = await createTeam(api, ['Ada']);
    model.setScript(() => 'Painted.\n/status done');
    const { id } = await api.call<{ id: string }>('POST', `/api/companies/${company_id}/issues`, {
      title: 'Paint the shed',
      assignee_agent_id: agents[0]!.id,
    });
    // The run's comment is added when it finishes, after its verbs.
    const issue = await waitFor(
      async () => {
        const found = await api.call<{ status: string; comment_count: number }>('GET', `/api/issues/${id}`);
        return found.comment_count > 0 && found;
      },
      { timeout_ms: 20_000, what: 'the comment' },
    );
    expect(issue).toMatchObject({ status: 'done', comment_count: 1 });
  });

  it('keeps what is stored on the volume of both tiers', async () => {
    expect(await readdir(home)).toContain('storage');
    expect((await stat(path.join(home, 'storage'))).uid).toBe(1000);
  });

  it('has the operator’s CLI, and a container client without an engine', () => {
    const { status, out } = web.exec('node', 'apps/ctl/src/main.mjs', 'users', 'list', '--json');
    expect([status, out]).toEqual([0, expect.stringContaining(baseEnv.SERVICE_BOOTSTRAP_ADMIN_EMAIL)]);
    expect(scheduler.exec('docker', '--version').status).toBe(0);
    expect(scheduler.exec('docker', 'info').status).not.toBe(0);
  });

  it('ends by itself on SIGTERM', () => {
    for (const { name } of [web, scheduler]) {
      expect(engine(['stop', '-t', '30', name]).status).toBe(0);
      expect(engine(['inspect', '--format={{.State.ExitCode}}', name]).out).toBe('0');
    }
  });
});
