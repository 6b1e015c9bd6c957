import {
  type AgentActor,
  type Approval,
  type CreateApproval,
  type InstallKind,
  requirePermission,
} from '@acp/contract';
import { lockByName, schema, type Tx } from '@acp/db';
import { cutText } from '@acp/kernel';
import { and, eq, sql } from 'drizzle-orm';
import { createApproval } from './create-approval.ts';
import { hasEffect } from './payload.ts';
import { presentApproval } from './present.ts';

const { approvals } = schema;

/** Something that an agent wants to create without the permission for it. */
interface WithheldInstall {
  company_id: string;
  /** The issue that the agent is working on. */
  issue_id: string | null;
  kind: InstallKind;
  /** The body of that resource's POST; for a skill it may also be the text of its SKILL.md. */
  body: Record<string, unknown> | string;
}

const LONGEST_TITLE_BYTES = 200;

/**
 * Turns an act that an agent lacks permission for into an approval (decisions 5): `hire_agent` for an agent, `install` for
 * anything else.
 * @throws like `requestApproval`
 */
export async function requestInstallApproval(
  tx: Tx,
  actor: AgentActor,
  withheld: WithheldInstall,
): Promise<Approval> {
  const { company_id, issue_id, kind, body } = withheld;
  const hire = kind === 'agent' && typeof body !== 'string';
  const title = `${hire ? 'Hire' : `Install ${kind}`}: ${nameIn(body)}`;
  const { approval } = await requestApproval(tx, actor, company_id, {
    type: hire ? 'hire_agent' : 'install',
    title: cutText(title, LONGEST_TITLE_BYTES),
    payload: hire ? body : { kind, body },
    issue_id,
  });
  return approval;
}

/**
 * An agent requests an approval. If the same request is already pending, that one is returned, since models repeat themselves.
 * Requests with an effect count as the same whichever issue they are made from.
 * @throws forbidden without the permission `approvals.request`; invalid if it could not be carried out
 */
export async function requestApproval(
  tx: Tx,
  actor: AgentActor,
  company_id: string,
  input: CreateApproval,
): Promise<{ approval: Approval; asked_before: boolean }> {
  requirePermission(actor, 'approvals.request');
  const { type, title, payload = {}, issue_id = null } = input;
  // Runs of the agent that ask at once take turns: the second finds the request of the first.
  await lockByName(tx, `approval requests of ${actor.agent_id}`);
  const [pending] = await tx
    .select()
    .from(approvals)
    .where(
      and(
        eq(approvals.company_id, company_id),
        eq(approvals.requested_by_agent_id, actor.agent_id),
        eq(approvals.status, 'pending'),
        eq(approvals.type, type),
        eq(approvals.title, title),
        hasEffect(type) ? undefined : sql`${approvals.issue_id} is not distinct from ${issue_id}::uuid`,
        sql`${approvals.payload} = ${JSON.stringify(payload)}::jsonb`,
      ),
    )
    .limit(1);
  if (pending) return { approval: presentApproval(pending), asked_before: true };
  return { approval: await createApproval(tx, actor, company_id, input), asked_before: false };
}

/** Its name in the body, for the title. */
function nameIn(body: WithheldInstall['body']): string {
  const text =
    typeof body === 'string' ? /^[ \t]*name:(.*)$/m.exec(body)?.[1] : (body.name ?? body.title ?? body.label);
  return typeof text === 'string' && text.trim() !== '' ? text.trim() : 'unnamed';
}
