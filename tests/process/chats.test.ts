/** A scheduler dies in the middle of a reply: nothing is lost, nothing is sent twice. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Chat, ChatMessage } from '@acp/contract';
import { waitFor } from '@acp/testkit';
import { FrameReader } from '../chats/frames.ts';
import { createTeam, startTwoTiers, type TwoTiers } from './api.ts';

let tiers: TwoTiers;

beforeAll(async () => {
  tiers = await startTwoTiers('chats_killed');
});
afterAll(async () => tiers.stop());

it('a reply whose scheduler is killed is made anew, one that had acted is told as failed; what waited is answered', async () => {
  const { api, model, web } = tiers;
  const asked = new Map<string, number>();
  model.setScript(({ messages }) => {
    const question = messages.findLast(({ role }) => role === 'user')!.content;
    const times = (asked.get(question) ?? 0) + 1;
    asked.set(question, times);
    if (times > 1) return `Answer to ${question}`;
    if (question === 'plain') return { chunks: ['Half an ', 'answer'], chunk_delay_ms: 10, stall: 'end' };
    if (question === 'acting') return 'I do it.\n/create-issue Buy paint\n/list-issues';
    // The second turn of the acting agent.
    if (question.includes('list-issues')) return { chunks: ['Still '], stall: 'end' };
    return `Answer to ${question}`;
  });
  const scheduler = await tiers.startScheduler();
  const { company_id, agents } = await createTeam(api, ['Plain', 'Acting']);
  const open = async (agent_id: string) =>
    (await api.call<Chat>('POST', `/api/companies/${company_id}/chats`, { agent_id })).id;
  const [plain, acting] = [await open(agents[0]!.id), await open(agents[1]!.id)];
  const stream = async (chat: string, body_markdown: string) =>
    FrameReader.open(`${web.url}/api/chats/${chat}/messages/stream`, {
      method: 'POST',
      headers: { cookie: api.cookie, 'content-type': 'application/json' },
      body: JSON.stringify({ body_markdown }),
    });
  const [first, second] = [await stream(plain, 'plain'), await stream(acting, 'acting')];
  await waitFor(() => first.text === 'Half an answer');
  await waitFor(() => second.text === 'I do it.\n\nStill' && second.of('action').length === 2);
  const waiting = await api.call<ChatMessage>('POST', `/api/chats/${acting}/messages`, {
    body_markdown: 'next',
  });
  expect(waiting.status).toBe('waiting');
  scheduler.kill('SIGKILL');
  await scheduler.ended;
  await tiers.startScheduler();

  const done = await first.until('done');
  expect(first.of('reset')).toHaveLength(1);
  expect([first.text, done.data.body_markdown]).toEqual(['Answer to plain', 'Answer to plain']);
  expect((await second.until('error')).data.error).toMatch(/run lost/);
  const messages = async (chat: string) => api.call<ChatMessage[]>('GET', `/api/chats/${chat}/messages`);
  await waitFor(async () => (await messages(acting)).length === 3);
  expect((await messages(plain)).map(({ body_markdown }) => body_markdown)).toEqual([
    'plain',
    'Answer to plain',
  ]);
  expect((await messages(acting)).map(({ status }) => status)).toEqual(['failed', 'answered', 'answered']);
  expect(await api.call<unknown[]>('GET', `/api/companies/${company_id}/issues`)).toHaveLength(1);
  const told = model.requests.findLast(({ messages: sent }) => sent.at(-1)!.content.endsWith('next'))!;
  expect(told.messages[0]!.content).toContain('do not repeat them:\n- /create-issue Buy paint');
});
