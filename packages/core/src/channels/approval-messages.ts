/** Messages about approvals: the request with its buttons, and the decision. */
import type { ApprovalSummary } from '@acp/contract';
import type { Tx } from '@acp/db';
import { readableJson } from '@acp/kernel';
import { sql } from 'drizzle-orm';
import { plain } from './commands.ts';
import type { NewOutgoing } from './outbox.ts';
import { type EventOf, inPrivate, type Recipient } from './recipients.ts';

/** Maximum characters of an approval's text; the page shows all of it. What a message does not show is not decided there. */
const SHOWN = 2500;

interface AskedApproval extends Record<string, unknown> {
  id: string;
  company_id: string;
  type: string;
  title: string;
  description: string | null;
  payload: Record<string, unknown>;
  updated_at: Date;
  asked_by: string | null;
}

/** Sent to members and admins who want it: in private, in the approval's current state, with buttons if all of it is shown. */
export async function approvalMessages(
  tx: Tx,
  events: readonly EventOf<ApprovalSummary>[],
  paired: readonly Recipient[],
  public_url: string,
): Promise<NewOutgoing[]> {
  const recipients = paired.filter(({ role, notify }) => notify.includes('approvals') && role !== 'viewer');
  if (events.length === 0 || recipients.length === 0) return [];
  const ids = [...new Set(events.map(({ data }) => data.id))];
  const { rows } = await tx.execute<AskedApproval>(sql`
    select a.id, a.company_id, a.type, a.title, a.description, a.payload, a.updated_at,
      coalesce(g.name, u.display_name) as asked_by
    from approvals a left join agents g on g.id = a.requested_by_agent_id left join users u on u.id = a.requested_by_user_id
    where a.status = 'pending'
      and a.id in (select value::uuid from jsonb_array_elements_text(${JSON.stringify(ids)}::jsonb))`);
  return rows.flatMap((approval) => {
    const version = new Date(approval.updated_at);
    const { body, isWhole } = approvalText(approval, public_url);
    const shown = isWhole
      ? { kind: 'approval', approval_id: approval.id, approval_version: version }
      : { kind: 'notice' };
    return recipients
      .filter(({ company_id }) => company_id === approval.company_id)
      .map((to) => ({
        ...inPrivate(to),
        ...shown,
        dedupe_key: `approval:${approval.id}:${version.getTime()}:${to.user_id}`,
        body,
      }));
  });
}

function approvalText(
  { id, type, title, description, payload, asked_by }: AskedApproval,
  public_url: string,
): { body: string; isWhole: boolean } {
  const asked = Object.keys(payload).length === 0 ? '' : readableJson(payload);
  const isWhole = Math.max(asked.length, description?.length ?? 0) <= SHOWN;
  const parts = [
    `**Approval: ${plain(title)}**`,
    `${plain(type.replaceAll('_', ' '))}, asked for by ${plain(asked_by ?? 'somebody')}`,
    plain(cut(description ?? '')),
    asked === '' ? '' : `\`\`\`\n${cut(asked).replaceAll('```', "'''")}\n\`\`\``,
    isWhole ? '' : 'It is too long to be decided here: see its page.',
    `${public_url}/approvals/${id}`,
  ];
  return { body: parts.filter((part) => part !== '').join('\n\n'), isWhole };
}

const cut = (text: string): string =>
  text.length <= SHOWN ? text : `${text.slice(0, SHOWN).toWellFormed()} … (cut: the page has it all)`;

/** Updates messages that still show buttons with the decision, wherever it was made. */
export async function approvalOutcomes(
  tx: Tx,
  events: readonly EventOf<ApprovalSummary>[],
): Promise<NewOutgoing[]> {
  if (events.length === 0) return [];
  const ended = new Map(events.map(({ data }) => [data.id, data]));
  const { rows } = await tx.execute<{
    id: string;
    channel_id: string;
    user_id: string;
    conversation: string;
    thread: string;
    body: string | null;
    approval_id: string;
    decided_by: string | null;
  }>(sql`
    select o.id, o.channel_id, o.user_id, o.conversation, o.thread, o.body, o.approval_id,
      u.display_name as decided_by
    from channel_outbox o join approvals a on a.id = o.approval_id left join users u on u.id = a.decided_by_user_id
    where o.kind = 'approval' and o.status <> 'failed'
      and o.approval_id in (select value::uuid from jsonb_array_elements_text(${JSON.stringify([...ended.keys()])}::jsonb))`);
  return rows.map(({ id, body, decided_by, ...place }) => {
    const { status } = ended.get(place.approval_id)!;
    const by = decided_by === null ? '' : ` by ${plain(decided_by)}`;
    const title = (body ?? '').split('\n', 1)[0] ?? '';
    return {
      ...place,
      kind: 'outcome',
      dedupe_key: `outcome:${id}:${status}`,
      reply_to: id,
      body: `${title}\n\n${plain(status.replaceAll('_', ' '))}${by}`,
    };
  });
}
