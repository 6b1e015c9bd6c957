/**
 * Prints a report in Markdown: what was done, what it cost, and what is waiting for a person.
 * CONTROL_PLANE_URL=… CONTROL_PLANE_KEY=sk_… CONTROL_PLANE_COMPANY=<id> node weekly-report.ts >report.md
 */
import { createClient } from '@acp/client';

const { CONTROL_PLANE_URL, CONTROL_PLANE_KEY, CONTROL_PLANE_COMPANY } = process.env;
if (!CONTROL_PLANE_URL || !CONTROL_PLANE_KEY || !CONTROL_PLANE_COMPANY)
  throw new Error('CONTROL_PLANE_URL, CONTROL_PLANE_KEY and CONTROL_PLANE_COMPANY are needed');

const client = createClient({ base_url: CONTROL_PLANE_URL, api_key: CONTROL_PLANE_KEY });
const path = { companyId: CONTROL_PLANE_COMPANY };
const since = new Date(Date.now() - 7 * 86_400_000).toISOString();

const lines = ['# The last seven days', '', '## Done', ''];
for await (const issue of client.pages('issues.list', { path, query: { status: 'done' } }))
  if (issue.updated_at >= since) lines.push(`- ${issue.identifier} ${issue.title}`);

const costs = await client.call('budgets.summary', { path, query: { from: since, group_by: 'agent' } });
lines.push('', `## Costs: ${costs.total_usd.toFixed(2)} USD`, '');
for (const group of costs.groups)
  lines.push(`- ${group.label ?? 'without an agent'}: ${group.cost_usd.toFixed(2)} USD, ${group.runs} runs`);

const inbox = await client.call('inbox.get', { path });
lines.push(
  '',
  '## Waiting for a person',
  '',
  `${inbox.approvals.length} approvals, ${inbox.awaiting_input.length} questions`,
);
process.stdout.write(`${lines.join('\n')}\n`);
