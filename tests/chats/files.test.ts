/** Files in chats and on issues, end to end: uploaded to one web tier, read by a scheduler, sent to a model, served by another. */
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import type { Chat, ChatMessage, CouncilSession, Issue, RunEvent } from '@acp/contract';
import { createAgent, type FakeModel, type FakeModelRequest, startFakeModel, waitFor } from '@acp/testkit';
import { TestFleet, type Who } from '../workers/fleet.ts';

// A one-pixel image.
const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==',
  'base64',
);

let fleet: TestFleet;
let model: FakeModel;
let other_url: string;
let owner: Who;

beforeAll(async () => {
  model = await startFakeModel();
  fleet = await TestFleet.start('chat_files');
  other_url = await fleet.anotherWeb({});
  await fleet.startScheduler({
    SERVICE_DEFAULT_LLM_PROVIDER: 'family_compat',
    SERVICE_DEFAULT_LLM_MODEL: 'plain-model',
    SERVICE_DEFAULT_LLM_BASE_URL: model.url,
  });
  owner = fleet.cast.member.headers;
});
afterAll(async () => {
  await fleet.stop();
  await model.close();
});
beforeEach(() => model.setScript(() => 'ok'));

async function openChat(changes: Record<string, unknown> = {}, who = owner): Promise<string> {
  const { company_id } = fleet.cast;
  const agent = await createAgent(
    fleet.kit.database.db,
    { id: company_id },
    { name: `Ada ${crypto.randomUUID()}`, ...changes },
  );
  const made = await fleet.call<Chat>('POST', `/api/companies/${company_id}/chats`, who, {
    agent_id: agent.id,
  });
  return `/api/chats/${made.body.id}`;
}

interface Sent {
  text?: string;
  files: readonly (readonly [name: string, type: string, bytes: Buffer | string])[];
}

async function send(
  path: string,
  { text, files }: Sent,
  who = owner,
): Promise<{ status: number; body: ChatMessage }> {
  const form = new FormData();
  if (text !== undefined) form.set('body_markdown', text);
  for (const [name, type, bytes] of files)
    form.append('file', new Blob([new Uint8Array(Buffer.from(bytes))], { type }), name);
  const response = await fetch(`${fleet.url}${path}/messages`, { method: 'POST', headers: who, body: form });
  return { status: response.status, body: (await response.json()) as ChatMessage };
}

const answered = async (path: string, id: string) =>
  waitFor(async () => {
    const { body } = await fleet.call<ChatMessage[]>('GET', `${path}/messages`, owner);
    return body.find((message) => message.id === id && message.status === 'answered');
  });

/** The newest request about it: others may come late from tests that don't wait for their replies. */
const lastAbout = (text: string) =>
  model.requests.findLast(({ messages }) => messages.at(-1)!.content.includes(text))!;

/** Parts of the last message sent to the model; a single text if it was sent as one. */
function askedParts(
  request: FakeModelRequest,
): { type: string; text?: string; image_url?: { url: string } }[] {
  const { messages } = request.body as { messages: { content: unknown }[] };
  const { content } = messages.at(-1)!;
  return typeof content === 'string' ? [{ type: 'text', text: content }] : (content as []);
}

it('tells the text of a file to the agent, also in later replies, and gives the bytes to the owner alone', async () => {
  const path = await openChat();
  const { status, body: sent } = await send(path, {
    text: 'What does it say?',
    files: [['plan.md', 'text/markdown', 'The shed is painted green.']],
  });
  expect([status, sent.attachments]).toMatchObject([201, [{ filename: 'plan.md', size_bytes: 26 }]]);
  await answered(path, sent.id);
  const [told] = askedParts(lastAbout('plan.md'));
  expect(told!.text).toMatch(/^What does it say\?\n\n<attachment filename="plan.md"[^]*painted green/);
  const { body: next } = await send(path, { text: 'And why?', files: [] });
  await answered(path, next.id);
  expect(lastAbout('And why?').messages.at(-3)!.content).toContain('painted green');

  const { download_path } = sent.attachments[0]!;
  const got = await fetch(other_url + download_path, { headers: owner });
  expect([got.status, await got.text()]).toEqual([200, 'The shed is painted green.']);
  expect(got.headers.get('content-disposition')).toBe('attachment; filename=plan.md');
  const id = sent.attachments[0]!.id;
  const { admin, instance_admin, board_admin, agent, stranger } = fleet.cast;
  for (const { headers } of [admin, instance_admin, board_admin, agent, stranger])
    for (const route of [download_path, `/api/attachments/${id}/download`, `/api/attachments/${id}/text`])
      expect((await fetch(fleet.url + route, { headers })).status).toBe(404);
  // Refused in another chat of the same person, too, as a file of an issue, and as knowledge.
  const elsewhere = await openChat();
  expect(
    (await fetch(`${fleet.url}${elsewhere}/attachments/${id}/download`, { headers: owner })).status,
  ).toBe(404);
  expect((await fleet.call('DELETE', `/api/attachments/${id}`, owner)).status).toBe(404);
  const { rows } = await fleet.kit.database.pool.query('select from knowledge_sources where source_id = $1', [
    id,
  ]);
  expect(rows).toEqual([]);
});

it('shows an image to a model that sees, in words to one that does not or refuses', async () => {
  const picture = { text: 'What is this?', files: [['dot.png', 'image/png', PNG]] } as const;
  const blind = await openChat();
  await answered(blind, (await send(blind, picture)).body.id);
  const picturedParts = () => askedParts(lastAbout('dot.png'));
  expect(picturedParts()).toEqual([{ type: 'text', text: expect.stringContaining('You see none') }]);

  const seeing = await openChat({ model: 'some-vl-model' });
  await answered(seeing, (await send(seeing, picture)).body.id);
  expect(picturedParts()).toMatchObject([
    { type: 'text', text: expect.stringContaining('shown with this message') },
    { type: 'image_url', image_url: { url: `data:image/png;base64,${PNG.toString('base64')}` } },
  ]);
  // A file that only claims to be an image is not sent.
  const lie = { files: [['x.png', 'image/png', 'no image at all']] } as const;
  await answered(seeing, (await send(seeing, lie)).body.id);
  expect(JSON.stringify(askedParts(lastAbout('x.png')))).toMatch(/x\.png is not an image that can be shown/);

  const told = await openChat({ adapter_config: { images: true } });
  model.setScript(({ body }) =>
    JSON.stringify(body).includes('image_url')
      ? { status: 400, error: { message: 'this model reads text' } }
      : 'Not seen.',
  );
  const { body: sent } = await send(told, picture);
  const { run_id } = await answered(told, sent.id);
  expect(picturedParts()[0]!.text).toMatch(/dot\.png is not shown/);
  const { body: events } = await fleet.call<RunEvent[]>('GET', `/api/heartbeat-runs/${run_id}/events`, owner);
  expect(JSON.stringify(events)).toContain('asking again without images');
  expect(JSON.stringify(events)).not.toContain(PNG.toString('base64'));
});

it('takes a message of files alone, refuses what says nothing or is too much, and forgets them with the message', async () => {
  const path = await openChat();
  const note = ['a.txt', 'text/plain', 'a'] as const;
  expect((await send(path, { files: [] })).status).toBe(400);
  expect((await fleet.call('POST', `${path}/messages`, owner, { body_markdown: ' \n' })).status).toBe(400);
  expect((await send(path, { files: Array.from({ length: 11 }, () => note) })).status).toBe(413);
  expect((await send(path, { files: [note] }, fleet.cast.viewer.headers)).status).toBe(404);
  const { body: first } = await send(path, { text: 'one', files: [] });
  await answered(path, first.id);
  const { status, body: second } = await send(path, { files: [note, note] });
  expect([status, second.body_markdown, second.attachments.length]).toEqual([201, '', 2]);
  await answered(path, second.id);
  await fleet.call('POST', `${path}/messages/${second.id}/resend`, owner, {});
  expect((await answered(path, second.id)).attachments).toEqual(second.attachments);
  // Resending the first message removes everything after it, files included.
  expect((await fleet.call('POST', `${path}/messages/${first.id}/resend`, owner, {})).status).toBe(201);
  expect((await fetch(fleet.url + second.attachments[0]!.download_path, { headers: owner })).status).toBe(
    404,
  );
  const { rows } = await fleet.kit.database.pool.query(
    'select from storage_orphans where doomed_at is not null',
  );
  expect(rows).toHaveLength(2);
});

it('an agent without the right to write files attaches none, and its chats are the company’s', async () => {
  const { agent, viewer } = fleet.cast;
  const path = await openChat({}, agent.headers);
  const files = [['a.txt', 'text/plain', 'open to all']] as const;
  const { status, body } = await send(path, { text: 'look', files }, agent.headers);
  expect(status).toBe(201);
  const got = await fetch(fleet.url + body.attachments[0]!.download_path, { headers: viewer.headers });
  expect(await got.text()).toBe('open to all');
  await fleet.admin('PATCH', `/api/agents/${fleet.cast.agent_id}/permissions`, { 'files.write': false });
  expect((await send(path, { text: 'look', files }, agent.headers)).status).toBe(403);
});

/** Creates an issue with an image, which is then assigned to an agent of that model. */
async function pictured(title: string, changes: Record<string, unknown>): Promise<Issue> {
  const { company_id } = fleet.cast;
  const agent = await createAgent(
    fleet.kit.database.db,
    { id: company_id },
    { name: `Eve ${crypto.randomUUID()}`, ...changes },
  );
  const { body: issue } = await fleet.call<Issue>('POST', `/api/companies/${company_id}/issues`, owner, {
    title,
  });
  const form = new FormData();
  form.append('file', new Blob([new Uint8Array(PNG)], { type: 'image/png' }), 'dot.png');
  form.append('file', new Blob(['The shed is green.'], { type: 'text/plain' }), 'shed.txt');
  const attached = await fetch(`${fleet.url}/api/issues/${issue.id}/attachments`, {
    method: 'POST',
    headers: owner,
    body: form,
  });
  expect(attached.status).toBe(201);
  await fleet.call('PATCH', `/api/issues/${issue.id}`, owner, { assignee_agent_id: agent.id });
  return issue;
}

const askedOf = async (text: string) =>
  waitFor(() => model.requests.find(({ messages }) => messages.at(-1)!.content.includes(text)));
const shownPicture = {
  type: 'image_url',
  image_url: { url: `data:image/png;base64,${PNG.toString('base64')}` },
};

it('shows the picture of an issue to an agent that sees, to its sub-agent and to its council', async () => {
  model.setScript(({ messages }) => {
    const prompt = messages.at(-1)!.content;
    if (prompt.includes('# The question')) return 'It is a dot.';
    if (prompt.includes('Look closer')) return 'A dot.\n/status done';
    return '/spawn-subagent researcher Look closer\n```\nAt the picture.\n```\n/await-subagents';
  });
  const issue = await pictured('What is on it?', { model: 'some-vl-model' });
  const told = askedParts(await askedOf('What is on it?'));
  expect(told).toEqual([
    { type: 'text', text: expect.stringContaining('shown with this message') },
    shownPicture,
  ]);
  const closer = askedParts(await askedOf('Look closer'));
  const inherited = closer[0]!.text!.split('Files of the issue that it belongs to')[1];
  expect(inherited).toContain('The shed is green.');
  expect(inherited).toContain('shown with this message');
  expect(closer[1]).toEqual(shownPicture);

  const { body: now } = await fleet.call<Issue>('GET', `/api/issues/${issue.id}`, owner);
  const { company_id } = fleet.cast;
  const sees = { name: 'Iris', model: 'some-vl-model' };
  const iris = await createAgent(fleet.kit.database.db, { id: company_id }, sees);
  const { status, body: council } = await fleet.call<CouncilSession>(
    'POST',
    `/api/issues/${issue.id}/convene-council`,
    owner,
    { question: 'What is it?', agent_ids: [now.assignee_agent_id, iris.id] },
  );
  expect([status, council.status]).toEqual([201, 'running']);
  const asked = askedParts(await askedOf('# The question'));
  expect(asked[0]!.text).toMatch(/# Files of the issue[^]*The shed is green/);
  expect(asked[1]).toEqual(shownPicture);
  await waitFor(
    async () =>
      (await fleet.call<CouncilSession>('GET', `/api/council-sessions/${council.id}`, owner)).body.status !==
      'running',
  );
});

it('tells of the picture in words to an agent that sees none, and never shows more of an issue than five', async () => {
  await pictured('Words for the blind', {});
  expect(askedParts(await askedOf('Words for the blind'))).toEqual([
    { type: 'text', text: expect.stringContaining('[An image. You see none') },
  ]);
  const crowded = await pictured('Many pictures', { model: 'some-vl-model', status: 'paused' });
  const form = new FormData();
  for (let n = 0; n < 6; n += 1)
    form.append('file', new Blob([new Uint8Array(PNG)], { type: 'image/png' }), `dot-${n}.png`);
  await fetch(`${fleet.url}/api/issues/${crowded.id}/attachments`, {
    method: 'POST',
    headers: owner,
    body: form,
  });
  const { body } = await fleet.call<Issue>('GET', `/api/issues/${crowded.id}`, owner);
  await fleet.call('POST', `/api/agents/${body.assignee_agent_id}/resume`, owner);
  const parts = askedParts(await askedOf('Many pictures'));
  expect(parts.filter(({ type }) => type === 'image_url')).toHaveLength(5);
  expect(parts[0]!.text!.split('too large or too far back').length).toBe(3);
});
