/** Approvals, inbox and budgets over HTTP: who decides, the outcome of a withheld hire, the response to a breach. */
import { beforeAll, describe, expect, it } from '@jest/globals';
import { schema, transaction } from '@acp/db';
import type { Database } from '@acp/db';
import { mintRunKey, settleBudgets } from '@acp/core';
import { createLogger, loadConfig } from '@acp/kernel';
import { createRunningRun, databaseWithQueue } from '@acp/testkit';
import { eq } from 'drizzle-orm';
import type { Express } from 'express';
import request from 'supertest';
import { createApp } from '../../apps/web/src/app.ts';
import { createCast } from './cast.ts';
import type { Caller, Cast } from './cast.ts';

let database: Database;
let app: Express;
beforeAll(async () => {
  database = await databaseWithQueue();
  app = createApp({
    database,
    logger: createLogger({ level: 'error', format: 'json', role: 'test' }),
    config: loadConfig({ RATE_LIMIT_RPM: '0' }),
    validate_responses: true,
  });
});

const post = (path: string, who: Caller, body: object = {}) =>
  request(app).post(path).set(who.headers).send(body);
const patch = (path: string, who: Caller, body: object) =>
  request(app).patch(path).set(who.headers).send(body);
const get = (path: string, who: Caller) => request(app).get(path).set(who.headers);
const exceeded = { error: 'budget exceeded' };

describe('an agent that may not hire', () => {
  it('gets 202 and an approval, which a person approves once and no agent does', async () => {
    const cast = await createCast(database);
    await database.db
      .update(schema.agents)
      .set({ permissions: { 'agents.create': false } })
      .where(eq(schema.agents.id, cast.agent_id));
    const path = `/api/companies/${cast.company_id}`;
    const asked = await post(`${path}/agents`, cast.agent, { name: 'Linus', role: 'qa' }).expect(202);
    expect(asked.body).toMatchObject({
      type: 'hire_agent',
      status: 'pending',
      payload: { name: 'Linus', role: 'qa' },
      requested_by_agent_id: cast.agent_id,
      applied_at: null,
    });
    const approval = `/api/approvals/${asked.body.id}`;
    await post(`${approval}/approve`, cast.agent).expect(403);
    await post(`${approval}/approve`, cast.foreign_board).expect(404);
    await post(`${approval}/approve`, cast.board_member, { note: 'fine' }).expect(200);
    await post(`${approval}/reject`, cast.member).expect(409, { error: 'approval is resolved already' });
    const listed = await get(`${path}/approvals?status=approved,rejected`, cast.viewer).expect(200);
    expect(listed.body).toMatchObject([{ id: asked.body.id, status: 'approved', decision_note: 'fine' }]);
    await get(`${path}/approvals?status=maybe`, cast.viewer).expect(400);
  });
});

describe('the inbox', () => {
  it('is for people: an agent with a good key is told so, a foreign one finds nothing', async () => {
    const cast = await createCast(database);
    const path = `/api/companies/${cast.company_id}/inbox`;
    await get(path, cast.agent).expect(403, { error: 'not for agents' });
    await get(path, cast.foreign_agent).expect(404);
    for (const who of [cast.viewer, cast.board_viewer]) await get(path, who).expect(200);
  });
});

describe('a budget', () => {
  it('is made by admins, breached by a report, and refuses invokes and resumes until it is resolved', async () => {
    const cast = await createCast(database);
    const path = `/api/companies/${cast.company_id}`;
    const policy = {
      scope_type: 'agent',
      scope_id: cast.agent_id,
      window: 'week',
      limit_usd: 0.3,
      action: 'pause',
    };
    await post(`${path}/budget-policies`, cast.member, policy).expect(403);
    const made = await post(`${path}/budget-policies`, cast.admin, policy).expect(201);
    expect(made.body).toMatchObject({ limit_usd: 0.3, warn_percent: 80, enabled: true });
    const cost = { provider: 'elsewhere', model: 'big', cost_usd: 0.1 };
    for (let n = 0; n < 3; n += 1) await post(`${path}/cost-events`, cast.agent, cost).expect(201);
    await transaction(database, async (tx) => settleBudgets(tx, cast.company_id));
    const invoke = `/api/agents/${cast.agent_id}/heartbeat/invoke`;
    await post(invoke, cast.member).expect(409, exceeded);
    await post(`/api/agents/${cast.agent_id}/resume`, cast.member).expect(409, exceeded);
    const open = await get(`${path}/budget-incidents?status=open`, cast.viewer).expect(200);
    // Three times 0.1 is exactly 0.3, not a float near it.
    expect(open.body).toMatchObject([
      { kind: 'breach', policy_id: made.body.id, spent_usd: 0.3, limit_usd: 0.3 },
    ]);
    const resolve = `/api/budget-incidents/${open.body[0].id}/resolve`;
    await post(resolve, cast.member).expect(403);
    await post(resolve, cast.admin, { limit_usd: 0.2 }).expect(400);
    await post(resolve, cast.admin, { limit_usd: 1 }).expect(200);
    await post(resolve, cast.admin).expect(409);
    await transaction(database, async (tx) => settleBudgets(tx, cast.company_id));
    await post(invoke, cast.member).expect(201);
    await summary(cast);
  });
});

describe('an agent by its own key', () => {
  it('resumes itself as a member may, but not while its budget is spent, and reports no one else’s costs', async () => {
    const cast = await createCast(database);
    const path = `/api/companies/${cast.company_id}`;
    const own = `/api/agents/${cast.agent_id}`;
    await post(`${own}/pause`, cast.member, { reason: 'wait' }).expect(200);
    const resumed = await post(`${own}/resume`, cast.agent).expect(200);
    expect(resumed.body).toMatchObject({ status: 'idle' });
    const told = await get(`${path}/activity?entity_id=${cast.agent_id}&entity_type=agent`, cast.viewer);
    expect(told.body[0]).toMatchObject({
      actor_type: 'agent',
      actor_id: cast.agent_id,
      action: 'agent.resumed',
    });
    const { body: other } = await post(`${path}/agents`, cast.member, { name: 'Other' }).expect(201);
    const cost = { provider: 'elsewhere', model: 'big', cost_usd: 1 };
    await post(`${path}/cost-events`, cast.agent, { ...cost, agent_id: other.id }).expect(403);
    await post(`${path}/cost-events`, cast.agent, { ...cost, cost_usd: -1 }).expect(400);
    const policy = { scope_type: 'agent', scope_id: cast.agent_id, window: 'week', limit_usd: 1 };
    await post(`${path}/budget-policies`, cast.admin, { ...policy, action: 'pause' }).expect(201);
    await post(`${path}/cost-events`, cast.agent, cost).expect(201);
    await transaction(database, async (tx) => settleBudgets(tx, cast.company_id));
    await post(`${own}/resume`, cast.agent).expect(409, exceeded);
    await post(`${own}/heartbeat/invoke`, cast.agent).expect(409, exceeded);
  });
});

describe('a run’s key', () => {
  it('mints no other, by a hire neither, and moves no agent', async () => {
    const { company, ada, run } = await createRunningRun(database.db);
    const lease = { id: run.run_id, agent_id: ada.id, company_id: company.id };
    const raw_key = await transaction(database, async (tx) => mintRunKey(tx, lease));
    const inRun = { headers: { authorization: `Bearer ${raw_key}` } };
    const path = `/api/companies/${company.id}`;
    const hired = await post(`${path}/agents`, inRun, { name: 'Hand' }).expect(201);
    expect(hired.body).toMatchObject({ agent: { name: 'Hand' }, api_key: null });
    await post(`${path}/agent-api-keys`, inRun, { agent_id: ada.id }).expect(403);
    const move = { adapter_type: 'cli_a_local' };
    await patch(`/api/agents/${ada.id}`, inRun, move).expect(403);
    await patch(`/api/agents/${hired.body.agent.id}`, inRun, move).expect(403);
    await patch(`/api/agents/${hired.body.agent.id}`, inRun, { title: 'Hand' }).expect(200);
  });
});

describe('a test with another adapter than the agent’s own', () => {
  it('is refused to who may not give it that adapter with what it is allowed', async () => {
    const cast = await createCast(database);
    const path = `/api/agents/${cast.agent_id}`;
    const config = { adapter_config: { allow_dangerous_permissions: true } };
    await patch(path, cast.admin, { adapter_type: 'cli_b_sandbox', ...config }).expect(200);
    const test = `/api/companies/${cast.company_id}/agents/${cast.agent_id}/test-codex-adapter`;
    await post(test, cast.member).expect(403);
    await post(test, cast.agent).expect(403);
  });
});

async function summary(cast: Cast): Promise<void> {
  const path = `/api/companies/${cast.company_id}/costs/summary`;
  const { body } = await get(`${path}?group_by=agent&from=2020-01-01`, cast.viewer).expect(200);
  expect(body).toMatchObject({ total_usd: 0.3, groups: [{ key: cast.agent_id, cost_usd: 0.3, runs: 0 }] });
  await get(`${path}?group_by=mood`, cast.viewer).expect(400);
}
