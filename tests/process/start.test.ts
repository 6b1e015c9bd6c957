/** @in-order processes are started, serve, and are stopped */
import { beforeAll, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { emptyDatabase, spawnService, spawnWorker, startService, waitFor } from '@acp/testkit';
import type { ServiceProcess } from '@acp/testkit';
import { baseEnv, createTeam, signIn } from './api.ts';

const statusOf = async (url: string): Promise<number> => (await fetch(url, { redirect: 'manual' })).status;

/** A request whose headers have arrived but whose body has not. */
async function openRequest(url: string) {
  const body = 'email=nobody%40example.com&password=wrong';
  const sent = request(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      'content-length': body.length,
      expect: '100-continue',
    },
  });
  sent.flushHeaders();
  await once(sent, 'continue');
  return {
    async finish() {
      sent.end(body);
      const [response] = (await once(sent, 'response')) as [IncomingMessage];
      response.resume();
      return response.statusCode;
    },
  };
}

describe('a process with an unusable environment', () => {
  const cases = [
    ['SERVICE_ROLE', 'both', /SERVICE_ROLE: must be one of all, web, scheduler/],
    ['SERVICE_TRUSTED_PROXIES', '10.0.0.0/33', /SERVICE_TRUSTED_PROXIES: must be a comma list/],
    ['PORT', '31OO', /PORT: must be a whole number/],
    ['SERVICE_HOME', '/dev/null/home', /\/dev\/null\/home\/.*: can’t be read by the user of this process/],
    ['SERVICE_HOME', '/proc/home', /SERVICE_HOME: must be a folder in which .*'\/proc\/home/],
    ['DATABASE_URL', 'mysql://localhost/x', /DATABASE_URL: must be a postgres:\/\/ URL/],
  ] as const;

  it('ends at boot and names the variable', async () => {
    const ends = await Promise.all(
      cases.map(async ([name, value]) => {
        const process = spawnService({ [name]: value });
        return { exit: await process.ended, output: process.output() };
      }),
    );
    for (const [index, [, , message]] of cases.entries()) {
      expect(ends[index]!.exit.code).toBe(78);
      expect(ends[index]!.output).toMatch(message);
    }
  });
});

describe('a remote worker', () => {
  const env = { SERVICE_SERVER_URL: 'http://127.0.0.1:9', SERVICE_WORKER_KEY: 'a-secret-of-the-operator' };

  it('that can’t write its home ends at boot and names the variable', async () => {
    const worker = spawnWorker({ ...env, SERVICE_HOME: '/proc/home' });
    expect((await worker.ended).code).toBe(78);
    expect(worker.output()).toContain('SERVICE_HOME: must be a folder in which');
  });
});

describe('four processes started at once on an empty database', () => {
  const roles = ['all', 'web', 'scheduler', 'all'] as const;
  let started: ServiceProcess[];

  beforeAll(async () => {
    const { url } = await emptyDatabase('start');
    const env = { ...baseEnv, DATABASE_URL: url };
    started = await Promise.all(roles.map(async (role) => startService({ ...env, SERVICE_ROLE: role })));
  });

  it('all get up, with one first admin between them', async () => {
    const created = started.flatMap(({ log }) =>
      log.filter(({ message }) => message === 'created the first instance admin'),
    );
    expect(created).toHaveLength(1);
    for (const { url } of started) expect(await statusOf(`${url}/healthz/ready`)).toBe(200);
  });

  it('serve what their role serves', async () => {
    for (const [index, role] of roles.entries()) {
      const { url } = started[index]!;
      const serves = role !== 'scheduler';
      expect(await statusOf(`${url}/healthz`)).toBe(200);
      expect(await statusOf(`${url}/metrics`)).toBe(200);
      expect(await statusOf(`${url}/login`)).toBe(serves ? 200 : 404);
      expect(await statusOf(`${url}/api/me`)).toBe(serves ? 401 : 404);
    }
  });

  it('put schedules into the words of the reader’s language', async () => {
    const [, web] = started;
    const { cookie } = await signIn(web!);
    const schedule = new URLSearchParams({ cron_expression: '0 9 * * 1', timezone: 'UTC' }).toString();
    const answer = await fetch(`${web!.url}/schedules/part/said?${schedule}`, {
      headers: { cookie, 'accept-language': 'de' },
    });
    expect(await answer.text()).toContain('Um 09:00, nur jeden Montag');
  });

  it('tell live streams to reconnect on SIGTERM, let requests end, and end with status 0', async () => {
    const [both, web] = started;
    const api = await signIn(web!);
    await createTeam(api, ['Ada']);
    const stream = await fetch(`${web!.url}/api/live/events`, { headers: { cookie: api.cookie } });
    const reader = stream.body!.pipeThrough(new TextDecoderStream()).getReader();
    await reader.read();
    const slow = await openRequest(`${web!.url}/login`);
    const exits = started.map(async (process) => process.stop());
    let last = '';
    for (let part = await reader.read(); !part.done; part = await reader.read()) last += part.value;
    expect(last).toMatch(/retry: \d+\n: restarting/);
    expect(await slow.finish()).toBe(401);
    expect(await Promise.all(exits)).toEqual(roles.map(() => ({ code: 0, signal: null })));
    expect(await waitFor(async () => fetch(`${both!.url}/healthz`).catch(() => 'refused'))).toBe('refused');
  });
});
