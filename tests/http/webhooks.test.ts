/** The webhook ingress: seven rules in order, over the bytes as received (specification, Webhook ingress). */
import { beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { NewRoutineTrigger } from '@acp/contract';
import { admitLicense, findRoutineTrigger, setSigningMode, systemActor } from '@acp/core';
import { transaction } from '@acp/db';
import type { Database } from '@acp/db';
import { createLogger, hmacSha256Hex, loadConfig, newId, sha256Hex, Vault } from '@acp/kernel';
import { databaseWithQueue, nextInstant } from '@acp/testkit';
import { sign } from '@octokit/webhooks-methods';
import { randomBytes } from 'node:crypto';
import type { Express } from 'express';
import request from 'supertest';
import { createApp } from '../../apps/web/src/app.ts';
import { createCast } from './cast.ts';
import type { Cast } from './cast.ts';

const key = randomBytes(32);
let database: Database;
let app: Express;
let cast: Cast;
let routineId: string;

beforeAll(async () => {
  database = await databaseWithQueue();
  const config = loadConfig({ RATE_LIMIT_RPM: '0', SERVICE_ENCRYPTION_KEY: key.toString('hex') });
  const logger = createLogger({ level: 'error', format: 'json', role: 'test' });
  app = createApp({ database, logger, config, validate_responses: true });
  cast = await createCast(database);
});

beforeEach(async () => {
  const body = { name: 'Hook', title_template: '{{payload.title}}', concurrency_policy: 'always_enqueue' };
  const { id } = await api('post', `/api/companies/${cast.company_id}/routines`, body, 201);
  routineId = id as string;
});

async function api(
  method: 'post' | 'patch' | 'get' | 'delete',
  path: string,
  body?: object,
  status = 200,
): Promise<Record<string, unknown>> {
  const sent = request(app)[method](path).set(cast.member.headers);
  return (await (body ? sent.send(body) : sent).expect(status)).body as Record<string, unknown>;
}

async function trigger(body: object = {}): Promise<NewRoutineTrigger> {
  const path = `/api/routines/${routineId}/triggers`;
  return (await api('post', path, { kind: 'webhook', ...body }, 201)) as NewRoutineTrigger;
}

/** Has a secret and requires the timestamp, as the routine's page would set it. */
async function stampedTrigger(): Promise<NewRoutineTrigger> {
  const { id } = await trigger();
  return transaction(database, async (tx) =>
    setSigningMode(tx, systemActor('page'), (await findRoutineTrigger(tx, id))!, 'hmac_ts', new Vault(key)),
  );
}

function fire(public_id: string, body: string | Buffer, headers: Record<string, string> = {}) {
  const sent = request(app).post(`/api/routine-triggers/public/${public_id}/fire`);
  return sent.set({ 'Content-Type': 'application/json', ...headers }).send(body);
}

/** Status and body, for comparison with a refusal. */
async function answerOf(sent: ReturnType<typeof fire>): Promise<object> {
  const { status, body } = await sent;
  return { status, body: body as unknown };
}

const refusal = (status: number, error: string) => ({ status, body: { error } });

const runs = async () =>
  (await api('get', `/api/routines/${routineId}/runs`)) as unknown as Record<string, unknown>[];
const signed = async (secret: string | null, body: string) => ({
  'X-Service-Signature': (await sign(secret ?? '', body)).replace('sha256=', ''),
});
const seconds = (shift = 0) => String(Math.floor(Date.now() / 1000) + shift);
const stamped = (secret: string | null, timestamp: string, body: string | Buffer) => ({
  'X-Service-Timestamp': timestamp,
  'X-Service-Signature': hmacSha256Hex(
    secret ?? '',
    Buffer.concat([Buffer.from(`${timestamp}.`), Buffer.from(body)]),
  ),
});

describe('rule 1: a trigger', () => {
  it.each([
    ['is unknown', async () => newId()],
    ['has an id that is none', async () => 'nonsense'],
    [
      'is a schedule',
      async () => (await trigger({ kind: 'schedule', cron_expression: '0 9 * * *' })).public_id,
    ],
  ])('that %s is not found', async (_what, id) => {
    expect(await answerOf(fire(await id(), '{}'))).toEqual(refusal(404, 'not found'));
  });

  it.each([
    ['is disabled', async (id: string) => api('patch', `/api/routine-triggers/${id}`, { enabled: false })],
    ['is deleted', async (id: string) => api('delete', `/api/routine-triggers/${id}`, undefined, 204)],
    ['is of a paused routine', async () => api('patch', `/api/routines/${routineId}`, { status: 'paused' })],
    ['is of a routine in the trash', async () => api('delete', `/api/routines/${routineId}`, undefined, 204)],
  ])('that %s is not found, signed or not', async (_what, act) => {
    const { id, public_id, secret } = await trigger({ signing_mode: 'hmac' });
    await act(id);
    expect(await answerOf(fire(public_id, '{}'))).toEqual(refusal(404, 'not found'));
    expect(await answerOf(fire(public_id, '{}', await signed(secret, '{}')))).toEqual(
      refusal(404, 'not found'),
    );
  });
});

describe('rule 2: without signing', () => {
  it('anybody fires, whatever the headers say', async () => {
    const { public_id } = await trigger();
    const answer = await fire(public_id, '{"title":"From afar"}', {
      'X-Service-Signature': 'nonsense',
    }).expect(200);
    expect(answer.body).toEqual({ status: 'enqueued' });
  });

  it.each([
    [{ label: 'GitHub' }, 'routine Hook (webhook GitHub)'],
    [{}, 'routine Hook (webhook)'],
  ])('the activity of a fire names the routine and its trigger %j, never the caller', async (body, name) => {
    const { id, public_id } = await trigger(body);
    await fire(public_id, '{"title":"From afar"}').expect(200);
    const path = `/api/companies/${cast.company_id}/activity?entity_type=routine&entity_id=${routineId}`;
    const [fired] = (await api('get', path)) as unknown as Record<string, unknown>[];
    expect(fired).toMatchObject({
      action: 'routine.fired',
      actor_type: 'system',
      actor_id: null,
      actor_name: name,
      details: { source: 'webhook', trigger_id: id },
    });
    const [run] = await runs();
    const issue = (await api('get', `/api/issues/${String(run!.issue_id)}/activity`)) as unknown as Record<
      string,
      unknown
    >[];
    expect(issue.map(({ actor_name }) => actor_name)).toContain(name);
  });
});

describe('rule 3: hmac', () => {
  const body = '{"title": "Signed",   "n": 1.0}';

  it('a signature of the bytes by a library that nobody here wrote is taken', async () => {
    const { public_id, secret } = await trigger({ signing_mode: 'hmac' });
    await fire(public_id, body, await signed(secret, body)).expect(200, { status: 'enqueued' });
  });

  it.each([
    ['none', {}, 'missing signature'],
    ['an empty one', { 'X-Service-Signature': '' }, 'missing signature'],
    ['one of another secret', { 'X-Service-Signature': hmacSha256Hex('other', body) }, 'invalid signature'],
    ['something else', { 'X-Service-Signature': 'é' }, 'invalid signature'],
  ])('%s is refused', async (_what, headers, error) => {
    const { public_id } = await trigger({ signing_mode: 'hmac' });
    expect(await answerOf(fire(public_id, body, headers))).toEqual(refusal(401, error));
    expect(await runs()).toEqual([]);
  });

  it('one byte that differs is refused, were it a blank', async () => {
    const { public_id, secret } = await trigger({ signing_mode: 'hmac' });
    expect(await answerOf(fire(public_id, `${body} `, await signed(secret, body)))).toEqual(
      refusal(401, 'invalid signature'),
    );
  });

  it('bytes that are no text are signed as they are', async () => {
    const { public_id, secret } = await trigger({ signing_mode: 'hmac' });
    const bytes = Buffer.from([0xff, 0x00, 0xfe, 0x0a]);
    const headers = {
      'X-Service-Signature': hmacSha256Hex(secret!, bytes),
      'Content-Type': 'application/octet-stream',
    };
    await fire(public_id, bytes, headers).expect(200);
    expect(await runs()).toEqual([
      expect.objectContaining({ payload: '\uFFFD\uFFFD\uFFFD\n', payload_sha256: sha256Hex(bytes) }),
    ]);
  });
});

describe('rule 4: hmac_ts', () => {
  it('a signature over timestamp, dot and body is taken, a little early or late', async () => {
    const { public_id, secret, signing_mode } = await stampedTrigger();
    expect(signing_mode).toBe('hmac_ts');
    for (const shift of [0, -290, 290])
      await fire(public_id, `{"n":${shift}}`, stamped(secret, seconds(shift), `{"n":${shift}}`)).expect(200);
  });

  it('a signature of the body alone does not do: the mode is the trigger’s', async () => {
    const { public_id, secret } = await stampedTrigger();
    const bare = await signed(secret, '{}');
    expect(await answerOf(fire(public_id, '{}', bare))).toEqual(refusal(401, 'missing timestamp'));
    expect(await answerOf(fire(public_id, '{}', { ...bare, 'X-Service-Timestamp': seconds() }))).toEqual(
      refusal(401, 'invalid signature'),
    );
  });

  it.each([
    ['nothing', () => ({}), 'missing signature'],
    ['no number', () => stamped('s', 'yesterday', '{}'), 'invalid timestamp'],
    ['a fraction', () => stamped('s', `${seconds()}.5`, '{}'), 'invalid timestamp'],
    ['a date', () => stamped('s', new Date().toISOString(), '{}'), 'invalid timestamp'],
    ['a time long past', () => stamped('s', seconds(-310), '{}'), 'timestamp out of tolerance'],
    ['a time to come', () => stamped('s', seconds(310), '{}'), 'timestamp out of tolerance'],
    ['milliseconds', () => stamped('s', String(Date.now()), '{}'), 'timestamp out of tolerance'],
    ['a time before the epoch', () => stamped('s', '-1', '{}'), 'timestamp out of tolerance'],
    [
      'another time than was signed',
      () => ({ ...stamped('s', seconds(), '{}'), 'X-Service-Timestamp': seconds(-1) }),
      'invalid signature',
    ],
  ])('%s is refused', async (_what, headers, error) => {
    const { public_id } = await stampedTrigger();
    expect(await answerOf(fire(public_id, '{}', headers()))).toEqual(refusal(401, error));
  });
});

describe('rule 5: a repetition', () => {
  it('of a body within the window is refused; another body is not', async () => {
    const { public_id } = await trigger();
    await fire(public_id, '{"title":"a"}').expect(200);
    expect(await answerOf(fire(public_id, '{"title":"a"}'))).toEqual(refusal(409, 'replay_rejected'));
    await fire(public_id, '{"title":"a"} ').expect(200);
    expect(await runs()).toHaveLength(2);
  });

  it('of a body by another trigger, after the window, or without one is taken', async () => {
    const [one, other] = [await trigger(), await trigger()];
    await fire(one.public_id, '{}').expect(200);
    await fire(other.public_id, '{}').expect(200);
    await database.pool.query(
      "update routine_runs set created_at = now() - interval '301 seconds' where trigger_id = $1",
      [one.id],
    );
    await fire(one.public_id, '{}').expect(200);
    await api('patch', `/api/routine-triggers/${one.id}`, { replay_window_sec: 0 });
    await fire(one.public_id, '{}').expect(200);
    await api('patch', `/api/routine-triggers/${one.id}`, { replay_window_sec: 600 });
    expect(await answerOf(fire(one.public_id, '{}'))).toEqual(refusal(409, 'replay_rejected'));
  });

  it('of a timestamp ahead of the clock is refused for as long as its signature is valid', async () => {
    const { id, public_id, secret } = await stampedTrigger();
    const first = stamped(secret, seconds(0), '{}');
    await fire(public_id, '{}', first).expect(200);
    // As if it had been sent 299 seconds ahead of the clock, and now again 590 seconds later.
    await database.pool.query(
      "update routine_runs set created_at = now() - interval '590 seconds' where trigger_id = $1",
      [id],
    );
    const late = stamped(secret, seconds(-290), '{}');
    expect(await answerOf(fire(public_id, '{}', late))).toEqual(refusal(409, 'replay_rejected'));
    await fire(public_id, '{}', stamped(secret, seconds(0), '{}')).expect(200);
  });

  it('that comes with nineteen others at once is one run', async () => {
    const { public_id, secret } = await trigger({ signing_mode: 'hmac' });
    const headers = await signed(secret, '{"title":"once"}');
    const answers = await Promise.all(
      Array.from({ length: 20 }, async () => fire(public_id, '{"title":"once"}', headers)),
    );
    expect(answers.map(({ status }) => String(status)).toSorted()).toEqual([
      '200',
      ...Array.from({ length: 19 }, () => '409'),
    ]);
    expect(await runs()).toHaveLength(1);
  });

  it('of what failed is welcome', async () => {
    const { public_id } = await trigger();
    await transaction(database, async (tx) => admitLicense(tx, null));
    const until = async (moment: string) =>
      database.pool.query(
        `update instance_settings set value = value || jsonb_build_object('until', ${moment}) where key = 'entitlement'`,
      );
    await until('now()');
    try {
      expect(await answerOf(fire(public_id, '{}'))).toEqual(refusal(503, 'the routine could not be fired'));
      expect(await runs()).toEqual([
        expect.objectContaining({ status: 'failed', error: 'instance is read-only: license required' }),
      ]);
    } finally {
      await until("now() + interval '30 days'");
    }
    await fire(public_id, '{}').expect(200);
  });
});

describe('rules 6 and 7: the policy', () => {
  it.each([
    ['coalesce_if_active', 'coalesced'],
    ['skip_if_active', 'skipped'],
    ['always_enqueue', 'enqueued'],
  ])('%s answers what became of it: %s; the body is the payload', async (concurrency_policy, status) => {
    await api('patch', `/api/routines/${routineId}`, { concurrency_policy });
    const { id, public_id } = await trigger();
    await fire(public_id, '{"title":"First"}').expect(200, { status: 'enqueued' });
    await nextInstant();
    await fire(public_id, '{"title":"Second"}').expect(200, { status });
    expect(await runs()).toEqual([
      expect.objectContaining({
        source: 'webhook',
        trigger_id: id,
        status,
        payload: { title: 'Second' },
        payload_sha256: sha256Hex('{"title":"Second"}'),
      }),
      expect.objectContaining({ status: 'enqueued', payload: { title: 'First' } }),
    ]);
  });

  it.each([
    ['', null],
    ['not json', 'not json'],
    ['a=1&b=%20', 'a=1&b=%20'],
    ['[1]', [1]],
  ])('the body %j is the payload %j', async (body, payload) => {
    const { public_id } = await trigger();
    await fire(public_id, body, { 'Content-Type': 'text/plain' }).expect(200);
    expect(await runs()).toEqual([expect.objectContaining({ payload })]);
  });

  it('a list shows of a large payload the beginning', async () => {
    const { public_id } = await trigger();
    await fire(public_id, JSON.stringify({ text: 'x'.repeat(100_000) })).expect(200);
    const [run] = await runs();
    expect(run!.payload).toMatch(/^\{"text": "x{1000}/);
    expect((run!.payload as string).length).toBe(32_768);
  });
});

describe('a body', () => {
  it('of a megabyte is taken, one byte more is not', async () => {
    const { public_id } = await trigger();
    await fire(public_id, 'x'.repeat(1_048_576)).expect(200);
    expect(await answerOf(fire(public_id, 'x'.repeat(1_048_577)))).toEqual(refusal(413, 'payload too large'));
  });

  it('that says nothing of its length is counted', async () => {
    const { public_id } = await trigger();
    const sent = fire(public_id, '').unset('Content-Length').set('Transfer-Encoding', 'chunked');
    sent.write('y'.repeat(600_000));
    sent.write('y'.repeat(600_000));
    expect(await answerOf(sent)).toEqual(refusal(413, 'payload too large'));
  });

  it('that is compressed is refused: its bytes are not what was signed', async () => {
    const { public_id } = await trigger();
    await fire(public_id, '{}', { 'Content-Encoding': 'gzip' }).expect(415);
  });
});
