/**
 * Maps a path to the company it belongs to: the only mechanism of tenant isolation. Anything absent, in the trash or owned
 * by another company results in the same 404 (specification, What the service does 7).
 */
import type { Actor, EndpointRow, Scope, ScopeEntity, WorkerActor } from '@acp/contract';
import {
  findAgent,
  findAlert,
  findAgentKey,
  findApproval,
  findAttachment,
  findBoardUserKey,
  findBudgetIncident,
  findBudgetPolicy,
  findChannel,
  findChat,
  findCompany,
  findCouncil,
  findDelivery,
  findEvolution,
  findIssue,
  findJoinRequest,
  findMcpServer,
  findNote,
  findPeer,
  findPlugin,
  findProvider,
  findRelation,
  findReviewComment,
  findRoutine,
  findRoutineTrigger,
  findRun,
  findSecret,
  findSkill,
  findTaskSession,
  findView,
  findWebhook,
  findWorkProduct,
  findGoal,
  findProject,
  hasClaimed,
} from '@acp/core';
import type { Tx } from '@acp/db';
import { forbidden, notFound, unauthenticated } from '@acp/kernel';
import { isInstanceAdmin, roleIn } from './roles.ts';

/** @param actor for entities that not everyone in their company may see: others find nothing */
type Loader = (tx: Tx, id: string, actor: Actor) => Promise<{ company_id: string } | undefined>;

const loaders = {
  agent: findAgent,
  agent_key: findAgentKey,
  task_session: findTaskSession,
  issue: findIssue,
  run: findRun,
  relation: findRelation,
  routine: findRoutine,
  routine_trigger: findRoutineTrigger,
  attachment: findAttachment,
  work_product: findWorkProduct,
  review_comment: findReviewComment,
  board_user_key: findBoardUserKey,
  join_request: findJoinRequest,
  approval: findApproval,
  budget_policy: findBudgetPolicy,
  budget_incident: findBudgetIncident,
  secret: findSecret,
  provider: findProvider,
  project: findProject,
  goal: findGoal,
  note: findNote,
  skill: findSkill,
  webhook: findWebhook,
  webhook_delivery: findDelivery,
  mcp_server: findMcpServer,
  channel: findChannel,
  plugin: findPlugin,
  chat: findChat,
  council_session: findCouncil,
  saved_view: findView,
  prompt_evolution: findEvolution,
  peer: findPeer,
  alert: findAlert,
} satisfies Record<ScopeEntity, Loader>;

type Loaded<E extends keyof typeof loaders> = NonNullable<Awaited<ReturnType<(typeof loaders)[E]>>>;

/** Type of `subject` in the handler of a row with such a scope. */
export type SubjectOf<By extends Scope['by']> = By extends keyof typeof loaders
  ? Loaded<By>
  : By extends 'self'
    ? Loaded<'agent'>
    : By extends 'worker'
      ? WorkerActor
      : undefined;

interface Scoped {
  /** Empty if the row has no company. */
  readonly company_id: string;
  readonly subject: unknown;
}

const UNSCOPED: Scoped = { company_id: '', subject: undefined };

/** @param id the scope's path parameter: already known to be a UUID, in lower case. */
export async function loadScope(
  tx: Tx,
  actor: Actor,
  row: Pick<EndpointRow, 'scope'>,
  id: string,
): Promise<Scoped> {
  const { scope } = row;
  switch (scope.by) {
    case 'none':
      return UNSCOPED;
    case 'self':
      return loadSelf(tx, actor);
    case 'worker':
      return loadWorker(tx, actor, id);
    case 'company':
      return loadCompany(tx, actor, id);
    default:
      return loadEntity(tx, actor, scope, id);
  }
}

async function loadSelf(tx: Tx, actor: Actor): Promise<Scoped> {
  const agent = actor.kind === 'agent' ? await findAgent(tx, actor.agent_id) : undefined;
  // The key was revoked along with the agent a moment ago.
  if (agent === undefined) throw unauthenticated('invalid api key');
  return { company_id: agent.company_id, subject: agent };
}

async function loadWorker(tx: Tx, actor: Actor, task_id: string): Promise<Scoped> {
  const worker = requireWorker(actor);
  if (task_id !== '' && !(await hasClaimed(tx, worker.worker_id, task_id))) throw notFound();
  return { company_id: '', subject: worker };
}

/** Workers serve all companies: each may see only the task that it holds. */
function requireWorker(actor: Actor): WorkerActor {
  if (actor.kind !== 'worker') throw unauthenticated('invalid api key');
  return actor;
}

/** Queries only for an instance admin outside of the company: a member's actor proves that the company exists. */
async function loadCompany(tx: Tx, actor: Actor, id: string): Promise<Scoped> {
  const stranger = actor.kind === 'user' ? !Object.hasOwn(actor.roles, id) : roleIn(actor, id) === undefined;
  if (stranger && !(isInstanceAdmin(actor) && (await findCompany(tx, id)))) throw notFound();
  return { company_id: id, subject: undefined };
}

async function loadEntity(
  tx: Tx,
  actor: Actor,
  scope: Extract<Scope, { by: ScopeEntity }>,
  id: string,
): Promise<Scoped> {
  const load: Loader = loaders[scope.by];
  const subject = await load(tx, id, actor);
  if (subject === undefined || roleIn(actor, subject.company_id) === undefined) {
    throw scope.absent === 'forbidden' ? forbidden() : notFound();
  }
  return { company_id: subject.company_id, subject };
}
