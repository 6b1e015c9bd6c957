import {
  type Actor,
  createValidator,
  type Issue,
  type PeerAgent,
  PeerAgents,
  requirePermission,
} from '@acp/contract';
import { schema, type Tx } from '@acp/db';
import { conflict, newId, notFound } from '@acp/kernel';
import { and, eq, sql } from 'drizzle-orm';
import { assertCauseDepth, causeDepth } from '../activity/index.ts';
import { createIssue, findIssue, type IssueRow, updateIssue } from '../issues/index.ts';
import { ANY_PEER, type PeerRow } from './peers.ts';

const { a2a_delegations, a2a_peers } = schema;
const readAgents = createValidator(PeerAgents, 'agents');

/** An agent of a peer, found by the name that agents use for it. */
export interface FoundPeerAgent {
  peer: PeerRow;
  agent: PeerAgent;
}

/** Callable agents of all peers. */
export async function peerAgents(tx: Tx, company_id: string): Promise<FoundPeerAgent[]> {
  const rows = await tx
    .select()
    .from(a2a_peers)
    .where(and(eq(a2a_peers.company_id, company_id), eq(a2a_peers.enabled, true)))
    .orderBy(a2a_peers.label);
  return rows.flatMap((peer) => readAgents(peer.agents).map((agent) => ({ peer, agent })));
}

/**
 * Resolves `label:Agent`, or `peer:Agent` for any peer that has the agent; undefined if the text names no peer.
 * @throws notFound if the peer has no such agent, conflict if several have
 */
export async function peerAgentNamed(
  tx: Tx,
  company_id: string,
  words: string,
): Promise<FoundPeerAgent | undefined> {
  const mark = words.indexOf(':');
  if (mark <= 0) return undefined;
  const [label, name] = [words.slice(0, mark), words.slice(mark + 1)].map((word) =>
    word.trim().toLowerCase(),
  );
  const all = await peerAgents(tx, company_id);
  const ofPeer = label === ANY_PEER ? all : all.filter(({ peer }) => peer.label.toLowerCase() === label);
  if (ofPeer.length === 0 && label !== ANY_PEER) return undefined;
  const found = ofPeer.filter(({ agent }) =>
    [agent.name.toLowerCase(), agent.id.toLowerCase()].includes(name ?? ''),
  );
  const [first] = found;
  if (first === undefined) throw notFound(`there is no agent ${words.slice(0, 200)}`);
  if (found.length > 1)
    throw conflict(`several peers have it: name one of ${found.map(({ peer }) => peer.label).join(', ')}`);
  return first;
}

/**
 * Delegates the issue to an agent of a peer: a child issue tracks the task there, and the issue is blocked until that has
 * ended. A scheduler sends the task, once. @throws forbidden, conflict for a chain of too many agents
 */
export async function delegate(
  tx: Tx,
  actor: Actor,
  issue: IssueRow,
  { peer, agent }: FoundPeerAgent,
  task?: string,
): Promise<Issue> {
  requirePermission(actor, 'federation.call');
  const depth = causeDepth(actor);
  assertCauseDepth(depth);
  const body = task ?? issue.body_markdown ?? issue.title;
  const child = await createIssue(
    tx,
    actor,
    issue.company_id,
    {
      title: `${peer.label}:${agent.name}: ${issue.title}`.slice(0, 500),
      body_markdown: body,
      parent_issue_id: issue.id,
      status: 'in_progress',
    },
    { kind: 'a2a_peer', id: peer.id },
  );
  await tx.insert(a2a_delegations).values({
    issue_id: child.id,
    company_id: issue.company_id,
    peer_id: peer.id,
    agent_id: actor.kind === 'agent' ? actor.agent_id : null,
    depth,
    remote_agent: agent.name,
    remote_url: agent.url,
    dialect: agent.protocol_version,
    message_id: newId(),
    next_attempt_at: sql`now()`,
  });
  const parent = await findIssue(tx, issue.id);
  if (parent && !['done', 'cancelled'].includes(parent.status))
    await updateIssue(tx, actor, parent, { status: 'blocked' });
  return child;
}
