/** A scheduler dies while an agent waits for its working sub-agents: nothing is lost, no one is woken twice. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Issue, Run, Subagent } from '@acp/contract';
import { waitFor } from '@acp/testkit';
import { createTeam, startTwoTiers, type TwoTiers } from './api.ts';

let tiers: TwoTiers;

beforeAll(async () => {
  tiers = await startTwoTiers('subagents_killed');
});
afterAll(async () => tiers.stop());

const order = (title: string): string => `/spawn-subagent researcher ${title}\n\`\`\`\nFind it out.\n\`\`\``;

it('a parent is woken once, with the results of the quick, the killed and the failed', async () => {
  const { api, model } = tiers;
  const asked: string[] = [];
  model.setScript(({ messages }) => {
    const prompt = messages.at(-1)!.content;
    const title = /# Your issue\n\S+ (.*)/.exec(prompt)?.[1] ?? 'nothing';
    asked.push(title);
    const times = asked.filter((each) => each === title).length;
    if (title === 'Write the report' && times === 1)
      return `${['Quick', 'Slow', 'Hopeless'].map(order).join('\n')}\n/await-subagents`;
    if (title === 'Write the report') return 'Put together.\n/status done';
    if (title === 'Hopeless') return { status: 400, error: { message: 'no such model' } };
    if (title === 'Slow' && times === 1) return { chunks: ['Half a '], stall: 'end' };
    return `Found: ${title}.`;
  });
  const scheduler = await tiers.startScheduler();
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
  scheduler.kill('SIGKILL');
  await scheduler.ended;
  await tiers.startScheduler();

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
