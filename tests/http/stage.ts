/** One of each entity that a path can name, in the company of a cast. */
import {
  attachSkill,
  createApproval,
  createApprovalComment,
  findApproval,
  createAttachments,
  createBudgetPolicy,
  createAgent,
  createChat,
  createComment,
  createCompany,
  createGoal,
  createInvite,
  createIssue,
  createLabel,
  createNote,
  createProject,
  createProvider,
  createRelation,
  createReviewComment,
  createRoutine,
  createSkill,
  createTaskSession,
  createTrigger,
  createWorkProduct,
  createWorker,
  deleteNote,
  findAgent,
  findIssue,
  findNote,
  listTrash,
  putAgentFile,
  putDocument,
  putFsSkill,
  reserveStorageKeys,
  setLogo,
  setModelPrice,
  systemActor,
} from '@acp/core';
import type { IssueRow } from '@acp/core';
import { type EndpointRow, PATH_PARAM, pathParams } from '@acp/contract';
import { schema, transaction } from '@acp/db';
import type { Database, Tx } from '@acp/db';
import { loadConfig, newId, Vault } from '@acp/kernel';
import { eq, sql } from 'drizzle-orm';
import type { Cast } from './cast.ts';

/** Rows that wait for a scheduler (decisions 6): none is running on stage, so they answer 503. */
export const awaitingScheduler: readonly string[] = [
  'agents.test-adapter',
  'agents.test-codex-adapter',
  'providers.test',
  'providers.test-instance',
  'peers.refresh',
  'plugins.allow',
  'plugins.start',
  'plugins.stop',
  'plugins.restart',
  'mcp-servers.refresh',
  'mcp-servers.call-tool',
];

/** Keyed by the row's scope (`agent_key`), else by the path parameter's name: two kinds of keys are both a `keyId`. */
export type Stage = Readonly<Record<string, string>>;

const director = systemActor('tests');

type Make = (tx: Tx, cast: Cast, issue: IssueRow) => Promise<Stage>;

/** The parts of a stage, by the names of the ids they provide. */
const parts: readonly (readonly [brings: readonly string[], make: Make])[] = [
  [['relationId'], stageRelation],
  [['commentId', 'labelId'], stageIssueParts],
  [['runId', 'heartbeat_run'], stageRun],
  [['token', 'inviteId', 'joinRequestId'], stageInvites],
  [['hookId', 'projectId', 'goalId', 'noteId', 'secretId', 'providerId'], stageThings],
  [['type', 'entityId', 'trashId'], stageTrash],
  [['skillId', 'path', 'slug', 'taskSessionId'], stageAgentParts],
  [['approvalId', 'approvalCommentId', 'policyId', 'priceId', 'incidentId'], stageDecisions],
  [['reviewCommentId', 'issueId'], stageWorkspace],
  [['attachmentId', 'workProductId', 'key', 'revisionId'], stageFiles],
  [['routineId', 'triggerId', 'publicId'], stageRoutine],
  [['webhookId', 'deliveryId', 'peerId'], stageWebhook],
  [['alertId'], stageAlert],
  [['chatId', 'messageId'], stageChat],
  [['councilSessionId'], stageCouncil],
  [['viewId'], stageView],
  [['evolutionId'], stageEvolution],
  [['serverId'], stageMcpServer],
  [['channelId'], stageChannel],
  [['workerId', 'taskId'], stageFleet],
  [['pluginId'], stagePlugin],
  [['company'], stageLogo],
];

/** @param row the row the stage is for: only what its path names is created; everything if none is given. */
export async function createStage(database: Database, cast: Cast, row?: Named): Promise<Stage> {
  const { company_id, agent_id } = cast;
  const wanted = row && new Set([...pathParams(row.path), row.scope.by]);
  return transaction(database, async (tx) => {
    const { id: issueId } = await createIssue(tx, director, company_id, { title: 'Staged' });
    const issue = (await findIssue(tx, issueId))!;
    const stage: Record<string, string> = {
      companyId: company_id,
      kind: 'agent',
      agentId: agent_id,
      userId: cast.viewer.user_id,
      keyId: cast.agent.key_id,
      agent_key: cast.agent.key_id,
      board_user_key: cast.board_viewer.key_id,
      issueId,
      // Matches no session or passkey: each caller has its own.
      sessionId: issueId,
      passkeyId: issueId,
      versionNumber: '1',
      name: 'councils',
      status: 'todo',
      reaction: 'heart',
      adapterType: 'llm',
      tool: 'echo',
      role: 'ceo',
    };
    for (const [brings, make] of parts)
      if (wanted === undefined || brings.some((name) => wanted.has(name)))
        Object.assign(stage, await make(tx, cast, issue));
    return stage;
  });
}

async function stageRelation(tx: Tx, { company_id }: Cast, issue: IssueRow): Promise<Stage> {
  const target = await createIssue(tx, director, company_id, { title: 'Its relation' });
  const { relation } = await createRelation(tx, director, issue, { target_issue_id: target.id });
  return { relationId: relation.id };
}

async function stageIssueParts(tx: Tx, { company_id }: Cast, issue: IssueRow): Promise<Stage> {
  const comment = await createComment(tx, director, issue, { body_markdown: 'Staged' });
  const label = await createLabel(tx, director, company_id, { name: `Label of ${issue.identifier}` });
  return { commentId: comment.id, labelId: label.id };
}

async function stageRun(tx: Tx, { company_id, agent_id }: Cast): Promise<Stage> {
  const [run] = await tx
    .insert(schema.heartbeat_runs)
    .values({ company_id, agent_id, wake_reason: 'manual', adapter_type: 'llm' })
    .returning();
  return { runId: run!.id };
}

async function stageInvites(tx: Tx, { company_id, stranger }: Cast): Promise<Stage> {
  // In another company: accepting it makes the caller a member, who would no longer be a stranger here.
  const elsewhere = await createCompany(tx, director, { name: 'Elsewhere', slug: `elsewhere-${newId()}` });
  const { token } = await createInvite(tx, director, elsewhere.id, { role: 'viewer' });
  const invite = await createInvite(tx, director, company_id, { role: 'viewer' });
  const [request] = await tx
    .insert(schema.join_requests)
    .values({ company_id, user_id: stranger.user_id })
    .onConflictDoUpdate({
      target: [schema.join_requests.company_id, schema.join_requests.user_id],
      targetWhere: sql`status = 'pending'`,
      set: { message: 'Staged' },
    })
    .returning();
  return { token: token ?? '', inviteId: invite.id, joinRequestId: request!.id };
}

/** Has a review comment. */
async function stageWorkspace(tx: Tx, { company_id }: Cast, issue: IssueRow): Promise<Stage> {
  await tx.insert(schema.workspaces).values({
    company_id,
    issue_id: issue.id,
    kind: 'repository',
    state: 'ready',
    branch: 'staged',
    version: 1,
    head_commit: 'staged',
  });
  const remark = { path: 'README.md', line: 1, body_markdown: 'Staged' };
  return { reviewCommentId: (await createReviewComment(tx, director, issue, remark)).id };
}

/** A worker, and a run whose task is claimed by the cast's worker. */
async function stageFleet(tx: Tx, cast: Cast): Promise<Stage> {
  const { worker_id: workerId } = await createWorker(tx, director, { name: 'Staged' });
  const { company_id, agent_id, worker } = cast;
  const now = new Date();
  const handed_over = { status: 'running', started_at: now, handed_over_at: now };
  const [run] = await tx
    .insert(schema.heartbeat_runs)
    .values({ company_id, agent_id, wake_reason: 'manual', adapter_type: 'remote', ...handed_over })
    .returning();
  const claim = { status: 'claimed', worker_id: worker.worker_id, claimed_at: now };
  const [task] = await tx
    .insert(schema.remote_tasks)
    .values({
      heartbeat_run_id: run!.id,
      company_id,
      agent_id,
      payload: {},
      deadline: new Date(Date.now() + 60_000),
      ...claim,
    })
    .returning();
  return { workerId, taskId: task!.id };
}

/** Has a webhook that anyone may call. */
async function stageRoutine(tx: Tx, { company_id }: Cast): Promise<Stage> {
  const routine = await createRoutine(tx, director, company_id, { name: 'Staged' });
  const trigger = await createTrigger(tx, director, routine, { kind: 'webhook' }, new Vault(null));
  return { routineId: routine.id, triggerId: trigger.id, publicId: trigger.public_id };
}

/** The company's only plugin: wanted, since banned, owned by no one; reset for each caller. */
async function stagePlugin(tx: Tx, { company_id }: Cast): Promise<Stage> {
  const set = { state: 'running', approval_state: 'banned', enabled: true, wanted: true };
  const [plugin] = await tx
    .insert(schema.plugins)
    .values({ company_id, name: 'Staged', slug: 'staged', host_capabilities: [], ...set })
    .onConflictDoUpdate({ target: [schema.plugins.company_id, schema.plugins.slug], set })
    .returning();
  return { pluginId: plugin!.id };
}

/** In progress on an issue of its own; no one takes its turns. */
async function stageCouncil(tx: Tx, { company_id }: Cast): Promise<Stage> {
  const { id: issue_id } = await createIssue(tx, director, company_id, { title: 'Deliberated on' });
  const [session] = await tx
    .insert(schema.council_sessions)
    .values({ company_id, issue_id, question: 'Staged?', rounds: 2, depth: 0 })
    .returning();
  return { councilSessionId: session!.id };
}

/** Shared with everyone. */
async function stageView(tx: Tx, { company_id }: Cast, { id: owner_id }: IssueRow): Promise<Stage> {
  const values = { company_id, owner_id, name: 'Staged', layout: 'list', filter: {}, shared: true };
  const [view] = await tx.insert(schema.saved_views).values(values).returning();
  return { viewId: view!.id };
}

async function hired(tx: Tx, company_id: string, name: string): Promise<string> {
  const made = await createAgent(tx, director, company_id, { name: `${name} ${newId()}` });
  return 'agent' in made ? made.agent.id : made.id;
}

/** Belongs to a separate agent, so that the cast's may start one. */
async function stageEvolution(tx: Tx, { company_id }: Cast): Promise<Stage> {
  const agent_id = await hired(tx, company_id, 'Learner');
  const [evolution] = await tx
    .insert(schema.prompt_evolutions)
    .values({ company_id, agent_id, base_version_number: 1, max_rollouts: 80, max_cost_usd: '5' })
    .returning();
  return { evolutionId: evolution!.id };
}

/** Open to the company, with an unanswered message. */
async function stageChat(tx: Tx, { company_id }: Cast): Promise<Stage> {
  const agent_id = await hired(tx, company_id, 'Talker');
  const { id: chat_id } = await createChat(tx, director, company_id, { agent_id });
  const [message] = await tx
    .insert(schema.chat_messages)
    .values({
      company_id,
      chat_id,
      position: 2,
      role: 'user',
      body_markdown: 'Staged',
      author_name: director.name,
      status: 'failed',
    })
    .returning();
  await tx.update(schema.chats).set({ last_turn: 1 }).where(eq(schema.chats.id, chat_id));
  return { chatId: chat_id, messageId: message!.id };
}

/** Has a finished delivery. */
async function stageWebhook(tx: Tx, { company_id }: Cast): Promise<Stage> {
  const values = {
    company_id,
    url: 'https://example.com/hook',
    events: ['*'],
    secret_sealed: '',
    from_seq: 0,
  };
  const [webhook] = await tx.insert(schema.webhooks).values(values).returning();
  const { id: webhook_id } = webhook!;
  const event = { seq: 1, event_id: webhook_id, event_type: 'issue.created', body: '{}' };
  const ended = { status: 'failed', error: 'it answered 500', finished_at: new Date() };
  const [peer] = await tx
    .insert(schema.a2a_peers)
    .values({ company_id, label: `Peer ${webhook_id}`, url: 'https://example.com' })
    .returning();
  const [delivery] = await tx
    .insert(schema.webhook_deliveries)
    .values({ company_id, webhook_id, ...event, ...ended })
    .returning();
  return { webhookId: webhook_id, deliveryId: delivery!.id, peerId: peer!.id };
}

/** A server that has listed one tool. */
async function stageMcpServer(tx: Tx, { company_id }: Cast): Promise<Stage> {
  // Used by the example of `mcp-servers.call-tool`.
  const tool = {
    name: 'search_tickets',
    called: 'search_tickets',
    description: '',
    input_schema: {},
    read_only: true,
  };
  const values = { company_id, name: `staged-${newId().slice(0, 8)}`, url: 'https://example.com/mcp' };
  const [server] = await tx
    .insert(schema.mcp_servers)
    .values({ ...values, listed_tools: [tool] })
    .returning();
  return { serverId: server!.id };
}

/** The viewer and an admin are paired. */
async function stageChannel(tx: Tx, { company_id, viewer, admin }: Cast): Promise<Stage> {
  const name = `staged-${newId().slice(0, 8)}`;
  const [channel] = await tx
    .insert(schema.channels)
    .values({ company_id, name, kind: 'telegram', bot_token: '${secret:BOT_TOKEN}' })
    .returning();
  const paired = { channel_id: channel!.id, company_id, channel: 'telegram' };
  const people = [viewer, admin].map(({ user_id }) => ({ ...paired, user_id, external_id: user_id }));
  await tx.insert(schema.chat_pairings).values(people);
  return { channelId: channel!.id };
}

/** Uses the encryption key of the applications that open the staged secrets. */
const sealing = new Vault(loadConfig({ SERVICE_ENCRYPTION_KEY: '7'.repeat(64) }).encryption_key);

async function stageThings(tx: Tx, { company_id }: Cast, { id: unique }: IssueRow): Promise<Stage> {
  const project = await createProject(tx, director, company_id, { name: 'Staged' });
  const goal = await createGoal(tx, director, company_id, { title: 'Staged' });
  const note = await createNote(tx, director, company_id, { title: 'Staged' });
  const [secret] = await tx
    .insert(schema.secrets)
    .values({
      company_id,
      name: `STAGED_${unique.replaceAll('-', '').toUpperCase()}`,
      sealed: 'never opened',
    })
    .returning();
  const key = { name: `Provider ${unique}`, adapter_type: 'family_chat_a' } as const;
  const rules = { egress: 'any' } as const;
  const provider = await createProvider(tx, director, company_id, key, new Vault(null), rules);
  const hookId = newId();
  // Anyone who knows its address can reach it: the secret is opened before the signature is checked.
  const secret_sealed = sealing.seal('secret of the host', `repository_webhooks/${hookId}`);
  const hook = { project_id: project.id, company_id, public_id: hookId, secret_sealed };
  await tx.insert(schema.repository_webhooks).values(hook);
  return {
    hookId,
    projectId: project.id,
    goalId: goal.id,
    noteId: note.id,
    secretId: secret!.id,
    providerId: provider.id,
  };
}

/** Contains a note. */
async function stageTrash(tx: Tx, { company_id }: Cast): Promise<Stage> {
  const thrown = await createNote(tx, director, company_id, { title: 'Thrown away' });
  await deleteNote(tx, director, (await findNote(tx, thrown.id))!);
  const [entry] = (await listTrash(tx, { company_id, type: 'note', limit: 1 })).items;
  return { type: 'note', entityId: thrown.id, trashId: entry!.trash_id };
}

/** Skills of the agent and of the company, a file, a session. */
async function stageAgentParts(
  tx: Tx,
  { company_id, agent_id }: Cast,
  { id: unique }: IssueRow,
): Promise<Stage> {
  const slug = `staged-${unique.slice(0, 8)}`;
  const skill = await createSkill(tx, director, company_id, { slug, name: 'Staged', description: 'Staged' });
  const agent = await findAgent(tx, agent_id);
  if (agent === undefined) throw new Error('the staged agent is gone');
  await attachSkill(tx, director, agent, skill.id);
  const keys = [`agents/${agent.id}/${unique}/1`, `agents/${agent.id}/${unique}/2`];
  await reserveStorageKeys(tx, keys);
  const about = { filename: 'x', content_type: 'text/plain', size_bytes: 1, sha256: '' };
  // The same for every stage of this agent, which limits their number.
  const path = 'folder/staged.txt';
  await putAgentFile(tx, director, agent, path, { ...about, storage_key: keys[0]! });
  const content = '---\nname: Staged\ndescription: Staged\n---\nStaged';
  const own = { ...about, storage_key: keys[1]! };
  await putFsSkill(tx, director, agent, { slug: 'staged', content }, own, { fresh: false });
  const session = await createTaskSession(tx, director, agent, { issue_id: unique });
  return { skillId: skill.id, path, slug: 'staged', taskSessionId: session.id };
}

/** An approval requested by none of the callers, and a policy with an incident that blocks no one. */
async function stageDecisions(tx: Tx, { company_id }: Cast): Promise<Stage> {
  const approval = await createApproval(tx, director, company_id, { type: 'plan', title: 'Staged' });
  const { id: policy_id } = await createBudgetPolicy(tx, director, company_id, {
    scope_type: 'company',
    window: 'lifetime',
    limit_usd: 1000,
  });
  const [incident] = await tx
    .insert(schema.budget_incidents)
    .values({
      company_id,
      policy_id,
      kind: 'warning',
      spent_usd: '1',
      limit_usd: '1000',
      window_start: new Date(0),
    })
    .returning();
  const price = await setModelPrice(tx, director, company_id, {
    model: 'staged',
    input_usd: 1,
    output_usd: 1,
  });
  const found = (await findApproval(tx, approval.id))!;
  const comment = await createApprovalComment(tx, director, found, { body_markdown: 'Why?' });
  return {
    approvalId: approval.id,
    approvalCommentId: comment.id,
    policyId: policy_id,
    priceId: price.id,
    incidentId: incident!.id,
  };
}

/** Rows of files without bytes: reading them answers 404. */
async function stageFiles(tx: Tx, _cast: Cast, issue: IssueRow): Promise<Stage> {
  const file = { filename: 'staged.bin', content_type: 'image/png', size_bytes: 1 };
  const storage_key = `staged/${issue.id}`;
  await reserveStorageKeys(tx, [storage_key]);
  const stored = { ...file, sha256: '', storage_key };
  const [attachment] = await createAttachments(tx, director, issue, [stored]);
  const product = await createWorkProduct(tx, director, issue, { title: 'Staged' });
  const document = await putDocument(tx, director, issue, 'staged', { title: 'Staged', body: 'Staged' });
  return {
    attachmentId: attachment!.id,
    workProductId: product.id,
    key: document.key,
    revisionId: document.latest_revision_id ?? '',
  };
}

/** The company's logo; no path contains its id. */
async function stageLogo(tx: Tx, { company_id }: Cast): Promise<Stage> {
  const file = { filename: 'staged.png', content_type: 'image/png', size_bytes: 1, theme: 'light' } as const;
  await setLogo(tx, director, company_id, { ...file, storage_key: `staged/${newId()}/logo` });
  return {};
}

type Named = Pick<EndpointRow, 'path' | 'scope'>;

/** Value of a parameter of the row's path on this stage; undefined if nothing was staged for it. */
export function staged(stage: Stage, { scope }: Named, name: string): string | undefined {
  const byScope = 'param' in scope && scope.param === name ? stage[scope.by] : undefined;
  return byScope ?? stage[name];
}

/** The row's path with the stage's ids; throws for a parameter that the stage lacks. */
export function pathOn(stage: Stage, row: Named): string {
  return row.path.replaceAll(PATH_PARAM, (_all, name: string) => {
    const value = staged(stage, row, name);
    if (value === undefined) throw new Error(`the stage has no ${name}: add one to tests/http/stage.ts`);
    return value;
  });
}

async function stageAlert(tx: Tx, { company_id }: Cast): Promise<Stage> {
  const [row] = await tx
    .insert(schema.alerts)
    .values({ company_id, kind: 'stuck_runs', key: newId(), level: 'error', message: 'Staged' })
    .returning();
  return { alertId: row!.id };
}

/** Whether a page's path is a fragment loaded by another page, and is tested as part of that one. */
export const isPart = (path: string): boolean =>
  /\/(?:part\/[^/]+|card|row|facts|thread|transcript)$/.test(path);
