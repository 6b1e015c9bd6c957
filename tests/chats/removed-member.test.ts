/** Chats of someone who is removed from the company. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Chat, ChatMessage } from '@acp/contract';
import { createAgent, type FakeModel, startFakeModel, waitFor } from '@acp/testkit';
import { TestFleet } from '../workers/fleet.ts';

let fleet: TestFleet;
let model: FakeModel;

beforeAll(async () => {
  model = await startFakeModel();
  fleet = await TestFleet.start('chats_removed');
  await fleet.startScheduler({
    SERVICE_DEFAULT_LLM_PROVIDER: 'family_compat',
    SERVICE_DEFAULT_LLM_MODEL: 'fake-model',
    SERVICE_DEFAULT_LLM_BASE_URL: model.url,
  });
});
afterAll(async () => {
  await fleet.stop();
  await model.close();
});

it('a message that waits for its turn is not answered, nor acted upon, once its author was removed', async () => {
  const { cast, kit } = fleet;
  const { company_id, member, admin } = cast;
  const gate = Promise.withResolvers<void>();
  model.setScript(async () => {
    await gate.promise;
    return 'Done.';
  });
  const agent = await createAgent(kit.database.db, { id: company_id }, { name: 'Ada' });
  const { body: chat } = await fleet.call<Chat>(
    'POST',
    `/api/companies/${company_id}/chats`,
    member.headers,
    {
      agent_id: agent.id,
    },
  );
  for (const body_markdown of ['First.', 'Second.'])
    await fleet.call<ChatMessage>('POST', `/api/chats/${chat.id}/messages`, member.headers, {
      body_markdown,
    });
  await waitFor(() => model.requests.length === 1);
  const path = `/api/companies/${company_id}/members/${member.user_id}`;
  expect((await fleet.call('DELETE', path, admin.headers)).status).toBeLessThan(300);
  gate.resolve();
  const states = async () =>
    (
      await kit.database.pool.query(
        `select body_markdown, status, error from chat_messages where chat_id = $1 and role = 'user' order by position`,
        [chat.id],
      )
    ).rows;
  await waitFor(async () =>
    (await states()).every(({ status }) => status !== 'waiting' && status !== 'answering'),
  );
  expect(await states()).toEqual([
    { body_markdown: 'First.', status: 'answered', error: null },
    { body_markdown: 'Second.', status: 'failed', error: 'whoever requested it may no longer do so' },
  ]);
  expect(model.requests).toHaveLength(1);
});
