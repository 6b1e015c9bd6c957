/** A scheduler dies in the middle of a council: it continues at the first missing turn, and no one speaks twice. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Comment, CouncilSession, ExecutionDecision, Issue } from '@acp/contract';
import { type FakeModelRequest, waitFor } from '@acp/testkit';
import { createTeam, startTwoTiers, type TwoTiers } from './api.ts';

let tiers: TwoTiers;

beforeAll(async () => {
  tiers = await startTwoTiers('councils_killed');
});
afterAll(async () => tiers.stop());

const speaker = ({ messages }: FakeModelRequest): string =>
  /^You are (\w+) \(/m.exec(messages[0]!.content)?.[1] ?? 'nobody';
const phaseOf = ({ messages }: FakeModelRequest): string => {
  const prompt = messages.at(-1)!.content;
  if (prompt.includes('You have the chair')) return 'conclusion';
  if (prompt.includes('Rank the answers')) return 'ranking';
  return prompt.includes('KEEP') ? 'second' : prompt.includes('# The question') ? 'first' : 'heartbeat';
};

it('goes on after its scheduler was killed, leaves out who fails, and wakes the assignee with the conclusion', async () => {
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
  const scheduler = await tiers.startScheduler();
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
  scheduler.kill('SIGKILL');
  await scheduler.ended;
  await tiers.startScheduler();

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
  expect(without).toMatchObject([{ name: 'Dan', left_out_reason: expect.stringContaining('no such model') }]);
  await waitFor(async () => (await api.call<Issue>('GET', `/api/issues/${issue.id}`)).status === 'done');
  const counts = Map.groupBy(spoken, (turn) => turn);
  const again = [...counts].filter(([, times]) => times.length > 1).map(([turn]) => turn);
  expect(again).toEqual(['Bob second']);
  const comments = await api.call<Comment[]>('GET', `/api/issues/${issue.id}/comments`);
  expect(comments[0]).toMatchObject({ author_agent_id: agents[0]!.id });
  expect(comments[0]!.body_markdown).toMatch(/_Council of Ada, \w+, \w+\. Left out: Dan \(.*no such model/);
  const decisions = await api.call<ExecutionDecision[]>('GET', `/api/issues/${issue.id}/execution-decisions`);
  expect(decisions).toMatchObject([
    { decision_type: 'auto_approve', metadata: { council_session_id: over.id } },
  ]);
});
