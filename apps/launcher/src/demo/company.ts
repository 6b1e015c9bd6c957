/** Creates the demo's company through the public API. */
import type { Client } from './client.ts';

export interface DemoAgent {
  id: string;
  name: string;
}

export interface DemoIssue {
  id: string;
  identifier: string;
  title: string;
  status: string;
  assignee_agent_id: string | null;
  parent_issue_id: string | null;
}

export interface DemoCompany {
  id: string;
  agents: DemoAgent[];
}

const ISSUES = [
  {
    title: 'Put our spring reading list on the web',
    priority: 'high',
    body_markdown: `Customers ask for it every year, and every year we print it too late.

- Choose ten books for the list and write two sentences about each.
- Build a page for the list that works on a phone.`,
  },
  {
    title: 'Fewer people should give up at the checkout',
    priority: 'medium',
    body_markdown: `One order in three is abandoned between the basket and the payment.

- Measure where in the checkout people leave, and ask five of them why.
- Fix the slowest step of the checkout code.`,
  },
  {
    title: 'Find out what our readers want from the newsletter',
    priority: 'low',
    body_markdown: 'Half a page is enough: what they read, what they skip, what they miss.',
  },
] as const;

const HOUSE_STYLE = `---
name: House style
description: How results are written down at Harbour Books. Read it before you report.
---
First what came out of it, in one sentence. Then how we know, with the numbers. Nothing that the reader does not need.
`;

export async function createDemoCompany(client: Client): Promise<DemoCompany> {
  const { id } = await client.post<{ id: string }>('/api/companies', {
    name: 'Harbour Books',
    slug: 'harbour-books',
  });
  const hire = async (agent: object): Promise<DemoAgent> =>
    client.post<DemoAgent>(`/api/companies/${id}/agents`, agent);
  await client.post(`/api/companies/${id}/skills`, { content: HOUSE_STYLE, company_wide: true });
  // Three issues arrive at once, and a chief can work on all of them.
  const ada = await hire({ name: 'Ada', role: 'ceo', title: 'Chief executive', max_concurrent_runs: 3 });
  const grace = await hire({ name: 'Grace', role: 'engineer', title: 'Web engineer', reports_to: ada.id });
  const linus = await hire({
    name: 'Linus',
    role: 'researcher',
    title: 'Reader research',
    reports_to: ada.id,
  });
  return { id, agents: [ada, grace, linus] };
}

/** Each one wakes the chief, its assignee. */
export async function createDemoIssues(client: Client, company: DemoCompany): Promise<void> {
  const chief = company.agents[0]!;
  for (const issue of ISSUES) {
    await client.post(`/api/companies/${company.id}/issues`, { ...issue, assignee_agent_id: chief.id });
  }
}

interface DemoCouncil {
  id: string;
  status: string;
  participants: { agent_id: string; name: string }[];
  conclusion: string | null;
}

/** A question for several agents. Blocked until a council has concluded, which wakes the chief. */
export async function conveneDemoCouncil(client: Client, company: DemoCompany): Promise<DemoCouncil> {
  const issue = await client.post<DemoIssue>(`/api/companies/${company.id}/issues`, {
    title: 'Do we open a second shop on the quay?',
    body_markdown: 'The lease is offered until the end of the month.',
    status: 'blocked',
    assignee_agent_id: company.agents[0]!.id,
  });
  return client.post<DemoCouncil>(`/api/issues/${issue.id}/convene-council`, {
    question: 'Do we open a second shop on the quay, and if so, when?',
    agent_ids: company.agents.map(({ id }) => id),
  });
}

export async function listDemoIssues(client: Client, company: DemoCompany): Promise<DemoIssue[]> {
  const issues = await client.get<DemoIssue[]>(`/api/companies/${company.id}/issues?limit=200`);
  return issues.toReversed();
}
