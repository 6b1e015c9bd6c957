/**
 * Prices of models, from a form of the web tier to a scheduler's charges and budget checks.
 * @in-order from a model without a price on
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { BudgetPolicy, CostEvent, ModelPrice, Run } from '@acp/contract';
import { createAgent, type FakeModel, startFakeModel, waitFor } from '@acp/testkit';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type Person } from '../http/cast.ts';
import { TestFleet } from '../workers/fleet.ts';

let fleet: TestFleet;
let model: FakeModel;
let folder: string;
const usage = { input_tokens: 200, output_tokens: 1000, cached_tokens: 100 };
const company = () => `/api/companies/${fleet.cast.company_id}`;
const pages = () => `/companies/${fleet.cast.company_id}/costs`;

beforeAll(async () => {
  model = await startFakeModel();
  model.setScript(() => ({ text: 'Done.', usage }));
  fleet = await TestFleet.start('prices');
  folder = await mkdtemp(path.join(tmpdir(), 'prices-'));
  const file = path.join(folder, 'pricing.json');
  await writeFile(file, JSON.stringify({ 'in-the-file': { InputPer1K: 0.001, OutputPer1K: 0.002 } }));
  await fleet.startScheduler({
    SERVICE_DEFAULT_LLM_PROVIDER: 'family_compat',
    SERVICE_DEFAULT_LLM_MODEL: 'fake-model',
    SERVICE_DEFAULT_LLM_BASE_URL: model.url,
    SERVICE_PRICING_FILE: file,
  });
});
afterAll(async () => {
  await fleet.stop();
  await model.close();
  await rm(folder, { recursive: true });
});

const pageOf = async (where: string, { headers }: Person) =>
  (await fleet.call<string>('GET', where, headers)).body
    .replaceAll(/<title>[^<]*<\/title>|<[^>]+>/g, ' ')
    .replaceAll(/\s+/g, ' ');

async function send(where: string, { headers }: Person, fields: Record<string, string>) {
  const answer = await fetch(fleet.url + where, {
    method: 'POST',
    redirect: 'manual',
    headers: { ...headers, 'Sec-Fetch-Site': 'same-origin' },
    body: new URLSearchParams(fields),
  });
  return { status: answer.status, location: answer.headers.get('location'), text: await answer.text() };
}

/** The charge for a run of a new agent with the model. */
async function chargedFor(name: string): Promise<CostEvent> {
  const agent = await createAgent(
    fleet.kit.database.db,
    { id: fleet.cast.company_id },
    {
      model: name,
    },
  );
  const { headers } = fleet.cast.member;
  const { body: run } = await fleet.call<Run>('POST', `/api/agents/${agent.id}/heartbeat/invoke`, headers);
  return waitFor(async () => {
    const { body } = await fleet.call<CostEvent[]>('GET', `${company()}/cost-events`, headers);
    return body.find(({ run_id }) => run_id === run.id);
  });
}

describe('the price of a model', () => {
  it('that nobody has set is estimated and said to be so; one set by an admin’s form holds for later runs', async () => {
    const { admin, viewer } = fleet.cast;
    const estimated = await chargedFor('vendor/new-model');
    expect(estimated).toMatchObject({ cost_usd: 0.0156, price_estimated: true, model: 'vendor/new-model' });
    expect(await pageOf(pages(), viewer)).toMatch(
      /vendor\/new-model price unknown, estimated 100 % \$0\.016/,
    );
    expect(await pageOf(`${pages()}/entries`, viewer)).toContain('estimated $0.016');
    expect(await pageOf(`${pages()}/prices`, admin)).toMatch(
      /Price unknown, estimated .* vendor\/new-model \$0\.016 200 1,000 Set its price .* Set the price/,
    );
    const form = { model: 'vendor/new-model', input_usd: '2', output_usd: '10', cached_usd: '0.2' };
    const made = await send(`${pages()}/prices`, admin, form);
    expect(made).toMatchObject({ status: 303, location: `${pages()}/prices?done=priced` });
    expect(await chargedFor('vendor/new-model')).toMatchObject({ cost_usd: 0.01022, price_estimated: false });
    const page = await pageOf(`${pages()}/prices`, viewer);
    expect(page).toMatch(/vendor\/new-model \$2\.00 \$10\.00 \$0\.20/);
    expect(page).not.toMatch(/Price unknown|Set a price|Remove/);
  });

  it('is no company’s to change where the operator’s file names the model', async () => {
    await send(`${pages()}/prices`, fleet.cast.admin, {
      model: 'in-the-file',
      input_usd: '0',
      output_usd: '0',
    });
    expect(await chargedFor('in-the-file')).toMatchObject({ cost_usd: 0.0022, price_estimated: false });
  });

  it('is what each turn of a run is said to have cost, on the page of the run', async () => {
    const { admin, viewer } = fleet.cast;
    await send(`${pages()}/prices`, admin, { model: 'two-turns', input_usd: '0', output_usd: '20' });
    let calls = 0;
    model.setScript(() => ({ text: (calls += 1) === 1 ? '/list-issues' : 'Done.', usage }));
    const { run_id, cost_usd } = await chargedFor('two-turns');
    expect(cost_usd).toBe(0.04);
    const page = await pageOf(`/runs/${run_id}`, viewer);
    expect(page.match(/Turn \d .{0,90}200 input tokens, 1,000 output tokens, \$0\.02\b/g)).toHaveLength(2);
    model.setScript(() => ({ text: 'Done.', usage }));
    const { run_id: other } = await chargedFor('two-turns');
    expect(await pageOf(`/runs/${other}`, viewer)).toMatch(
      /Answer .{0,90}200 input tokens, 1,000 output tokens, \$0\.02\b/,
    );
  });

  it('counts towards budgets: what the built-in estimate would leave room for, it stops', async () => {
    const { admin, member } = fleet.cast;
    await send(`${pages()}/prices`, admin, { model: 'dear', input_usd: '1', output_usd: '900' });
    const { body: policy } = await fleet.call<BudgetPolicy>(
      'POST',
      `${company()}/budget-policies`,
      admin.headers,
      { scope_type: 'company', window: 'lifetime', limit_usd: 0.5, action: 'pause' },
    );
    const { agent_id, cost_usd } = await chargedFor('dear');
    expect(cost_usd).toBe(0.9002);
    const again = await waitFor(async () => {
      const invoke = `/api/agents/${agent_id}/heartbeat/invoke`;
      const answer = await fleet.call('POST', invoke, member.headers);
      return answer.status === 409 && answer.body;
    });
    expect(again).toEqual({ error: 'budget exceeded' });
    await fleet.call('DELETE', `/api/budget-policies/${policy.id}`, admin.headers);
  });

  it('is refused beside its field where it is none, and to whoever is no admin', async () => {
    const { admin, member, agent } = fleet.cast;
    const form = { model: 'm', input_usd: '-1', output_usd: '1' };
    const negative = await send(`${pages()}/prices`, admin, form);
    expect(negative.status).toBe(400);
    expect(negative.text).toMatch(/id="e-input_usd" role="alert"/);
    const empty = await send(`${pages()}/prices`, admin, { ...form, input_usd: '1', output_usd: '' });
    expect(empty.text).toMatch(/id="e-output_usd" role="alert">May not be empty\./);
    expect((await send(`${pages()}/prices`, member, { ...form, input_usd: '1' })).status).toBe(403);
    const set = { model: 'm', input_usd: 1, output_usd: 1 };
    expect((await fleet.call('PUT', `${company()}/model-prices`, agent.headers, set)).status).toBe(403);
  });

  it('is replaced when it is set again, removed by its own company alone, and bounded in number', async () => {
    const { admin, stranger, other_company_id } = fleet.cast;
    const put = async (body: object) =>
      fleet.call<ModelPrice>('PUT', `${company()}/model-prices`, admin.headers, body);
    const { body: first } = await put({ model: 'twice', input_usd: 1, output_usd: 1, cached_usd: 0.5 });
    const { body: second } = await put({ model: 'twice', input_usd: 0.000000001, output_usd: 2 });
    expect(second).toMatchObject({ id: first.id, input_usd: 0.000000001, output_usd: 2, cached_usd: null });
    const theirs = `/api/companies/${other_company_id}/model-prices/${first.id}`;
    expect((await fleet.call('DELETE', theirs, stranger.headers)).status).toBe(404);
    const removed = await send(`${pages()}/prices/${first.id}/delete`, admin, {});
    expect(removed.location).toBe(`${pages()}/prices?done=unpriced`);
    const { body: left } = await fleet.call<ModelPrice[]>('GET', `${company()}/model-prices`, admin.headers);
    expect(left.map(({ model: name }) => name)).not.toContain('twice');
    await fleet.kit.database.pool.query(
      `insert into model_prices (company_id, model, input_usd, output_usd)
        select $1, 'm' || n, 1, 1 from generate_series(1, 200) n`,
      [fleet.cast.company_id],
    );
    expect(await put({ model: 'one more', input_usd: 1, output_usd: 1 })).toMatchObject({ status: 409 });
    expect((await put({ model: 'm1', input_usd: 2, output_usd: 2 })).status).toBe(409);
  });
});
