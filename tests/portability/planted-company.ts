/** A company with one of everything a bundle contains, and a secret in every place where someone might have left one. */
import {
  addLabel,
  archiveNote,
  attachSkill,
  createAgent,
  createBudgetPolicy,
  createComment,
  createGoal,
  createIssue,
  createLabel,
  createNote,
  createProject,
  createProvider,
  createRelation,
  createRoutine,
  createSecret,
  createSkill,
  createTrigger,
  findAgent,
  findIssue,
  findNote,
  findRoutine,
  putDocument,
  systemActor,
  updateAgent,
  updateAgentDefaults,
  updateCompany,
  updatePermissions,
  type IssueRow,
} from '@acp/core';
import type { Agent } from '@acp/contract';
import { schema, type Tx } from '@acp/db';
import type { Vault } from '@acp/kernel';
import { eq } from 'drizzle-orm';

const director = systemActor('tests');

/** Each is known to the company in a different way. */
export const planted = {
  secret: 'planted-secret-of-the-company',
  api_key: 'planted-key-of-a-provider',
  header: 'planted-header-of-a-provider',
  env: 'planted-in-an-environment',
  shop: 'planted-in-a-workspace',
  url: 'planted-in-a-url',
  unknown: 'planted-in-an-unknown-field',
  own_key: `sk_${'0123456789abcdef'.repeat(4)}`,
  vendor_key: `ghp_${'A1b2'.repeat(10)}`,
  pem: `-----BEGIN PRIVATE KEY-----\n${'TUlJ'.repeat(20)}\n-----END PRIVATE KEY-----`,
} as const;

/** All of them, as someone might paste them into a text. */
export const pasted = Object.entries(planted)
  .filter(([name]) => name !== 'url' && name !== 'unknown')
  .map(([, value]) => value)
  .join(' and ');

export async function plantCompany(tx: Tx, company_id: string, vault: Vault): Promise<void> {
  await updateCompany(tx, director, company_id, { default_worker_tags: ['linux'] });
  await updateAgentDefaults(tx, director, company_id, { heartbeat_interval_sec: 900 });
  await createSecret(tx, director, company_id, { name: 'TOKEN', value: planted.secret }, vault);
  const provider = await createProvider(
    tx,
    director,
    company_id,
    {
      name: 'Models',
      adapter_type: 'family_compat',
      base_url: `https://models.example/v1?key=${planted.url}`,
      api_key: planted.api_key,
      custom_headers: { 'X-Key': planted.header },
      default_model: 'large',
      is_default: true,
    },
    vault,
    { egress: 'any' },
  );
  const { ada, grace } = await plantAgents(tx, company_id, provider.id);
  await plantWork(tx, company_id, { ada, grace }, vault);
}

async function plantAgents(tx: Tx, company_id: string, provider_id: string) {
  const skill = await createSkill(tx, director, company_id, {
    slug: 'knots',
    name: 'Knots',
    description: 'Ties.',
    body_markdown: `Tie a bowline.\n\n${pasted}`,
  });
  await createSkill(tx, director, company_id, {
    slug: 'house-rules',
    name: 'House rules',
    description: 'For all.',
    body_markdown: 'Wipe your feet.',
    company_wide: true,
  });
  const ada = await hire(tx, company_id, {
    name: `Ada ${planted.secret}`,
    role: 'ceo',
    provider_id,
    model: 'large',
    system_prompt: `You lead. ${pasted}`,
  });
  const grace = await hire(tx, company_id, {
    name: 'Grace',
    role: 'engineer',
    title: 'Engineer',
    reports_to: ada.id,
    adapter_type: 'docker',
    adapter_config: {
      image: 'agent:1',
      env: { API_TOKEN: planted.env, NODE_ENV: 'production', DEPLOY_KEY: '${secret:TOKEN}' },
      unknown: planted.unknown,
    },
  });
  // Another agent of the same name: names need not be unique.
  await hire(tx, company_id, { name: 'Grace', role: 'engineer', adapter_config: { full_context: true } });
  await attachSkill(tx, director, (await findAgent(tx, grace.id))!, skill.id);
  await updatePermissions(tx, director, (await findAgent(tx, grace.id))!, {
    'secrets.use': true,
    'agents.create': false,
  });
  await updateAgent(tx, director, (await findAgent(tx, ada.id))!, { heartbeat_enabled: true });
  return { ada, grace };
}

async function hire(tx: Tx, company_id: string, input: Parameters<typeof createAgent>[3]): Promise<Agent> {
  return (await createAgent(tx, director, company_id, input)) as Agent;
}

async function plantWork(
  tx: Tx,
  company_id: string,
  { ada, grace }: { ada: Agent; grace: Agent },
  vault: Vault,
): Promise<void> {
  const goal = await createGoal(tx, director, company_id, { title: 'Grow', owner_agent_id: ada.id });
  const below = await createGoal(tx, director, company_id, {
    title: 'Sell more books',
    parent_goal_id: goal.id,
    level: 'team',
  });
  const project = await createProject(tx, director, company_id, {
    name: 'Shop',
    description: pasted,
    goal_id: below.id,
    lead_agent_id: ada.id,
    repo_url: 'https://git.example/shop.git',
    repo_secret: 'TOKEN',
    setup_command: 'npm ci',
    env: { CI: 'true', SHOP_PASSWORD: planted.shop },
    workspace_days: 3,
  });
  // As accepted by previous releases.
  const repo_url = `https://bot:${planted.url}@git.example/shop.git`;
  await tx.update(schema.projects).set({ repo_url }).where(eq(schema.projects.id, project.id));
  const routine = await createRoutine(tx, director, company_id, {
    name: 'Morning',
    assignee_agent_id: grace.id,
    project_id: project.id,
    body_template: `Look. ${pasted}`,
  });
  const found = (await findRoutine(tx, routine.id))!;
  const schedule = { kind: 'schedule', cron_expression: '0 9 * * 1', timezone: 'Europe/Berlin' } as const;
  await createTrigger(tx, director, found, schedule, vault);
  await createTrigger(tx, director, found, { kind: 'webhook', signing_mode: 'hmac' }, vault);
  const issue = await plantIssues(tx, company_id, { project_id: project.id, assignee_agent_id: grace.id });
  await createNote(tx, director, company_id, { title: 'On issue', issue_id: issue.id, tags: ['a', 'b'] });
  const note = await createNote(tx, director, company_id, { title: 'Old', body_markdown: pasted });
  await archiveNote(tx, director, (await findNote(tx, note.id))!);
  const monthly = { window: 'month', limit_usd: 12.5 } as const;
  await createBudgetPolicy(tx, director, company_id, { scope_type: 'company', ...monthly, action: 'pause' });
  await createBudgetPolicy(tx, director, company_id, { scope_type: 'agent', scope_id: ada.id, ...monthly });
  await createBudgetPolicy(tx, director, company_id, {
    scope_type: 'project',
    scope_id: project.id,
    ...monthly,
  });
}

async function plantIssues(
  tx: Tx,
  company_id: string,
  placed: { project_id: string; assignee_agent_id: string },
): Promise<IssueRow> {
  const label = await createLabel(tx, director, company_id, { name: 'Urgent', color: '#ff0000' });
  const make = async (input: Parameters<typeof createIssue>[3]) =>
    (await findIssue(tx, (await createIssue(tx, director, company_id, input)).id))!;
  const first = await make({ title: 'Count the books', body_markdown: pasted, ...placed });
  const child = await make({ title: 'Upper floor', parent_issue_id: first.id, status: 'blocked' });
  const third = await make({ title: '<script>alert(1)</script>', status: 'done', priority: 'low' });
  await addLabel(tx, director, first, label.id);
  await createRelation(tx, director, first, { target_issue_id: third.id, relation_type: 'blocks' });
  await createRelation(tx, director, child, { target_issue_id: third.id });
  for (const text of ['One.', 'Two.', `Three. ${pasted}`])
    await createComment(tx, director, first, { body_markdown: text });
  const grace = (await findAgent(tx, placed.assignee_agent_id))!;
  const author = { kind: 'agent', agent_id: grace.id, company_id, name: grace.name } as const;
  const actor = { ...author, key_id: null, permissions: {}, run_id: null, depth: 0 };
  await createComment(tx, actor, child, { body_markdown: 'By an agent.' });
  await putDocument(tx, director, first, 'plan', { title: 'Plan', body: pasted });
  await putDocument(tx, director, first, 'plan', { title: 'Plan', body: `Better. ${pasted}` });
  return first;
}
