// The whole of compose.yaml in a real engine, by `npm run test:image`: PostgreSQL, two processes per tier, the proxy. It
// uses the network named in the file, so no other instance of it may be running.
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { freePort, waitFor } from '@acp/testkit';
import { createTeam, admin, signIn } from '../process/api.ts';
import { engine, hasCompose, image } from './engine.ts';
import { operator, root } from './files.ts';

const withCompose: typeof describe.skip = hasCompose ? describe : describe.skip;
const why = hasCompose ? '' : ' (skipped: the engine has no compose)';

withCompose(`the compose file${why}`, () => {
  const project = 'acp-compose-test';
  let url: string;
  let compose: (...args: string[]) => { status: number | null; out: string };

  /** Container ids of a service. */
  const containers = (service: string) => compose('ps', '--all', '--quiet', service).out.split('\n');
  const alive = async () => (await fetch(`${url}/api/health`)).status;

  beforeAll(async () => {
    const port = await freePort();
    url = `http://127.0.0.1:${port}`;
    const env = {
      ...operator,
      IMAGE_TAG: image.split(':').at(-1)!,
      PROXY_LISTEN: `127.0.0.1:${port}`,
      SERVICE_PUBLIC_URL: url,
      SERVICE_BOOTSTRAP_ADMIN_EMAIL: admin.email,
      SERVICE_BOOTSTRAP_ADMIN_PASSWORD: admin.password,
    };
    const file = path.join(root, 'deploy/compose.yaml');
    compose = (...args) => engine(['compose', '--project-name', project, '--file', file, ...args], env);
    const { status, out } = compose('up', '--detach', '--no-build', '--wait');
    if (status !== 0) throw new Error(out);
  }, 300_000);

  afterAll(() => {
    compose('down', '--volumes');
  }, 120_000);

  it('comes up with two processes a tier, all healthy', () => {
    for (const service of ['web', 'scheduler']) {
      const health = containers(service).map(
        (id) => engine(['inspect', '--format={{.State.Health.Status}}', id]).out,
      );
      expect(health).toEqual(['healthy', 'healthy']);
    }
  });

  it('carries a person’s work and its live stream through the proxy', async () => {
    const api = await signIn({ url });
    const { company_id } = await createTeam(api, []);
    const stream = await fetch(`${url}/api/live/events`, { headers: { cookie: api.cookie } });
    const reader = stream.body!.pipeThrough(new TextDecoderStream()).getReader();
    let heard = '';
    for (const title of ['First', 'Second']) {
      await api.call('POST', `/api/companies/${company_id}/issues`, { title });
      while (!heard.includes(`"title":"${title}"`)) heard += (await reader.read()).value ?? '';
    }
    await reader.cancel();
    expect(heard.match(/event: issue_created/g)).toHaveLength(2);
    expect((await fetch(`${url}/metrics`)).status).toBe(404);
  });

  it('goes on when a web process is killed, and starts it again', async () => {
    const [first] = containers('web');
    // It exits by itself, as after a defect: the engine does not restart what it killed on request.
    engine(['exec', first!, 'node', '-e', 'process.kill(1, "SIGTERM")']);
    const statuses: number[] = [];
    for (let each = 0; each < 20; each += 1) statuses.push(await alive());
    expect(new Set(statuses)).toEqual(new Set([200]));
    const health = await waitFor(
      () => {
        const { out } = engine(['inspect', '--format={{.RestartCount}} {{.State.Health.Status}}', first!]);
        return out === '1 healthy' && out;
      },
      { timeout_ms: 40_000, what: 'the restart' },
    );
    expect(health).toBe('1 healthy');
  });

  it('stops without a process that had to be killed', () => {
    const ids = ['web', 'scheduler', 'proxy'].flatMap(containers);
    expect(compose('stop').status).toBe(0);
    const codes = ids.map((id) => engine(['inspect', '--format={{.State.ExitCode}}', id]).out);
    expect(codes).toEqual(['0', '0', '0', '0', '0']);
  });
});
