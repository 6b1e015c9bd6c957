import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { drippingAnswers, hostileAnswers, type HostileServer, startHostileServer } from '@acp/testkit';
import { ControlPlane, isTrouble } from './control-plane.ts';

const KEY = 'the-key-of-a-worker';

let server: HostileServer;
beforeAll(async () => {
  server = await startHostileServer();
});
afterAll(() => server.close());

const claiming = async (timeout_ms: number): Promise<unknown> =>
  new ControlPlane({ url: server.url, key: KEY, timeout_ms })
    .claim(new AbortController().signal)
    .catch((error: unknown) => error);

it.each(Object.entries(hostileAnswers))('a service that answers %s is in trouble', async (_what, answer) => {
  server.answer(answer);
  expect(isTrouble(await claiming(60_000))).toBe(true);
});

it.each(Object.entries(drippingAnswers))(
  'a service that drips %s does not answer in time',
  async (_what, answer) => {
    server.answer(answer);
    expect(await claiming(500)).toMatchObject({ name: 'Unreachable', message: 'no answer in 0.5 s' });
  },
);

it('a service that repeats the key of the worker does not tell it to the log', async () => {
  server.answer((response) => void response.writeHead(400).end(JSON.stringify({ error: `no ${KEY}` })));
  expect(await claiming(60_000)).toMatchObject({ name: 'Refusal', message: 'no [redacted]' });
});
