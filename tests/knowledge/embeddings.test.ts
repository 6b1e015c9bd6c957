/**
 * Semantic search from the outside: two tiers, and an embedding provider that knows which words mean the same.
 * @in-order each test goes on with the notes and the provider of those before
 */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Issue, KnowledgePassage, Note, Provider } from '@acp/contract';
import { schema } from '@acp/db';
import {
  createAgent,
  type Embed,
  type FakeModel,
  startFakeModel,
  waitFor,
  wordEmbeddings,
} from '@acp/testkit';
import { eq } from 'drizzle-orm';
import { TestFleet, type Who } from '../workers/fleet.ts';

let fleet: TestFleet;
let model: FakeModel;
let owner: Who;
/** The provider's current behaviour, and the number of texts it was asked for. */
let embed: Embed;
let asked: string[] = [];
let provider: Provider;
const words = wordEmbeddings([
  ['car', 'automobile'],
  ['soup', 'broth'],
]);
const company = () => `/api/companies/${fleet.cast.company_id}`;

beforeAll(async () => {
  model = await startFakeModel({
    embed: (texts) => {
      asked.push(...texts);
      return embed(texts);
    },
  });
  fleet = await TestFleet.start('embeddings');
  await fleet.startScheduler({
    SERVICE_DEFAULT_LLM_PROVIDER: 'family_compat',
    SERVICE_DEFAULT_LLM_MODEL: 'fake-model',
    SERVICE_DEFAULT_LLM_BASE_URL: model.url,
  });
  owner = fleet.cast.member.headers;
  embed = words;
  await write('Garage', 'The automobile stands behind the house.');
  await waitFor(async () => (await search('garage')).length > 0, { what: 'the note' });
  ({ body: provider } = await fleet.call<Provider>(
    'POST',
    `${company()}/providers`,
    fleet.cast.admin.headers,
    {
      name: 'Embeddings',
      adapter_type: 'family_compat',
      base_url: model.url,
      embeddings: true,
      embedding_model: 'm1',
    },
  ));
});
afterAll(async () => {
  await fleet.stop();
  await model.close();
});
beforeEach(() => {
  model.setScript(() => 'ok');
  embed = words;
  asked = [];
});

const write = async (title: string, body_markdown: string) =>
  (await fleet.call<Note>('POST', `${company()}/notes`, owner, { title, body_markdown })).body;
const search = async (q: string, who = owner, path = company()) =>
  (await fleet.call<KnowledgePassage[]>('GET', `${path}/knowledge/search?q=${encodeURIComponent(q)}`, who))
    .body;
const titles = async (q: string) => (await search(q)).map(({ title }) => title);
const state = async () => {
  const { knowledge_embeddings } = schema;
  const [row] = await fleet.kit.database.db
    .select()
    .from(knowledge_embeddings)
    .where(eq(knowledge_embeddings.company_id, fleet.cast.company_id));
  return row!;
};
/** Resolves once all requested embeddings are done. */
const embedded = async () =>
  waitFor(
    async () => {
      const { sources } = { sources: await fleet.kit.database.db.select().from(schema.knowledge_sources) };
      const cut = sources.every(({ revision, chunked_revision }) => revision === chunked_revision);
      return cut && (await state()).wanted_at === null;
    },
    { what: 'the embeddings' },
  );
const change = async (body: object) => {
  const path = `/api/providers/${provider.id}`;
  expect((await fleet.call('PATCH', path, fleet.cast.admin.headers, body)).status).toBe(200);
};

describe('a company with a provider of embeddings', () => {
  it('finds what means the same in other words, in the search and in the prompt of a run; it is charged', async () => {
    await embedded();
    const [passage] = await search('Where is my car?');
    expect(passage).toMatchObject({ title: 'Garage', source_type: 'note' });
    const agent = await createAgent(fleet.kit.database.db, { id: fleet.cast.company_id });
    await fleet.call<Issue>('POST', `${company()}/issues`, owner, {
      title: 'Wash the car',
      assignee_agent_id: agent.id,
    });
    const prompt = await waitFor(
      () =>
        model.requests
          .flatMap(({ messages }) => messages.map(({ content }) => content))
          .find((text) => text.includes('Wash the car')),
      { what: 'the prompt' },
    );
    expect(prompt).toContain('The automobile stands behind the house.');
    const costs = await fleet.kit.database.db.select().from(schema.cost_events);
    const [cost] = costs.filter(({ model: name }) => name === 'm1');
    expect(cost).toMatchObject({
      company_id: fleet.cast.company_id,
      agent_id: null,
      provider: 'family_compat',
    });
    expect(cost!.input_tokens).toBeGreaterThan(0);
    expect(
      await search('car', fleet.cast.stranger.headers, `/api/companies/${fleet.cast.other_company_id}`),
    ).toEqual([]);
  });

  it('finds it for an agent that looks it up itself', async () => {
    const agent = await createAgent(fleet.kit.database.db, { id: fleet.cast.company_id });
    model.setScript(({ messages }) =>
      messages.at(-1)!.content.includes('Answer to /mcp:')
        ? 'Found.'
        : '/mcp:search_knowledge {"q": "where is the car"}',
    );
    await fleet.call<Issue>('POST', `${company()}/issues`, owner, {
      title: 'Paint the fence',
      assignee_agent_id: agent.id,
    });
    const told = await waitFor(
      () =>
        model.requests
          .filter(({ messages }) => JSON.stringify(messages).includes('Paint the fence'))
          .flatMap(({ messages }) => messages.at(-1)!.content)
          .find((text) => text.includes('Answer to /mcp:')),
      { what: 'the answer of the tool' },
    );
    expect(told).toContain('automobile');
  });

  it('has only what is new embedded, and a changed note is not found by what it said', async () => {
    await embedded();
    const note = await write('Lunch', 'There is broth today.');
    await embedded();
    expect(asked).toEqual(['Lunch\n\nThere is broth today.']);
    expect(await titles('soup')).toEqual(['Lunch']);
    await fleet.call('PATCH', `/api/notes/${note.id}`, owner, { body_markdown: 'There is bread today.' });
    expect(await titles('soup')).toEqual([]);
    await embedded();
    expect(await titles('soup')).toEqual([]);
  });

  it('has all embedded anew by another model', async () => {
    await change({ embedding_model: 'm2' });
    await embedded();
    expect(await state()).toMatchObject({ model: 'm2', dimensions: 256, error: null });
    expect(asked).toContain('Garage\n\nThe automobile stands behind the house.');
    expect(await titles('car')).toContain('Garage');
  });

  it('finds by words while the provider fails, says why, and goes on when it is mended', async () => {
    embed = () => {
      throw new Error('out of order');
    };
    await write('Cellar', 'Potatoes lie here.');
    const failed = await waitFor(async () => (await state()).error, { what: 'the failure' });
    expect(failed).toContain('500');
    expect(await titles('potatoes')).toEqual(['Cellar']);
    const page = `/companies/${fleet.cast.company_id}/knowledge`;
    const [told, untold] = await Promise.all(
      [fleet.cast.admin, fleet.cast.viewer].map(async ({ headers }) =>
        fleet.call<string>('GET', page, headers),
      ),
    );
    expect(told!.body).toContain('full-text search works');
    expect(told!.body).toContain('answered 500');
    expect(untold!.body).not.toContain('answered 500');
    embed = words;
    await change({ enabled: true });
    await embedded();
    expect(await state()).toMatchObject({ error: null, failures: 0 });
  });

  it.each([
    ['no numbers', () => [[Number.NaN]]],
    ['too few', () => []],
    ['nothing but zeros', (texts: string[]) => texts.map(() => [0, 0])],
    ['another length than before', (texts: string[]) => texts.map(() => [1, 2, 3])],
  ])('stores nothing of a provider that answers %s', async (_what, answer) => {
    embed = answer;
    const { id } = await write('Odd', `Odd ${_what}`);
    await waitFor(async () => (await state()).error, { what: 'the failure' });
    expect((await state()).dimensions).toBe(256);
    expect((await titles(`odd ${_what}`))[0]).toBe('Odd');
    embed = words;
    await change({ enabled: true });
    await embedded();
    await fleet.call('DELETE', `/api/notes/${id}`, owner);
    expect(await titles('odd')).toEqual([]);
  });

  it('goes by words alone once its provider is switched off', async () => {
    await change({ enabled: false });
    expect(await titles('car')).toEqual([]);
    expect(await titles('automobile')).toEqual(['Garage']);
  });
});
