import { afterAll, beforeAll, expect, it } from '@jest/globals';
import {
  drippingAnswers,
  fakeTaskPayload,
  hostileAnswers,
  type HostileServer,
  startHostileServer,
} from '@acp/testkit';
import { newApiKey, newId } from '@acp/kernel';
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

const taskWith = (payload: object) => ({
  id: newId(),
  heartbeat_run_id: newId(),
  agent_id: newId(),
  company_id: newId(),
  worker_id: newId(),
  tags_required: [],
  payload: fakeTaskPayload(payload),
  status: 'claimed',
  claimed_at: new Date(),
  completed_at: null,
  result: null,
  error: null,
  created_at: new Date(),
});

it('a task is one of a run by its id, which names its folder: the one there before is removed', async () => {
  const answer = (payload: object) =>
    server.answer((response) => void response.end(JSON.stringify(taskWith(payload))));
  answer({});
  expect(await claiming(60_000)).toMatchObject({ status: 'claimed' });
  for (const run_id of ['../outbox', '../../../..', '', 'work\0']) {
    answer({ run_id });
    expect(isTrouble(await claiming(60_000))).toBe(true);
  }
});

it('a key that no request can be sent with is not taken for the worker’s', async () => {
  const registering = async (api_key: string): Promise<unknown> => {
    const body = JSON.stringify({ worker_id: newId(), status: 'approved', api_key });
    server.answer((response) => void response.writeHead(201).end(body));
    return new ControlPlane({ url: server.url, key: KEY, timeout_ms: 60_000 })
      .register({}, new AbortController().signal)
      .catch((error: unknown) => error);
  };
  const good = newApiKey();
  expect(await registering(good)).toMatchObject({ api_key: good });
  for (const api_key of ['', 'short', `${good}\r\nx: y`, `${good}é€`, 'k'.repeat(100_000)])
    expect(isTrouble(await registering(api_key))).toBe(true);
});
