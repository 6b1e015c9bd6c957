/**
 * Assigns an issue to an agent, waits for its run to end, and prints the answer.
 * CONTROL_PLANE_URL=… CONTROL_PLANE_KEY=sk_… CONTROL_PLANE_COMPANY=<id> node ask-agent.ts "Ada" "Count the books"
 */
import { type Agent, createClient } from '@acp/client';

const { CONTROL_PLANE_URL, CONTROL_PLANE_KEY, CONTROL_PLANE_COMPANY } = process.env;
const [name, title] = process.argv.slice(2);
if (!CONTROL_PLANE_URL || !CONTROL_PLANE_KEY || !CONTROL_PLANE_COMPANY || !name || !title)
  throw new Error('usage: ask-agent.ts <agent> <title>, with CONTROL_PLANE_URL, _KEY and _COMPANY');

const client = createClient({ base_url: CONTROL_PLANE_URL, api_key: CONTROL_PLANE_KEY });
const path = { companyId: CONTROL_PLANE_COMPANY };
let agent: Agent | undefined;
for await (const each of client.pages('agents.list', { query: { company_id: CONTROL_PLANE_COMPANY } }))
  if (each.name === name) agent ??= each;
if (!agent) throw new Error(`no agent is called ${name}`);

// Starts with the first event, so that nothing between the two calls is missed.
const events = client.events({ company_id: CONTROL_PLANE_COMPANY, after: '0' });
const made = await client.call('issues.create', { path, body: { title, assignee_agent_id: agent.id } });
const issue = 'issue' in made ? made.issue : made;
for await (const { event, data } of events) {
  const run = (data as { data?: { issue_id?: string } }).data;
  if (event === 'heartbeat_completed' && run?.issue_id === issue.id) break;
}
for await (const comment of client.pages('comments.list', { path: { issueId: issue.id } }))
  process.stdout.write(`${comment.body_markdown}\n`);
