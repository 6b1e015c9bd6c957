/** A scheduler dies in the middle of different kinds of work, and another continues it: nothing is lost or done twice. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type {
  Chat,
  ChatMessage,
  Comment,
  CouncilSession,
  ExecutionDecision,
  Issue,
  Run,
  Subagent,
} from '@acp/contract';
import { type FakeModelRequest, readPrompt, type ServiceProcess, waitFor } from '@acp/testkit';
import { FrameReader } from '../chats/frames.ts';
import { createTeam, killScheduler, startTwoTiers, type TwoTiers } from './api.ts';

let tiers: TwoTiers;
let scheduler: ServiceProcess;

beforeAll(async () => {
  tiers = await startTwoTiers('killed');
  scheduler = await tiers.startScheduler();
});
afterAll(async () => tiers.stop());

async function replaceScheduler(): Promise<void> {
  await killScheduler(tiers.db, scheduler);
  scheduler = await tiers.startScheduler();
}

const speaker = ({ messages }: FakeModelRequest): string =>
  /^You are (\w+) \(/m.exec(messages[0]!.content)?.[1] ?? 'nobody';
const phaseOf = (request: FakeModelRequest): string => {
  const prompt = request.messages.at(-1)!.content;
  if (!prompt.includes('# The question')) return readPrompt(request) && 'heartbeat';
  if (prompt.includes('You have the chair')) return 'conclusion';
  if (prompt.includes('Rank the answers')) return 'ranking';
  return prompt.includes('KEEP') ? 'second' : 'first';
};

describe('a council', () => {
  it('goes on at the first missing turn, leaves out who fails, and wakes the assignee with the conclusion', async () => {
    const { api, model } = tiers;
    const spoken: string[] = [];
    model.setScript((request) => {
      const turn = `${speaker(request)} ${phaseOf(request)}`;
      spoken.push(turn);
      const times = spoken.filter((each) => each === turn).length;
      if (turn === 'Dan second') return { status: 400, error: { message: 'no such model' } };
      if (turn === 'Bob second' && times === 1) return { chunks: ['I still '], stall: 'end' };
      if (turn.endsWith('first')) return `${speaker(request)} says: mend it.`;
      if (turn === 'Cleo second') return 'On reflection: rewrite it.';
      if (turn.endsWith('second')) return 'KEEP';
      if (turn.endsWith('ranking')) return 'RANKING: A > B\nThe first is clearer.';
      if (turn.endsWith('conclusion')) return 'We mend it.\n\n## Dissent\nCleo would rewrite it.';
      return 'I go by it.\n/status done';
    });
    const { company_id, agents } = await createTeam(api, ['Ada', 'Bob', 'Cleo', 'Dan']);
    for (const { id } of agents.slice(1))
      await api.call('PATCH', `/api/agents/${id}`, { reports_to: agents[0]!.id });
    const issue = await api.call<Issue>('POST', `/api/companies/${company_id}/issues`, {
      title: 'The checkout is slow',
      status: 'blocked',
      assignee_agent_id: agents[1]!.id,
    });
    const begun = await api.call<CouncilSession>('POST', `/api/issues/${issue.id}/convene-council`, {
      agent_ids: agents.map(({ id }) => id),
      question: 'Mend it or rewrite it?',
    });
    const council = async () => api.call<CouncilSession>('GET', `/api/council-sessions/${begun.id}`);
    await waitFor(() => spoken.includes('Bob second'));
    await waitFor(async () => {
      const { turns, participants } = await council();
      const failed = participants.some(({ left_out_reason: reason }) => reason !== null);
      return failed && turns.filter(({ round }) => round === 2).length === 2;
    });
    await replaceScheduler();

    const over = await waitFor(async () => {
      const now = await council();
      return now.status !== 'running' && now;
    });
    expect([over.status, over.error, over.conclusion?.split('\n')[0]]).toEqual([
      'completed',
      null,
      'We mend it.',
    ]);
    const nameOf = (id: string) => agents.find((agent) => agent.id === id)!.name;
    const turns = over.turns.map(({ agent_id, kind, round }) => `${nameOf(agent_id)} ${kind} ${round}`);
    expect(turns.toSorted()).toEqual(
      [
        ...['Ada', 'Bob', 'Cleo', 'Dan'].map((name) => `${name} answer 1`),
        ...['Ada', 'Bob', 'Cleo'].map((name) => `${name} answer 2`),
        ...['Ada', 'Bob', 'Cleo'].map((name) => `${name} ranking 3`),
        'Ada conclusion 4',
      ].toSorted(),
    );
    expect(
      over.turns
        .filter(({ is_revised }) => !is_revised)
        .map(({ agent_id }) => nameOf(agent_id))
        .toSorted(),
    ).toEqual(['Ada', 'Bob']);
    const without = over.participants.filter(({ left_out_reason: reason }) => reason !== null);
    expect(without).toMatchObject([
      { name: 'Dan', left_out_reason: expect.stringContaining('no such model') },
    ]);
    await waitFor(async () => (await api.call<Issue>('GET', `/api/issues/${issue.id}`)).status === 'done');
    const counts = Map.groupBy(spoken, (turn) => turn);
    const again = [...counts].filter(([, times]) => times.length > 1).map(([turn]) => turn);
    expect(again).toEqual(['Bob second']);
    const comments = await api.call<Comment[]>('GET', `/api/issues/${issue.id}/comments`);
    expect(comments[0]).toMatchObject({ author_agent_id: agents[0]!.id });
    expect(comments[0]!.body_markdown).toMatch(/_Council of Ada, \w+, \w+\. Left out: Dan \(.*no such model/);
    const decisions = await api.call<ExecutionDecision[]>(
      'GET',
      `/api/issues/${issue.id}/execution-decisions`,
    );
    expect(decisions).toMatchObject([
      { decision_type: 'auto_approve', metadata: { council_session_id: over.id } },
    ]);
  });
});

const order = (title: string): string => `/spawn-subagent researcher ${title}\n\`\`\`\nFind it out.\n\`\`\``;

describe('an agent that waits for its sub-agents', () => {
  it('is woken once, with the results of the quick, the killed and the failed', async () => {
    const { api, model } = tiers;
    const asked: string[] = [];
    model.setScript((request) => {
      const title = readPrompt(request).issue?.title ?? 'nothing';
      asked.push(title);
      const times = asked.filter((each) => each === title).length;
      if (title === 'Write the report' && times === 1)
        return `${['Quick', 'Slow', 'Hopeless'].map(order).join('\n')}\n/await-subagents`;
      if (title === 'Write the report') return 'Put together.\n/status done';
      if (title === 'Hopeless') return { status: 400, error: { message: 'no such model' } };
      if (title === 'Slow' && times === 1) return { chunks: ['Half a '], stall: 'end' };
      return `Found: ${title}.`;
    });
    const { company_id, agents } = await createTeam(api, ['Lead']);
    const issue = await api.call<Issue>('POST', `/api/companies/${company_id}/issues`, {
      title: 'Write the report',
      assignee_agent_id: agents[0]!.id,
    });
    const subagents = async () => api.call<Subagent[]>('GET', `/api/issues/${issue.id}/subagents`);
    await waitFor(async () => (await subagents()).filter(({ outcome }) => outcome !== null).length === 2);
    await waitFor(() => asked.includes('Slow'));
    const parked = await api.call<Issue>('GET', `/api/issues/${issue.id}`);
    expect([parked.status, parked.checked_out_by_agent_id]).toEqual(['blocked', null]);
    await replaceScheduler();

    await waitFor(async () => (await api.call<Issue>('GET', `/api/issues/${issue.id}`)).status === 'done');
    await waitFor(async () =>
      (await api.call<Run[]>('GET', `/api/companies/${company_id}/heartbeat-runs`)).every(
        ({ status }) => !['queued', 'running'].includes(status),
      ),
    );
    expect(
      (await subagents()).map(({ issue_title, outcome, status }) => [issue_title, outcome, status]),
    ).toEqual([
      ['Quick', 'done', 'terminated'],
      ['Slow', 'done', 'terminated'],
      ['Hopeless', 'failed', 'terminated'],
    ]);
    const counts = Object.fromEntries(
      ['Write the report', 'Quick', 'Slow'].map((title) => [
        title,
        asked.filter((each) => each === title).length,
      ]),
    );
    expect(counts).toEqual({ 'Write the report': 2, Quick: 1, Slow: 2 });
    const told = model.requests.findLast(({ messages }) =>
      messages.at(-1)!.content.includes('Write the report'),
    )!;
    const prompt = told.messages.at(-1)!.content;
    for (const text of ['Found: Quick.', 'Found: Slow.', 'no such model']) expect(prompt).toContain(text);
  });
});

describe('a chat', () => {
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
    await replaceScheduler();

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
});
