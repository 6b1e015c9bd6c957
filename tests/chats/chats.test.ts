/** Chats from outside: over HTTP through two web tiers and a scheduler, with a scripted model. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Chat, ChatMessage, Issue, Run } from '@acp/contract';
import {
  createAgent,
  type FakeModel,
  type FakeModelReply,
  type FakeModelRequest,
  startFakeModel,
  waitFor,
} from '@acp/testkit';
import { setImmediate as turnOfLoop } from 'node:timers/promises';
import { TestFleet, type Who } from '../workers/fleet.ts';
import { FrameReader } from './frames.ts';

let fleet: TestFleet;
let model: FakeModel;
let other_url: string;
let owner: Who;
const base = () => ({ id: fleet.cast.company_id });

beforeAll(async () => {
  model = await startFakeModel();
  fleet = await TestFleet.start('chats');
  other_url = await fleet.anotherWeb({});
  await fleet.startScheduler({
    SERVICE_DEFAULT_LLM_PROVIDER: 'family_compat',
    SERVICE_DEFAULT_LLM_MODEL: 'fake-model',
    SERVICE_DEFAULT_LLM_BASE_URL: model.url,
    WORKER_POOL_SIZE: '10',
  });
  owner = fleet.cast.member.headers;
});
afterAll(async () => {
  await fleet.stop();
  await model.close();
});
beforeEach(() => model.setScript(() => 'ok'));

type Script = (request: FakeModelRequest) => FakeModelReply | string | Promise<FakeModelReply | string>;
const last = ({ messages }: FakeModelRequest) => messages.at(-1)!.content;

/** A model that waits for `release` before it continues. */
function paced(): { script: Script; release: () => void } {
  const gate = Promise.withResolvers<void>();
  const script: Script = async (request) => {
    await gate.promise;
    return `Reply to ${last(request)}`;
  };
  return { script, release: () => gate.resolve() };
}

async function openChat(
  who = owner,
  changes: Record<string, unknown> = {},
): Promise<{ chat: Chat; path: string; agent_id: string }> {
  const agent = await createAgent(fleet.kit.database.db, base(), {
    name: `Ada ${crypto.randomUUID()}`,
    ...changes,
  });
  const made = await fleet.call<Chat>('POST', `/api/companies/${base().id}/chats`, who, {
    agent_id: agent.id,
  });
  expect(made.status).toBe(201);
  return { chat: made.body, path: `/api/chats/${made.body.id}`, agent_id: agent.id };
}

const say = async (path: string, body_markdown: string, who = owner) =>
  fleet.call<ChatMessage>('POST', `${path}/messages`, who, { body_markdown });
const messagesOf = async (path: string, who = owner) =>
  (await fleet.call<ChatMessage[]>('GET', `${path}/messages`, who)).body;
const settled = async (path: string, count: number) =>
  waitFor(
    async () => {
      const messages = await messagesOf(path);
      const open = messages.some(({ status }) => status === 'waiting' || status === 'answering');
      return messages.length >= count && !open && messages;
    },
    { what: `${count} settled messages` },
  );
const stream = async (
  path: string,
  body_markdown: string,
  more: Record<string, string> = {},
  url = fleet.url,
) =>
  FrameReader.open(`${url}${path}/messages/stream`, {
    method: 'POST',
    headers: { ...owner, ...more, 'content-type': 'application/json' },
    body: JSON.stringify({ body_markdown }),
  });

describe('a chat', () => {
  it('answers a message in turn, keeps both and makes its title of them', async () => {
    model.setScript((request) => `You said: ${last(request)}`);
    const { path } = await openChat();
    const posted = await say(path, 'Tell me about the weather');
    expect(posted).toMatchObject({ status: 201, body: { role: 'user', status: 'answering' } });
    const [asked, reply] = await settled(path, 2);
    expect(asked).toMatchObject({ id: posted.body.id, status: 'answered', error: null });
    expect(reply).toMatchObject({
      role: 'assistant',
      body_markdown: 'You said: Tell me about the weather',
      run_id: asked!.run_id,
    });
    const { body: chat } = await fleet.call<Chat>('GET', path, owner);
    expect(chat.title).toBe('Tell me about the weather');
    await say(path, 'And tomorrow?');
    await settled(path, 4);
    expect(
      model.requests
        .at(-1)!
        .messages.slice(1)
        .map(({ content }) => content),
    ).toEqual(['Tell me about the weather', 'You said: Tell me about the weather', 'And tomorrow?']);
  });

  it('has a second message wait for its turn, and shows each reply behind its own', async () => {
    const { script, release } = paced();
    model.setScript(script);
    const { path } = await openChat();
    await say(path, 'one');
    expect((await say(path, 'two')).body.status).toBe('waiting');
    release();
    const messages = await settled(path, 4);
    expect(messages.map(({ body_markdown }) => body_markdown)).toEqual([
      'one',
      'Reply to one',
      'two',
      'Reply to two',
    ]);
  });

  it('streams the message, the words as they come and the stored reply; verbs are acts and no words', async () => {
    let turn = 0;
    model.setScript(() => {
      turn += 1;
      return turn === 1
        ? {
            chunks: [
              'Let me ',
              'look.\n',
              '/li',
              'st-issues\n',
              '/create-issue Buy paint\n```\nGre',
              'en\n```\n',
            ],
            chunk_delay_ms: 5,
          }
        : { chunks: ['It is ', 'done.'] };
    });
    const { path } = await openChat();
    const reader = await stream(path, 'Buy paint, please');
    const { data: done } = await reader.until('done');
    expect(reader.frames[0]).toMatchObject({
      event: 'message',
      data: { role: 'user', body_markdown: 'Buy paint, please' },
    });
    expect(reader.text).toBe('Let me look.\n\nIt is done.');
    expect(done).toMatchObject({ role: 'assistant', body_markdown: reader.text });
    expect(reader.of('action').map(({ data }) => [data.verb, data.ok])).toEqual([
      ['list-issues', true],
      ['create-issue', true],
    ]);
    await waitFor(() => reader.ended);
  });

  it('goes on behind the last frame that a cut stream had, from the other web tier too', async () => {
    const gate = Promise.withResolvers<void>();
    model.setScript(async () => {
      await turnOfLoop();
      return { chunks: ['first words, ', 'then ', 'more ', 'and ', 'more'], chunk_delay_ms: 150 };
    });
    const { path } = await openChat();
    const before = await stream(path, 'Go on');
    await before.until('delta');
    before.cut();
    gate.resolve();
    const at = before.frames.at(-1)!.id;
    const after = await stream(path, 'ignored', { 'last-event-id': at }, other_url);
    await after.until('done');
    expect(before.text + after.text).toBe('first words, then more and more');
    expect(after.of('message')).toEqual([]);
    expect(await messagesOf(path)).toHaveLength(2);
    const late = await stream(path, 'ignored', { 'last-event-id': after.frames.at(-1)!.id });
    expect(late.status).toBe(204);
    const [asked] = await messagesOf(path);
    const again = await FrameReader.open(`${other_url}${path}/messages/${asked!.id}/stream`, {
      headers: owner,
    });
    await again.until('done');
    expect(again.text).toBe('first words, then more and more');
  });

  it('stops a reply: its model call ends, what was said stays, and the next message has its turn', async () => {
    model.setScript((request) =>
      last(request) === 'long' ? { chunks: ['A long', ' story'], chunk_delay_ms: 20, stall: 'end' } : 'short',
    );
    const { path } = await openChat();
    const reader = await stream(path, 'long');
    await waitFor(() => reader.text === 'A long story');
    await say(path, 'next');
    expect((await fleet.call('POST', `${path}/stop`, owner)).status).toBe(200);
    expect((await reader.until('done')).data).toMatchObject({
      status: 'stopped',
      body_markdown: 'A long story',
    });
    const messages = await settled(path, 4);
    expect(messages.map(({ status }) => status)).toEqual(['stopped', 'stopped', 'answered', 'answered']);
    await waitFor(() =>
      model.requests.some((request) => last(request) === 'long' && request.state === 'aborted'),
    );
  });

  it('asks again with another text: what came after is gone; while a reply runs it is a conflict, and only its author may', async () => {
    model.setScript((request) => `Reply to ${last(request)}`);
    const { path } = await openChat();
    await say(path, 'one');
    await settled(path, 2);
    await say(path, 'two');
    const [first] = await settled(path, 4);
    const resend = `${path}/messages/${first!.id}/resend`;
    expect((await fleet.call('POST', resend, owner, { body_markdown: 'uno' })).status).toBe(201);
    const messages = await settled(path, 2);
    expect(messages.map(({ body_markdown }) => body_markdown)).toEqual(['uno', 'Reply to uno']);
    const { script, release } = paced();
    model.setScript(script);
    await say(path, 'wait');
    expect((await fleet.call('POST', resend, owner, {})).status).toBe(409);
    release();
    expect((await fleet.call('POST', `${path}/messages/${messages[1]!.id}/resend`, owner, {})).status).toBe(
      404,
    );
  });

  it('tells in the stream why there is no reply, and the message can be sent again', async () => {
    model.setScript(() => ({ status: 400, error: { message: 'the model is on holiday' } }));
    const { path } = await openChat();
    const reader = await stream(path, 'hello');
    expect((await reader.until('error')).data.error).toMatch(/holiday/);
    const [asked] = await messagesOf(path);
    expect(asked).toMatchObject({ status: 'failed', error: expect.stringMatching(/holiday/) });
    // Others learn that it failed: a server's words may quote the question.
    const { admin } = fleet.cast;
    const { body: run } = await fleet.call('GET', `/api/heartbeat-runs/${asked!.run_id}`, admin.headers);
    expect(run).toMatchObject({ status: 'failed', error: 'the model or program failed (permanent)' });
    model.setScript(() => 'back');
    await fleet.call('POST', `${path}/messages/${asked!.id}/resend`, owner, {});
    expect((await settled(path, 2))[1]).toMatchObject({ body_markdown: 'back' });
  });

  it('answers 409 where its agent is paused or in the trash, can be read there, and refuses a program without a place for it', async () => {
    const { path, agent_id } = await openChat();
    await say(path, 'hello there you');
    await settled(path, 2);
    const admin = fleet.cast.admin.headers;
    await fleet.call('PATCH', `/api/agents/${agent_id}`, admin, { status: 'paused' });
    expect(await say(path, 'hi')).toMatchObject({ status: 409, body: { error: 'agent is paused' } });
    const streamed = await stream(path, 'hi');
    expect(streamed.status).toBe(409);
    await fleet.call('DELETE', `/api/agents/${agent_id}`, admin);
    expect((await say(path, 'hi')).status).toBe(409);
    expect(await messagesOf(path)).toHaveLength(2);
    const remote = await openChat(owner, { adapter_type: 'remote' });
    expect((await say(remote.path, 'hi')).body).toEqual({
      error: 'agents with the adapter remote do not chat',
    });
  });

  it('reserves and charges what a reply costs, and answers 409 once its budget is used up', async () => {
    const { path, agent_id } = await openChat();
    const policy = {
      scope_type: 'agent',
      scope_id: agent_id,
      window: 'day',
      limit_usd: 0.0001,
      action: 'pause',
    };
    const admin = fleet.cast.admin.headers;
    expect(
      (await fleet.call('POST', `/api/companies/${base().id}/budget-policies`, admin, policy)).status,
    ).toBe(201);
    await say(path, 'hi');
    const [asked] = await settled(path, 2);
    const { body: run } = await fleet.call('GET', `/api/heartbeat-runs/${asked!.run_id}`, owner);
    expect(run).toMatchObject({ kind: 'chat_reply', model: 'fake-model', cost_usd: expect.any(Number) });
    expect((run as { cost_usd: number }).cost_usd).toBeGreaterThan(0.0001);
    expect(await say(path, 'again')).toMatchObject({ status: 409, body: { error: 'budget exceeded' } });
  });

  it.each([
    ['the window', 7000, {}],
    ['a small window', 700, { context_tokens: 4096 }],
  ])('has a summary made once of what falls out of %s, and goes on from it', async (_, words, config) => {
    const long = 'word '.repeat(words);
    model.setScript((request) =>
      request.messages[0]!.content.startsWith('You put conversations in short')
        ? 'They spoke of words.'
        : long,
    );
    const { path, chat } = await openChat(owner, { adapter_config: config });
    await say(path, `MARK ${long}`);
    await settled(path, 2);
    await say(path, `two ${long}`);
    await settled(path, 4);
    await waitFor(async () => {
      const { rows } = await fleet.kit.database.pool.query('select summary from chats where id = $1', [
        chat.id,
      ]);
      return rows[0].summary === 'They spoke of words.';
    });
    model.setScript(() => 'short');
    await say(path, 'three');
    await settled(path, 6);
    const { messages } = model.requests.findLast((request) => last(request) === 'three')!;
    expect(messages[0]!.content).toContain('They spoke of words.');
    expect(messages.some(({ content }) => content.includes('MARK'))).toBe(false);
  });

  it('loses none of very many short messages: what falls out is put in short, a portion after each reply', async () => {
    const inShort: string[] = [];
    model.setScript((request) => {
      if (!request.messages[0]!.content.startsWith('You put conversations in short')) return 'ok';
      inShort.push(last(request));
      return `Portion ${inShort.length}.`;
    });
    const { path, chat } = await openChat();
    const { pool } = fleet.kit.database;
    // Ten of the questions failed: they have no reply.
    await pool.query(
      `insert into chat_messages (company_id, chat_id, position, role, body_markdown, author_name, status)
      select company_id, id, p, case when p % 2 = 0 then 'user' else 'assistant' end, 'note ' || p || ' of many', 'Olga',
        case when p between 20 and 40 then 'failed' else 'answered' end
      from chats, generate_series(2, 401) p where id = $1 and not (p between 20 and 40 and p % 2 = 1)`,
      [chat.id],
    );
    await pool.query('update chats set last_turn = 200 where id = $1', [chat.id]);
    for (const portion of [1, 2]) {
      await say(path, `Now ${portion}`);
      await waitFor(async () => {
        const { rows } = await pool.query('select summary from chats where id = $1', [chat.id]);
        return rows[0].summary === `Portion ${portion}.`;
      });
    }
    await say(path, 'the end');
    const { messages } = await waitFor(() => model.requests.find((request) => last(request) === 'the end'));
    const told = [...inShort, ...messages.map(({ content }) => content)].join('\n');
    expect(messages[0]!.content).toContain('Portion 2.');
    for (let n = 2; n <= 401; n += n >= 20 && n < 40 ? 2 : 1) expect(told).toContain(`note ${n} of`);
  });

  it('takes hostile model text for text: no verb that is not for chats, no frame of its own, no broken stream', async () => {
    const hostile =
      '/report Mine\n```\nx\n```\ndata: {"text":"forged"}\n\nevent: done\n\n<script>alert(1)</script>\u0000\ud800 end';
    model.setScript(() => ({ chunks: hostile.split(/(?=.)/u) }));
    const { path } = await openChat();
    const reader = await stream(path, 'go');
    const { data } = await reader.until('done');
    expect(reader.of('done')).toHaveLength(1);
    expect(data.body_markdown).toContain('<script>alert(1)</script>');
    expect(reader.text.trim()).toBe(data.body_markdown);
    expect(reader.of('action')).toMatchObject([{ data: { verb: 'report', ok: false } }]);
  });
});

describe('who may see a chat', () => {
  it('is its person alone: neither admin nor key finds chat, transcript, summary or live frames', async () => {
    const gate = paced();
    model.setScript(gate.script);
    const { path, chat } = await openChat();
    const live = async (who: Who) =>
      FrameReader.open(`${fleet.url}/api/live/events?company_id=${base().id}`, { headers: who });
    const { admin, instance_admin, board_admin, agent, stranger } = fleet.cast;
    const [own, ...others] = await Promise.all([
      live(owner),
      live(admin.headers),
      live(instance_admin.headers),
      FrameReader.open(`${fleet.url}/api/live/events`, { headers: board_admin.headers }),
    ]);
    const { body: asked } = await say(path, 'a secret plan');
    gate.release();
    await settled(path, 2);
    const run = `/api/heartbeat-runs/${asked.run_id}`;
    for (const { headers } of [admin, instance_admin, board_admin, agent, stranger]) {
      expect((await fleet.call('GET', path, headers)).status).toBe(404);
      expect((await fleet.call('POST', `${path}/messages`, headers, { body_markdown: 'x' })).status).toBe(
        404,
      );
      expect((await fleet.call('GET', `${path}/messages/${asked.id}/stream`, headers)).status).toBe(404);
    }
    for (const { headers } of [admin, board_admin, agent]) {
      expect((await fleet.call('GET', run, headers)).body).toMatchObject({ is_private: true, summary: null });
      expect((await fleet.call('GET', `${run}/events`, headers)).body).toEqual([]);
      const list = `/api/companies/${base().id}/chats`;
      expect((await fleet.call<Chat[]>('GET', list, headers)).body.map(({ id }) => id)).not.toContain(
        chat.id,
      );
    }
    expect((await fleet.call('GET', run, owner)).body).toMatchObject({ summary: 'Reply to a secret plan' });
    await waitFor(() => own.of('chat_message').length >= 2 && own.of('heartbeat_completed').length > 0);
    await waitFor(() =>
      others.every((reader) =>
        reader.of('heartbeat_completed').some(({ data }) => JSON.stringify(data).includes(asked.run_id!)),
      ),
    );
    for (const reader of others) {
      expect(reader.of('chat_message')).toEqual([]);
      expect(JSON.stringify(reader.frames)).not.toContain('secret plan');
    }
    for (const reader of [own, ...others]) reader.cut();
  });

  it('what an agent notes there of its person is in no prompt that others can read, only in those of that person’s chats', async () => {
    const note = (text: string) => `Noted.\n/update-user-model\n\`\`\`\n${text}\n\`\`\``;
    model.setScript(() => note('Seeks a raise.'));
    const { path, agent_id } = await openChat();
    await say(path, 'I want a raise');
    await settled(path, 2);
    model.setScript(() => note('Likes numbers.'));
    const { viewer, agent } = fleet.cast;
    const body = { title: 'Count', assignee_agent_id: agent_id };
    const { body: issue } = await fleet.call<Issue>(
      'POST',
      `/api/companies/${base().id}/issues`,
      owner,
      body,
    );
    const ended = async (count: number) =>
      waitFor(async () => {
        const list = `/api/companies/${base().id}/heartbeat-runs?issueId=${issue.id}&status=succeeded`;
        const { body: runs } = await fleet.call<Run[]>('GET', list, viewer.headers);
        return runs.length === count && runs[0]!;
      });
    const first = await ended(1);
    await fleet.call('POST', `/api/issues/${issue.id}/trigger-agent`, owner);
    const second = await ended(2);
    for (const { headers } of [viewer, agent])
      for (const { id } of [first, second]) {
        const { body: events } = await fleet.call('GET', `/api/heartbeat-runs/${id}/events`, headers);
        expect(JSON.stringify(events)).toContain('Likes numbers.');
        expect(JSON.stringify(events)).not.toContain('raise');
      }
    await say(path, 'And?');
    await settled(path, 4);
    const [system] = model.requests.at(-1)!.messages;
    for (const text of ['Seeks a raise.', 'Likes numbers.']) expect(system!.content).toContain(text);
  });

  it('is the company where a key opened it; deleted, it is gone with what its transcripts told', async () => {
    model.setScript(() => 'open words');
    const { board_member, member, viewer, stranger } = fleet.cast;
    const { path } = await openChat(board_member.headers);
    const { body: asked } = await say(path, 'hello everyone here', member.headers);
    await settled(path, 2);
    expect((await fleet.call('GET', path, viewer.headers)).status).toBe(200);
    expect(
      (await fleet.call('POST', `${path}/messages`, viewer.headers, { body_markdown: 'x' })).status,
    ).toBe(403);
    expect((await fleet.call('GET', path, stranger.headers)).status).toBe(404);
    expect(
      (await fleet.call('POST', `${path}/messages/${asked.id}/resend`, board_member.headers, {})).status,
    ).toBe(403);
    expect((await fleet.call('DELETE', path, member.headers)).status).toBe(204);
    expect((await fleet.call('GET', path, member.headers)).status).toBe(404);
    const run = `/api/heartbeat-runs/${asked.run_id}`;
    expect((await fleet.call('GET', run, member.headers)).body).toMatchObject({
      status: 'succeeded',
      summary: null,
    });
    expect((await fleet.call('GET', `${run}/events`, member.headers)).body).toEqual([]);
  });

  it('who searches finds own chats by title and by words of messages', async () => {
    const { path, chat } = await openChat();
    model.setScript(() => 'The zeppelin lands at noon');
    await say(path, 'When does it land today?');
    await settled(path, 2);
    const list = `/api/companies/${base().id}/chats`;
    const found = async (q: string, who = owner) =>
      (await fleet.call<Chat[]>('GET', `${list}?q=${encodeURIComponent(q)}`, who)).body.map(({ id }) => id);
    expect(await found('zeppelin')).toEqual([chat.id]);
    expect(await found('does it LAND')).toEqual([chat.id]);
    expect(await found('zeppelin', fleet.cast.admin.headers)).toEqual([]);
    expect(await found("%'; drop")).toEqual([]);
  });
});
