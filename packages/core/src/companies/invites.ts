import type { Actor, CompanyRole, Invite, Membership, UserActor } from '@acp/contract';
import { byCreation, newestFirst, type Page, type PageRequest, schema, type Tx } from '@acp/db';
import { newId, newToken, notFound, sha256Hex, type Vault } from '@acp/kernel';
import { and, eq, getTableColumns, gt, isNull, sql } from 'drizzle-orm';
import { recordChanges } from '../activity/index.ts';
import { assertRoom } from '../bounds/index.ts';
import { actorOf, createUser, type NewUser, type UserRow } from '../identity/index.ts';
import { requireEntitlement } from '../settings/index.ts';
import { answerableUser, hasRole } from './answerable.ts';
import { ofLiveCompany } from './find-in-company.ts';
import { addMember, isMember } from './members.ts';

const { companies, invites } = schema;

type InviteRow = typeof invites.$inferSelect;

/** Takes the place of a token that must not be stored. */
export interface TokenHash {
  hash: string;
}

const DEFAULT_HOURS = 72;

/** @param token visible to admins only: anyone who has it may join */
function present(row: InviteRow, token: string | null, is_open: boolean): Invite {
  return {
    id: row.id,
    company_id: row.company_id,
    token,
    role: row.role as CompanyRole,
    created_by: row.created_by,
    expires_at: row.expires_at,
    accepted_by: row.accepted_by,
    accepted_at: row.accepted_at,
    created_at: row.created_at,
    is_open,
  };
}

/** Location of a token, for the vault. */
const place = (id: string) => `invites/${id}`;

/** Null if it was sealed by a key that is no longer configured; the invite itself remains usable. */
function shownToken({ id, token_sealed }: InviteRow, vault: Vault | null): string | null {
  return token_sealed !== null && vault?.canUnseal(token_sealed)
    ? vault.unseal(token_sealed, place(id))
    : null;
}

/** Newest first; at most 1,000 or 4 MB unless a limit is given. @param vault for admins, who see tokens; otherwise null */
export async function listInvites(
  tx: Tx,
  company_id: string,
  page: PageRequest,
  vault: Vault | null,
): Promise<Page<Invite>> {
  const plan = newestFirst(invites.created_at, invites.id, page, null);
  const rows = tx
    .select({
      ...getTableColumns(invites),
      answered: sql<boolean>`${creatorMayInvite}`.as('answered'),
      is_open: sql<boolean>`${and(unused, creatorMayInvite)}`.as('is_open'),
    })
    .from(invites)
    .where(and(eq(invites.company_id, company_id), plan.where))
    .orderBy(...plan.order)
    .limit(plan.limit);
  return plan.read(tx, rows, byCreation, (row) =>
    present(row, row.answered ? shownToken(row, vault) : null, row.is_open),
  );
}

/** The response contains the token; later ones do as well if the vault could seal it. */
export async function createInvite(
  tx: Tx,
  actor: Actor,
  company_id: string,
  { role, expires_in_hours = DEFAULT_HOURS }: { role: CompanyRole; expires_in_hours?: number },
  vault: Vault | null = null,
): Promise<Invite> {
  const created_by = await answerableUser(tx, actor, company_id, 'admin');
  await assertRoom(tx, 'invites', company_id);
  const [id, token] = [newId(), newToken()];
  const [row] = await tx
    .insert(invites)
    .values({
      id,
      company_id,
      role,
      token_hash: sha256Hex(token),
      token_sealed: vault?.available ? vault.seal(token, place(id)) : null,
      created_by,
      expires_at: sql`now() + make_interval(hours => ${expires_in_hours})`,
    })
    .returning();
  const details = { role, expires_at: row!.expires_at };
  await recordChanges(tx, actor, [entry(row!, 'invite.created', details)]);
  return present(row!, token, true);
}

/** Revokes it: its token is no longer accepted. @throws notFound if it is unknown or accepted */
export async function revokeInvite(
  tx: Tx,
  actor: Actor,
  company_id: string,
  invite_id: string,
): Promise<void> {
  const [row] = await tx
    .delete(invites)
    .where(and(eq(invites.company_id, company_id), eq(invites.id, invite_id), isNull(invites.accepted_at)))
    .returning();
  if (!row) throw notFound();
  await recordChanges(tx, actor, [entry(row, 'invite.revoked', { role: row.role })]);
}

/** Revokes the open ones that the user has created. */
export async function revokeInvitesOf(tx: Tx, actor: Actor, user_id: string): Promise<void> {
  const rows = await tx
    .delete(invites)
    .where(and(eq(invites.created_by, user_id), unused))
    .returning();
  await recordChanges(
    tx,
    actor,
    rows.map((row) => entry(row, 'invite.revoked', { role: row.role })),
  );
}

/** Days that an expired invite stays visible. */
const EXPIRED_KEPT_DAYS = 30;
const EXPIRED_BATCH = 2000;

/** Deletes invites that nobody accepted in time. Those accepted stay: they say how someone came in. */
export async function deleteExpiredInvites(tx: Tx): Promise<void> {
  await tx.execute(sql`
    delete from invites where id in (
      select id from invites where accepted_at is null and expires_at < now() - make_interval(days => ${EXPIRED_KEPT_DAYS})
      limit ${EXPIRED_BATCH})`);
}

/** What the holder of a valid token sees before accepting; undefined for an expired, used or unknown one. */
export async function previewInvite(
  tx: Tx,
  token: string | TokenHash,
): Promise<{ company_id: string; company_name: string; role: CompanyRole; expires_at: Date } | undefined> {
  const [row] = await tx
    .select({
      company_id: companies.id,
      company_name: companies.name,
      role: invites.role,
      expires_at: invites.expires_at,
    })
    .from(invites)
    .innerJoin(companies, ofLiveCompany(invites.company_id))
    .where(open(token));
  return row && { ...row, role: row.role as CompanyRole };
}

/**
 * Makes the user a member with the invite's role.
 * @throws notFound for an expired, used or unknown token; conflict for a member, in which case the invite stays unused;
 * forbidden on a read-only instance
 */
export async function acceptInvite(tx: Tx, actor: UserActor, token: string | TokenHash): Promise<Membership> {
  const invite = await takeInvite(tx, actor.user_id, token);
  if (!invite) throw spent();
  return join(tx, actor, invite);
}

/**
 * The same on a page, which a user may have open twice: whoever has taken this invite before has nothing left to do.
 * @returns the company's id
 */
export async function acceptInviteOnce(tx: Tx, actor: UserActor, token: string | TokenHash): Promise<string> {
  const invite = await takeInvite(tx, actor.user_id, token);
  if (invite) await join(tx, actor, invite);
  const company_id = invite?.company_id ?? (await takenBefore(tx, actor.user_id, token));
  if (company_id === undefined) throw spent();
  return company_id;
}

/** The same for a sign-in that carries the invite. A member has nothing to accept: the invite stays available for someone else. */
export async function acceptCarriedInvite(tx: Tx, actor: UserActor, token: TokenHash): Promise<void> {
  const invite = await previewInvite(tx, token);
  if (invite && (await isMember(tx, invite.company_id, actor.user_id))) return;
  await acceptInviteOnce(tx, actor, token);
}

/** Creates an account for the holder of a valid token and makes it a member. @throws notFound, conflict for the e-mail */
export async function joinByInvite(
  tx: Tx,
  token: string | TokenHash,
  newcomer: Omit<NewUser, 'instance_role'>,
): Promise<UserRow> {
  const user = await createUser(tx, { ...newcomer, instance_role: 'member' });
  const invite = await takeInvite(tx, user.id, token);
  if (!invite) throw spent();
  await join(tx, actorOf(user), invite);
  return user;
}

/**
 * Whoever answers for it could still create it. Otherwise an admin who has been removed could come back with an invite of their
 * own. For those created by the service no one does.
 */
const creatorMayInvite = sql`(${invites.created_by} is null
  or ${hasRole(invites.created_by, invites.company_id, 'admin')})`;

const unused = and(isNull(invites.accepted_at), gt(invites.expires_at, sql`now()`));

/** @param token as given to its holder, or its hash, as stored by a sign-in in progress */
const open = (token: string | TokenHash) => and(ofToken(token), unused, creatorMayInvite);

const ofToken = (token: string | TokenHash) =>
  eq(invites.token_hash, typeof token === 'string' ? sha256Hex(token) : token.hash);

const spent = () => notFound('this invite is no longer valid');

/** @returns the company of the invite that the user has taken */
async function takenBefore(tx: Tx, user_id: string, token: string | TokenHash): Promise<string | undefined> {
  const found = and(ofToken(token), eq(invites.accepted_by, user_id));
  const [taken] = await tx.select({ company_id: invites.company_id }).from(invites).where(found);
  return taken?.company_id;
}

/**
 * Of two concurrent acceptances the second waits for the first and finds the invite used. The license is checked here, where all
 * routes meet: pages and provider sign-ins are not in the endpoint table.
 */
async function takeInvite(
  tx: Tx,
  user_id: string,
  token: string | TokenHash,
): Promise<InviteRow | undefined> {
  await requireEntitlement(tx);
  const [invite] = await tx
    .update(invites)
    .set({ accepted_by: user_id, accepted_at: sql`now()` })
    .where(
      and(
        open(token),
        sql`exists (select from ${companies} where ${companies.id} = ${invites.company_id} and ${companies.deleted_at} is null)`,
      ),
    )
    .returning();
  return invite;
}

async function join(tx: Tx, actor: UserActor, invite: InviteRow): Promise<Membership> {
  const { company_id } = invite;
  const role = invite.role as CompanyRole;
  const membership = await addMember(tx, actor, company_id, { user_id: actor.user_id, role });
  await recordChanges(tx, actor, [entry(invite, 'invite.accepted', { role })]);
  return membership;
}

function entry({ company_id, id }: InviteRow, action: string, details: Record<string, unknown>) {
  return { company_id, action, entity_type: 'invite', entity_id: id, details };
}
