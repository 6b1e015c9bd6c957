import type { Actor, CompanyRole, Invite } from '@acp/contract';
import { lockByName, schema, type Tx } from '@acp/db';
import { conflict, cutText, rateLimited, said, saidValue } from '@acp/kernel';
import { eq } from 'drizzle-orm';
import { countOfDay } from '../activity/index.ts';
import { type Mailing, queueMessages } from '../messages/index.ts';
import { createInvite } from './invites.ts';

const { companies } = schema;

/** Per company, mailed or not, revoked or not: no one can have an instance write to strangers endlessly. */
const MOST_A_DAY = 100;
const HOUR_SEC = 3600;
// A company's name is written by its admins, but appears in the operator's mail.
const NAME_BYTES = 100;

/**
 * An invite whose link is mailed to an address. The mail is stored sealed until it is sent.
 * @throws conflict without a mail server, unavailable without an encryption key, rateLimited after 100 invites in a day
 */
export async function inviteByMail(
  tx: Tx,
  actor: Actor,
  company_id: string,
  { email, ...input }: { role: CompanyRole; expires_in_hours?: number; email: string },
  { vault, mail, public_url }: Mailing,
): Promise<Invite> {
  if (!mail) throw conflict('no mail server is set up: see SERVICE_SMTP_URL');
  await lockByName(tx, `invites by mail:${company_id}`);
  const made = await countOfDay(tx, company_id, { entity_type: 'invite', action: 'invite.created' });
  if (made >= MOST_A_DAY) throw rateLimited('too many invites in a day', HOUR_SEC);
  const invite = await createInvite(tx, actor, company_id, input, vault);
  const [company] = await tx
    .select({ name: companies.name })
    .from(companies)
    .where(eq(companies.id, company_id));
  const name = cutText(company?.name ?? '', NAME_BYTES);
  const body = [
    said`You are invited to join ${name} as ${saidValue(input.role)}.`,
    `${public_url}/invites/${invite.token ?? ''}`,
    said`The link is valid for one person, until ${new Date(invite.expires_at).toUTCString()}.`,
    said`If you did not expect this, you can ignore it.`,
  ];
  const subject = said`Invitation to ${name}`;
  await queueMessages(tx, [{ channel: 'mail', purpose: 'invite', recipient: email, subject, body }], vault);
  return invite;
}
