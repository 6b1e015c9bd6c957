/** Endpoints of models and functions that answer anything: every client gives up within limits, and tells no secret. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createGuardedFetch } from '@acp/kernel';
import { drippingAnswers, hostileAnswers, type HostileServer, startHostileServer } from '@acp/testkit';
import { defaultSigningKeys } from './llm/cloud-credentials.ts';
import { embedTexts } from './llm/embed.ts';
import { type AdapterTask, execute, type ProviderSpec } from './index.ts';
import { probeModels } from './probe-models.ts';

const KEY = 'sk-secret-0123456789';
const variables = { AWS_ACCESS_KEY_ID: 'id-of-the-key', AWS_SECRET_ACCESS_KEY: KEY };
const kept = { ...process.env };

/** What functions are signed with. The chain of credentials keeps it for the process: another test file may have set it. */
let cloudKey: string;
let server: HostileServer;
const send = createGuardedFetch({ egress: 'any' });

beforeAll(async () => {
  Object.assign(process.env, variables);
  ({ secretAccessKey: cloudKey } = await defaultSigningKeys());
  server = await startHostileServer();
});
beforeEach(() => {
  server.asked.length = 0;
});
afterAll(() => {
  for (const name of Object.keys(variables)) {
    if (kept[name] === undefined) delete process.env[name];
    else process.env[name] = kept[name];
  }
  server.close();
});

const provider = (): ProviderSpec => ({
  family: 'family_compat',
  api_key: KEY,
  base_url: server.url,
  fetch: send,
});

const task = (seconds: number): AdapterTask => ({
  run_id: 'run',
  adapter_type: 'llm',
  provider: provider(),
  model: 'test-model',
  system_prompt: '',
  messages: [{ role: 'user', content: 'Hello' }],
  max_output_tokens: 1000,
  timeouts: { idle_sec: seconds, total_sec: seconds },
  adapter_config: {},
});

const lambda = (seconds: number): AdapterTask => ({
  ...task(seconds),
  adapter_type: 'lambda',
  provider: null,
  adapter_config: { function_name: 'agent', region: 'eu-central-1' },
  cloud: { region: 'us-east-1', endpoint: server.url, fetch: send },
  payload: { run_id: 'run', wake_reason: 'manual', agent_name: 'Ada' },
});

type Client = (signal: AbortSignal, seconds: number) => Promise<unknown>;

async function executed(what: AdapterTask, signal: AbortSignal): Promise<unknown> {
  let output = '';
  for await (const event of execute(what, signal)) if (event.kind === 'output') output += event.text;
  return output;
}

/** Each fails, or has an empty answer. */
const clients: Record<string, Client> = {
  'a model': async (signal, seconds) => executed(task(seconds), signal),
  'a function': async (signal, seconds) => executed(lambda(seconds), signal),
  embeddings: async (signal) => embedTexts(provider(), 'm', ['text'], signal),
  'a list of models': async (signal) => {
    const { ok, error, models } = await probeModels(provider(), signal);
    if (!ok) throw new Error(error ?? '');
    return models?.join() ?? '';
  },
};

describe.each(Object.entries(clients))('%s', (name, client) => {
  it.each(Object.entries(hostileAnswers))('that is %s is given up', async (_what, answer) => {
    server.answer(answer);
    const outcome = await client(AbortSignal.timeout(60_000), 20).catch((error: Error) => error);
    expect(['', 'AdapterError', 'Error']).toContain(outcome instanceof Error ? outcome.name : outcome);
  });

  it.each(Object.entries(drippingAnswers))('that drips %s is given up', async (_what, answer) => {
    server.answer(answer);
    await expect(client(AbortSignal.timeout(1500), 1)).rejects.toBeInstanceOf(Error);
  });

  it('that repeats its key tells it to nobody', async () => {
    const key = name === 'a function' ? cloudKey : KEY;
    for (const status of [400, 200]) {
      server.answer((response, { headers }) => {
        const echo = JSON.stringify({ ...headers, key });
        const body = { message: echo, error: { message: echo, code: 400 }, errorMessage: echo };
        response.writeHead(status, {
          'content-type': 'application/json',
          ...(status === 200 && { 'x-amz-function-error': 'Unhandled' }),
        });
        response.end(JSON.stringify(body));
      });
      const failure = await client(AbortSignal.timeout(60_000), 20).catch((error: Error) => error);
      expect((failure as Error).message).not.toContain(key);
    }
  });
});

it('a model whose name is the key of its provider is listed without it', async () => {
  server.answer((response) => void response.end(JSON.stringify({ data: [{ id: `m-${KEY}` }] })));
  expect(await probeModels(provider(), AbortSignal.timeout(60_000))).toMatchObject({
    ok: true,
    models: ['m-[redacted]'],
  });
});
