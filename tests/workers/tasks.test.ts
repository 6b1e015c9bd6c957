/** A task from the run that queues it to the result that completes it: scheduler, web tier and workers over HTTP. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { QueueStats, RemoteTask, RunEvent } from '@acp/contract';
import { runRefusals } from '@acp/core';
import { schema } from '@acp/db';
import { waitFor } from '@acp/testkit';
import { eq, sql } from 'drizzle-orm';
import { type TestWorker, TestFleet } from './fleet.ts';

let fleet: TestFleet;

beforeAll(async () => {
  const env = { SERVICE_ENCRYPTION_KEY: '7'.repeat(64) };
  fleet = await TestFleet.start('tasks', env);
  await fleet.startScheduler(env);
});

afterAll(async () => fleet.stop());

const at = (task: { id: string }, what: string) => `/api/workers/tasks/${task.id}/${what}`;
const stored = async (id: string) =>
  (await fleet.kit.database.db.select().from(schema.remote_tasks).where(eq(schema.remote_tasks.id, id)))[0]!;
const queued = async (run_id: string) =>
  waitFor(
    async () =>
      (
        await fleet.kit.database.db
          .select()
          .from(schema.remote_tasks)
          .where(eq(schema.remote_tasks.heartbeat_run_id, run_id))
      )[0],
    { what: 'the task' },
  );
const transcript = async (run_id: string) =>
  (await fleet.call<RunEvent[]>('GET', `/api/runs/${run_id}/events`, fleet.cast.member.headers)).body;
const change = async (id: string, what: ReturnType<typeof sql>) =>
  fleet.kit.database.db.execute(sql`update remote_tasks set ${what} where id = ${id}`);
const cancel = async (run_id: string) =>
  fleet.call('POST', `/api/heartbeat-runs/${run_id}/cancel`, fleet.cast.member.headers);

/** A worker with a unique tag, and an agent whose tasks require it. */
async function pair(config: Record<string, unknown> = {}): Promise<{
  tag: string;
  worker: TestWorker;
  begin: () => ReturnType<TestFleet['work']>;
}> {
  const tag = crypto.randomUUID();
  const worker = await fleet.register({ tags: [tag] });
  return { tag, worker, begin: async () => fleet.work({ tags: [tag], ...config }) };
}

describe('a task', () => {
  it('is done by a worker: payload, transcript, verbs, comment and cost', async () => {
    const { worker, begin, tag } = await pair({
      local_adapter_type: 'docker',
      image: 'a',
      full_context: true,
    });
    const { run_id, agent, issue } = await begin();
    const task = await fleet.claimed(worker);
    expect(task).toMatchObject({
      heartbeat_run_id: run_id,
      worker_id: worker.id,
      status: 'claimed',
      tags_required: [tag],
      payload: {
        run_id,
        agent_id: agent.id,
        adapter_type: 'remote',
        wake_reason: 'manual',
        full_context: true,
        wake: [{ reason: 'assignment', created_at: expect.stringMatching(/Z$/) }],
        issue: { id: issue.id, title: 'Paint the shed' },
        service_base_url: 'http://service.example',
      },
    });
    const key = { Authorization: `Bearer ${task.payload.service_api_key}` };
    expect((await fleet.call('GET', '/api/agents/me', key)).status).toBe(200);
    expect(JSON.stringify((await stored(task.id)).payload)).not.toMatch(/sk_|"(?:comments|children)":/);

    const events = [
      { kind: 'output', payload: { text: `I say ${task.payload.service_api_key}` } },
      { kind: 'status', payload: { status: 'succeeded' } },
    ];
    expect((await worker.call('POST', at(task, 'events'), { events })).status).toBe(204);
    const result = {
      summary: 'Painted it.\n/priority high\n/report Week\n```\nBlue.\n```\n/status done',
      model: 'm',
      input_tokens: 10,
      output_tokens: 2,
      cost_usd: 0.25,
      session_id: 'mine',
    };
    expect((await worker.call('POST', at(task, 'complete'), result)).status).toBe(204);
    expect((await worker.call('POST', at(task, 'complete'), result)).status).toBe(204);
    // Only remote verbs are obeyed; the rest is prose.
    const text = 'Painted it.\n/report Week\n```\nBlue.\n```';
    expect(await fleet.ended(run_id)).toMatchObject({
      status: 'succeeded',
      summary: text,
      cost_usd: 0.25,
      model: 'm',
    });
    const path = `/api/issues/${issue.id}`;
    expect((await fleet.call('GET', path, fleet.cast.member.headers)).body).toMatchObject({
      status: 'done',
      priority: 'high',
      comment_count: 1,
    });
    const comments = await fleet.call('GET', `${path}/comments`, fleet.cast.member.headers);
    expect(comments.body).toMatchObject([{ body_markdown: text }]);
    expect(
      (await transcript(run_id)).map(({ kind, payload }) => [kind, payload.text ?? payload.event ?? '']),
    ).toEqual([
      ['status', ''],
      ['log', ''],
      ['log', ''],
      ['output', 'I say [redacted]'],
      ['log', 'status'],
      ['log', ''],
      ['action', ''],
      ['action', ''],
      ['status', ''],
    ]);
    expect(await stored(task.id)).toMatchObject({ result });
    expect((await stored(task.id)).payload).toEqual({});
    expect((await fleet.call('GET', '/api/agents/me', key)).status).toBe(401);
  });

  it('of a project whose files a module keeps has a token that the module has verified, until the claim ends', async () => {
    const { worker, begin } = await pair();
    const { headers } = fleet.cast.admin;
    const { run_id, agent, issue } = await begin();
    await cancel(run_id);
    await fleet.ended(run_id);
    const { company_id } = fleet.cast;
    const module = { file_backend: 'module', module_endpoint: 'https://files.example' };
    const projects = `/api/companies/${company_id}/projects`;
    const { body: project } = await fleet.call<{ id: string }>('POST', projects, headers, {
      name: 'Harbour',
      ...module,
    });
    await fleet.call('PATCH', `/api/issues/${issue.id}`, headers, { project_id: project.id });
    await fleet.call('POST', `/api/agents/${agent.id}/heartbeat/invoke`, headers);
    const task = await fleet.claimed(worker);
    const { project_module_token: token = '' } = task.payload;
    expect(task.payload).toMatchObject({
      project_id: project.id,
      project_file_backend: 'module',
      project_module_endpoint: 'https://files.example',
    });
    expect(JSON.stringify(await stored(task.id))).not.toContain(token);

    const verify = async (sent: string) =>
      fleet.call('POST', '/api/project-module-tokens/verify', {}, { token: sent });
    const holder = { company_id, project_id: project.id, run_id: task.payload.run_id, agent_id: agent.id };
    const expires_at = new Date(
      Math.floor(Date.parse(String(task.claimed_at)) / 1000) * 1000 + 3_600_000,
    ).toISOString();
    expect(await verify(token)).toEqual({ status: 200, body: { ...holder, expires_at } });
    const [claims = '', signature = ''] = token.split('.');
    const other = Buffer.from(JSON.stringify({ project_id: project.id, run_id, exp: 4_000_000_000 }));
    const wrong = { status: 401, body: { error: 'invalid project module token' } };
    for (const forged of ['x', `${claims}.`, `${other.toString('base64url')}.${signature}`, `${token}.x`])
      expect(await verify(forged)).toEqual(wrong);
    const said = { events: [{ kind: 'output', payload: { text: `It is ${token}.` } }] };
    await worker.call('POST', at(task, 'events'), said);
    expect(JSON.stringify(await transcript(task.payload.run_id))).not.toContain(token);
    await change(task.id, sql`claimed_at = claimed_at - interval '1 hour'`);
    expect(await verify(token)).toEqual(wrong);
    await change(task.id, sql`claimed_at = claimed_at + interval '1 hour'`);
    expect((await verify(token)).status).toBe(200);
    await worker.call('POST', at(task, 'fail'), { error: 'enough' });
    expect(await verify(token)).toEqual(wrong);
  });

  it('tells what its programs were refused, within bounds; what can’t be read is only text', async () => {
    const { worker, begin } = await pair();
    const { run_id } = await begin();
    const task = await fleet.claimed(worker);
    const log = (refused: unknown) => ({ kind: 'log', payload: { message: 'not let out', refused } });
    const evil = { host: 'evil.example', port: 443, times: 2 };
    const many = (from: number) =>
      Array.from({ length: 20 }, (_, nth) => ({ host: `h${from + nth}.example`, port: 80, times: 1 }));
    const wrong = ['none', [{ ...evil, port: 1e6 }], [{ ...evil, host: 'a b' }], [...many(0), evil]];
    const events = [log([evil]), ...wrong.map(log), log([evil])];
    expect((await worker.call('POST', at(task, 'events'), { events })).status).toBe(204);
    expect(await runRefusals(fleet.kit.database.db, run_id)).toEqual([
      { ...evil, times: 4, door: 'program' },
    ]);
    for (let from = 0; from < 200; from += 20)
      await worker.call('POST', at(task, 'events'), { events: [log(many(from))] });
    expect((await runRefusals(fleet.kit.database.db, run_id)).length).toBeLessThan(70);
    await worker.call('POST', at(task, 'fail'), { error: 'enough' });
  });

  it('takes whatever kinds of events the worker has, but none that the service speaks by', async () => {
    const { worker, begin } = await pair();
    const { run_id } = await begin();
    const task = await fleet.claimed(worker);
    const events = [
      { kind: 'stdout', payload: { text: 'one' } },
      { kind: 'vendor.step:2', payload: 'two' },
      { kind: 'progress', payload: 0.5 },
      { kind: 'started' },
      { kind: 'action', payload: { verb: 'status', ok: true } },
      { kind: '<b>bold</b>', payload: null },
    ];
    expect((await worker.call('POST', at(task, 'events'), { events })).status).toBe(204);
    const told = (await transcript(run_id)).map(({ kind, payload }) => [kind, payload]);
    expect(told.slice(-6)).toEqual([
      ['stdout', { text: 'one' }],
      ['vendor.step:2', { text: 'two' }],
      ['progress', { value: 0.5 }],
      ['started', {}],
      ['log', { event: 'action', verb: 'status', ok: true }],
      ['log', { event: '<b>bold</b>' }],
    ]);
    expect((await worker.call('POST', at(task, 'fail'), { error: '' })).status).toBe(204);
    expect(await fleet.run(run_id)).toMatchObject({ error: 'the worker reported a failure' });
  });

  it('belongs to the worker that claimed it: to every other one it is not there', async () => {
    const { worker, begin, tag } = await pair();
    const other = await fleet.register({ tags: [tag] });
    await begin();
    const task = await fleet.claimed(worker);
    expect(task.payload.service_api_key).toBeUndefined();
    const requests: [string, string, unknown][] = [
      ['GET', 'control', undefined],
      ['POST', 'events', { events: [{ kind: 'log', payload: {} }] }],
      ['POST', 'complete', { summary: 'stolen' }],
      ['POST', 'fail', { error: 'stolen' }],
      // Nobody learns from a malformed body that a task exists.
      ['POST', 'events', { events: 'none' }],
      ['POST', 'complete', {}],
      ['POST', 'fail', undefined],
    ];
    for (const [method, what, body] of requests) {
      expect((await other.call(method, at(task, what), body)).status).toBe(404);
      expect((await worker.call(method, at({ id: crypto.randomUUID() }, what), body)).status).toBe(404);
    }
    expect((await stored(task.id)).status).toBe('claimed');
    expect((await worker.call('GET', at(task, 'control'))).body).toEqual({ cancel: false });
    await worker.call('POST', at(task, 'complete'), { summary: '' });
  });

  it('that fails ends its run at once, with the reason; a repeat changes nothing', async () => {
    const { worker, begin } = await pair();
    const { run_id } = await begin();
    const task = await fleet.claimed(worker);
    expect((await worker.call('POST', at(task, 'fail'), { error: 'no disk left' })).status).toBe(204);
    expect(await fleet.run(run_id)).toMatchObject({ status: 'failed', error: 'no disk left' });
    expect((await worker.call('POST', at(task, 'fail'), { error: 'again' })).status).toBe(204);
    expect((await worker.call('POST', at(task, 'complete'), { summary: 'late' })).status).toBe(409);
    expect((await worker.call('GET', at(task, 'control'))).body).toEqual({ cancel: true });
    expect((await stored(task.id)).payload).toEqual({});
  });

  it('without a summary is refused, and stays as it was', async () => {
    const { worker, begin } = await pair();
    await begin();
    const task = await fleet.claimed(worker);
    for (const body of [{}, { summary: 1 }, { summary: 'x', input_tokens: -1 }])
      expect((await worker.call('POST', at(task, 'complete'), body)).status).toBe(400);
    expect((await stored(task.id)).status).toBe('claimed');
    await worker.call('POST', at(task, 'fail'), { error: 'x' });
  });
});

describe('a run that is called off', () => {
  it('tells its worker to stop, ends cancelled then, and takes no result', async () => {
    const { worker, begin } = await pair();
    const { run_id } = await begin();
    const task = await fleet.claimed(worker);
    expect((await cancel(run_id)).status).toBe(200);
    expect((await worker.call('POST', at(task, 'complete'), { summary: 'late' })).status).toBe(409);
    expect((await worker.call('GET', at(task, 'control'))).body).toEqual({ cancel: true });
    expect(await fleet.run(run_id)).toMatchObject({ status: 'cancelled' });
    expect((await stored(task.id)).status).toBe('cancelled');
    expect((await worker.call('GET', at(task, 'control'))).body).toEqual({ cancel: true });
  });

  it('is not handed out any more', async () => {
    const { worker, begin } = await pair();
    const { run_id } = await begin();
    const task = await queued(run_id);
    await cancel(run_id);
    expect(await worker.claim()).toBeUndefined();
    expect(await fleet.ended(run_id)).toMatchObject({ status: 'cancelled' });
    expect(await stored(task.id)).toMatchObject({ status: 'cancelled' });
    expect((await stored(task.id)).payload).toEqual({});
  });
});

describe('a claim', () => {
  it('needs all required tags, of those that are stored; the body only takes some away', async () => {
    const [a, b] = [crypto.randomUUID(), crypto.randomUUID()];
    const both = await fleet.register({ tags: [a, b] });
    const one = await fleet.register({ tags: [a] });
    const { run_id } = await fleet.work({ tags: [a, b] });
    await queued(run_id);
    expect(await one.claim()).toBeUndefined();
    expect(await one.claim({ tags: [a, b] })).toBeUndefined();
    expect(await both.claim({ tags: [a] })).toBeUndefined();
    const task = await waitFor(async () => both.claim({ tags: [a, b, 'c'] }), { what: 'the task' });
    expect(task.heartbeat_run_id).toBe(run_id);
  });

  it('takes the tags of the agent, else of its project, else of its company', async () => {
    const tags = { agent: crypto.randomUUID(), project: crypto.randomUUID(), company: crypto.randomUUID() };
    const { headers } = fleet.cast.admin;
    const { company_id } = fleet.cast;
    const setCompany = async (default_worker_tags: string[]) =>
      fleet.call('PATCH', `/api/companies/${company_id}`, headers, { default_worker_tags });
    await setCompany([tags.company]);
    const { body: project } = await fleet.call<{ id: string }>(
      'POST',
      `/api/companies/${company_id}/projects`,
      headers,
      {
        name: 'Shed',
        default_worker_tags: [tags.project],
      },
    );
    const ofCompany = await fleet.work();
    const ofAgent = await fleet.work({ tags: [tags.agent] });
    expect((await queued(ofCompany.run_id)).tags_required).toEqual([tags.company]);
    expect((await queued(ofAgent.run_id)).tags_required).toEqual([tags.agent]);
    await cancel(ofCompany.run_id);
    await fleet.ended(ofCompany.run_id);
    await fleet.call('PATCH', `/api/issues/${ofCompany.issue.id}`, headers, { project_id: project.id });
    const path = `/api/agents/${ofCompany.agent.id}/heartbeat/invoke`;
    const { body: again } = await fleet.call<{ id: string }>('POST', path, headers);
    expect((await queued(again.id)).tags_required).toEqual([tags.project]);
    await setCompany([]);
    await Promise.all([cancel(again.id), cancel(ofAgent.run_id)]);
  });

  it('of a model goes to a worker that shares it; one that names none shares all', async () => {
    const tag = crypto.randomUUID();
    const wrong = await fleet.register({ tags: [tag], shared_models: 'mine:big-*;other:small-1' });
    const right = await fleet.register({ tags: [tag], shared_models: 'mine:small*' });
    const all = await fleet.register({ tags: [tag] });
    for (const worker of [right, all]) {
      const { run_id } = await fleet.work({ tags: [tag], provider: 'mine' }, { model: 'small-1' });
      await queued(run_id);
      expect(await wrong.claim()).toBeUndefined();
      expect((await fleet.claimed(worker)).heartbeat_run_id).toBe(run_id);
    }
    // If a program does the work, the model is not the worker's concern.
    const config = { tags: [tag], provider: 'mine', local_adapter_type: 'cli_a_local' };
    const { run_id } = await fleet.work(config, { model: 'small-1' });
    expect((await fleet.claimed(wrong)).heartbeat_run_id).toBe(run_id);
  });

  it('gives nothing to a worker that drains, and nothing to one that was not seen for 5 minutes until it is', async () => {
    const { worker, begin } = await pair();
    const { run_id } = await begin();
    await queued(run_id);
    await fleet.admin('POST', `/api/admin/workers/${worker.id}/drain`);
    expect(await worker.claim()).toBeUndefined();
    await fleet.admin('POST', `/api/admin/workers/${worker.id}/undrain`);
    await fleet.kit.database.db.execute(
      sql`update workers set last_seen_at = now() - interval '301 seconds' where id = ${worker.id}`,
    );
    expect(await worker.claim()).toBeUndefined();
    expect(await worker.heartbeat()).toBe(204);
    expect((await fleet.claimed(worker)).heartbeat_run_id).toBe(run_id);
  });

  it('is won by one of many workers that want the same tasks at once', async () => {
    const tag = crypto.randomUUID();
    const workers = await Promise.all(Array.from({ length: 8 }, async () => fleet.register({ tags: [tag] })));
    const runs = await Promise.all(Array.from({ length: 4 }, async () => fleet.work({ tags: [tag] })));
    await Promise.all(runs.map(async ({ run_id }) => queued(run_id)));
    const claimed: RemoteTask[] = [];
    await waitFor(
      async () => {
        const round = await Promise.all(workers.map(async (worker) => worker.claim()));
        claimed.push(...round.filter((task) => task !== undefined));
        return claimed.length >= runs.length;
      },
      { what: 'all tasks' },
    );
    expect(claimed.map(({ heartbeat_run_id }) => heartbeat_run_id).toSorted()).toEqual(
      runs.map(({ run_id }) => run_id).toSorted(),
    );
  });
});

describe('a worker that is lost in mid task', () => {
  it('loses its claim and the key of the run a minute after its heartbeats stop naming the task', async () => {
    const { worker, begin, tag } = await pair({ local_adapter_type: 'docker', image: 'a' });
    const { run_id } = await begin();
    const task = await fleet.claimed(worker);
    const key = { Authorization: `Bearer ${task.payload.service_api_key}` };
    await worker.heartbeat([]);
    expect((await stored(task.id)).missing_since).not.toBeNull();
    await worker.heartbeat([task.id]);
    expect((await stored(task.id)).missing_since).toBeNull();
    await worker.heartbeat([]);
    await worker.heartbeat();
    await change(task.id, sql`missing_since = now() - interval '61 seconds'`);
    const other = await fleet.register({ tags: [tag] });
    const again = await fleet.claimed(other);
    expect(again).toMatchObject({ id: task.id, heartbeat_run_id: run_id, worker_id: other.id });
    expect((await fleet.call('GET', '/api/agents/me', key)).status).toBe(401);
    expect((await worker.call('POST', at(task, 'complete'), { summary: 'late' })).status).toBe(404);
    expect((await other.call('POST', at(task, 'complete'), { summary: 'Done.' })).status).toBe(204);
    expect(await fleet.ended(run_id)).toMatchObject({ status: 'succeeded', summary: 'Done.' });
  });

  it('and takes others with it fails the task in the end', async () => {
    const { worker, begin } = await pair();
    const { run_id } = await begin();
    const task = await fleet.claimed(worker);
    await change(task.id, sql`attempts = 5, missing_since = now() - interval '61 seconds'`);
    expect(await fleet.ended(run_id)).toMatchObject({
      status: 'failed',
      error: 'workers have lost the task 5 times',
    });
  });

  it('is disabled or deleted: its tasks go back to the queue at once, finished ones stay', async () => {
    const { worker, begin, tag } = await pair();
    const { run_id } = await begin();
    const task = await fleet.claimed(worker);
    await fleet.admin('POST', `/api/admin/workers/${worker.id}/disable`);
    expect(await stored(task.id)).toMatchObject({ status: 'queued', worker_id: null });
    const other = await fleet.register({ tags: [tag] });
    await fleet.claimed(other);
    await other.call('POST', at(task, 'complete'), { summary: 'Done.' });
    await fleet.ended(run_id);
    await fleet.admin('DELETE', `/api/admin/workers/${other.id}`);
    expect(await stored(task.id)).toMatchObject({ status: 'completed', worker_id: null });
  });

  it('and never comes back fails the run when its time is over', async () => {
    const { worker, begin } = await pair({ timeout_seconds: 42 });
    const { run_id } = await begin();
    const task = await fleet.claimed(worker);
    await change(task.id, sql`deadline = now() - interval '1 second'`);
    expect(await fleet.ended(run_id)).toMatchObject({
      status: 'failed',
      error: 'remote task timed out: no result from the worker within 42 s',
    });
    expect((await worker.call('POST', at(task, 'complete'), { summary: 'late' })).status).toBe(409);
    expect((await stored(task.id)).payload).toEqual({});
  });
});

it('statistics count what waits, by tag, what is under way and who is there', async () => {
  const { worker, begin, tag } = await pair();
  await begin();
  await fleet.claimed(worker);
  const { run_id } = await begin();
  await queued(run_id);
  const { body, status } = await fleet.admin<QueueStats>('GET', '/api/admin/workers/queue-stats');
  expect(status).toBe(200);
  expect(body.by_tag).toContainEqual({ tag, queued: 1 });
  expect(body.queued).toBeGreaterThanOrEqual(1);
  expect(body.claimed).toBeGreaterThanOrEqual(1);
  expect(body.completed_24h).toBeGreaterThanOrEqual(1);
  expect(body.oldest_queued_sec).not.toBeNull();
  expect(body.workers.online).toBeGreaterThan(1);
  expect((await fleet.call('GET', '/api/admin/workers/queue-stats', fleet.cast.admin.headers)).status).toBe(
    403,
  );
});

it('an admin’s stream tells of workers, a member’s does not', async () => {
  const { rows } = await fleet.kit.database.db.execute<{ company_id: string | null; data: { name: string } }>(
    sql`select company_id, data from events where type = 'worker_updated' order by seq limit 1`,
  );
  expect(rows[0]).toMatchObject({ company_id: null, data: { status: 'approved', deleted: false } });
  expect(JSON.stringify(rows)).not.toContain('key');
});

it('without a license no task is handed out and no worker comes, but one that begins again ends what was begun', async () => {
  const { worker, begin } = await pair();
  const { run_id } = await begin();
  const task = await fleet.claimed(worker);
  const until = (instant: string) =>
    fleet.kit.database.db.execute(
      sql`update instance_settings set value = value || jsonb_build_object('until', ${instant}::text) where key = 'entitlement'`,
    );
  await until('2020-01-01T00:00:00Z');
  const url = await fleet.anotherWeb({});
  const who = { Authorization: `Bearer ${worker.key}` };
  const refused = await fleet.call('POST', '/api/workers/tasks/claim', who, undefined, url);
  const beat = await fleet.call('POST', '/api/workers/heartbeat', who, undefined, url);
  const again = await fleet.call('POST', '/api/workers/register', who, undefined, url);
  const late = await fleet.call('POST', '/api/workers/register', {}, { name: 'late' }, url);
  const done = await fleet.call('POST', at(task, 'complete'), who, { summary: 'Done.' }, url);
  await until('infinity');
  const statuses = [refused, beat, again, late, done].map(({ status }) => status);
  expect(statuses).toEqual([403, 204, 200, 403, 204]);
  expect(await fleet.ended(run_id)).toMatchObject({ status: 'succeeded' });
});
