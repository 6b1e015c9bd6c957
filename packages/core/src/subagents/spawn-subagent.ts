import {
  type AgentActor,
  type AgentRole,
  type Issue,
  MAX_ACTIVE_IN_TREE,
  MAX_ACTIVE_SUBAGENTS,
  MAX_SUBAGENT_DEPTH,
} from '@acp/contract';
import { schema, type Tx } from '@acp/db';
import { conflict, cutText, notFound } from '@acp/kernel';
import { sql } from 'drizzle-orm';
import { assertCauseDepth, causeDepth } from '../activity/index.ts';
import { type AgentRow, createAgent, isWakeable } from '../agents/index.ts';
import { createIssue, type IssueRow } from '../issues/index.ts';
import { inheritSkills } from '../skills/index.ts';
import { lockTree } from './tree.ts';

interface SubagentOrder {
  role: AgentRole;
  title: string;
  /** Markdown: the description of its issue. */
  instructions: string;
}

/** Maximum bytes of the parent's name within its sub-agent's name. */
const NAME = 120;

/**
 * Creates an agent below the actor and an issue below the actor's, which wakes it. It works like the actor: with its
 * adapter, provider and model, with the skills attached to it, and without any right that the actor lacks.
 * @throws conflict at a limit, forbidden if the actor may not create what it would get
 */
export async function spawnSubagent(
  tx: Tx,
  actor: AgentActor,
  issue: IssueRow,
  { role, title, instructions }: SubagentOrder,
): Promise<{ name: string; issue: Issue }> {
  const root = await lockTree(tx, actor.agent_id);
  const { parent, living, made, in_tree } = await lockParent(tx, actor, root);
  if (!isWakeable(parent.status)) throw conflict(`you are ${parent.status.replaceAll('_', ' ')}`);
  if (parent.subagent_depth >= MAX_SUBAGENT_DEPTH)
    throw conflict(`sub-agents may be ${MAX_SUBAGENT_DEPTH} levels deep: you are on the last one`);
  if (living >= MAX_ACTIVE_SUBAGENTS)
    throw conflict(`${living} of your sub-agents are still running: wait for them with /await-subagents`);
  if (in_tree >= MAX_ACTIVE_IN_TREE)
    throw conflict(`${in_tree} sub-agents are running below the same agent: do it without more of them`);
  assertCauseDepth(causeDepth(actor));
  if (['done', 'cancelled'].includes(issue.status)) throw conflict(`${issue.identifier} is ${issue.status}`);
  const { company_id } = parent;
  // Uses current permissions, not those from when the run began.
  const maker = { ...actor, permissions: parent.permissions };
  const name = `${cutText(parent.name, NAME)} / ${role} ${made + 1}`;
  const agent = await hire(tx, maker, parent, { name, role, title });
  await inheritSkills(tx, parent.id, agent.id);
  const made_issue = await createIssue(
    tx,
    maker,
    company_id,
    {
      title,
      body_markdown: instructions,
      parent_issue_id: issue.id,
      project_id: issue.project_id,
      goal_id: issue.goal_id,
      priority: issue.priority as Issue['priority'],
      assignee_agent_id: agent.id,
    },
    { kind: 'subagent', id: parent.id },
  );
  await tx.insert(schema.subagents).values({
    agent_id: agent.id,
    company_id,
    root_agent_id: root,
    parent_agent_id: parent.id,
    parent_issue_id: issue.id,
    issue_id: made_issue.id,
  });
  return { name: agent.name, issue: made_issue };
}

/** Lock order: company (for the issue's number) before agent (shared, so that the parent's rights can't change). */
async function lockParent(
  tx: Tx,
  { company_id, agent_id }: AgentActor,
  root: string,
): Promise<{ parent: AgentRow; living: number; made: number; in_tree: number }> {
  await tx.execute(sql`select id from companies where id = ${company_id} for no key update`);
  const [parent] = await tx
    .select()
    .from(schema.agents)
    .where(sql`${schema.agents.id} = ${agent_id} and ${schema.agents.deleted_at} is null`)
    .for('share');
  if (parent === undefined) throw notFound();
  const { rows } = await tx.execute<{ living: number; made: number; in_tree: number }>(sql`
    select count(*)::int as made, (count(*) filter (where ended_at is null))::int as living,
      (select count(*)::int from subagents t where t.root_agent_id = ${root} and t.ended_at is null) as in_tree
    from subagents where parent_agent_id = ${agent_id}`);
  return { parent, ...rows[0]! };
}

async function hire(
  tx: Tx,
  actor: AgentActor,
  parent: AgentRow,
  { name, role, title }: { name: string; role: AgentRole; title: string },
): Promise<{ id: string; name: string }> {
  // A permission that an admin granted to one agent is not inherited.
  const { allow_dangerous_permissions: _, ...adapter_config } = parent.adapter_config as Record<
    string,
    unknown
  >;
  const made = await createAgent(
    tx,
    actor,
    parent.company_id,
    {
      name,
      role,
      adapter_type: parent.adapter_type,
      adapter_config,
      provider_id: parent.provider_id,
      model: parent.model,
      reports_to: parent.id,
      // Only its issue gives it work.
      heartbeat_enabled: false,
    },
    {
      spawned: {
        parent_agent_id: parent.id,
        subagent_depth: parent.subagent_depth + 1,
        ancestor_ids: [...parent.ancestor_ids, parent.id],
        spawn_reason: title,
      },
    },
  );
  return 'agent' in made ? made.agent : made;
}
