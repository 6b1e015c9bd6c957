/** What an open stream may see: determined when it starts, every minute, and immediately when memberships change. */
import type { Actor, AgentActor, BoardUserActor } from '@acp/contract';
import { aliveSessions, endedKeys, findCompany, listCompanies, loadAccess, type UserAccess } from '@acp/core';
import type { Tx } from '@acp/db';
import type { Subscriber } from './subscriber.ts';

export interface Access {
  companies: ReadonlySet<string>;
  /** Those in which the actor is an admin: only their notifications are sent. */
  admin_of: ReadonlySet<string>;
  instance_wide: boolean;
}

/** The actor's access by its credentials, narrowed to `only`. Null if the requested company is not visible to it. */
export async function accessOf(tx: Tx, actor: Actor, only: string | null): Promise<Access | null> {
  if (actor.kind === 'user') return userAccess(tx, actor, only);
  if (actor.kind !== 'agent' && actor.kind !== 'board_user') return null;
  if (only !== null && only !== actor.company_id) return null;
  return ownCompany(actor);
}

/** An agent has a member's access. */
function ownCompany(actor: AgentActor | BoardUserActor): Access {
  const companies = new Set([actor.company_id]);
  const admin = actor.kind === 'board_user' && actor.role === 'admin';
  return { companies, admin_of: admin ? companies : new Set(), instance_wide: false };
}

/** @param names companies to include */
function companiesOf(access: UserAccess, names: readonly string[]): Access {
  const instance_wide = access.instance_role === 'admin';
  const admin_of = names.filter((id) => instance_wide || access.roles[id] === 'admin');
  return { companies: new Set(names), admin_of: new Set(admin_of), instance_wide };
}

async function userAccess(tx: Tx, access: UserAccess, only: string | null): Promise<Access | null> {
  const admin = access.instance_role === 'admin';
  if (only === null) return companiesOf(access, Object.keys(access.roles));
  // An instance admin may view any company, but must name it.
  const visible = Object.hasOwn(access.roles, only) || (admin && (await findCompany(tx, only)) !== undefined);
  return visible ? companiesOf(access, [only]) : null;
}

/** The current access of all streams, in four queries; null for a stream that must end. */
export async function verifyAccess(
  tx: Tx,
  subscribers: readonly Subscriber[],
): Promise<Map<Subscriber, Access | null>> {
  const users = new Set<string>();
  const companies = new Set<string>();
  const sessions = new Set<string>();
  const keys: (AgentActor | BoardUserActor)[] = [];
  for (const { actor, only } of subscribers) {
    if (actor.kind === 'user') {
      users.add(actor.user_id);
      if (actor.session_id !== null) sessions.add(actor.session_id);
    } else if (actor.kind === 'agent' || actor.kind === 'board_user') {
      companies.add(actor.company_id);
      keys.push(actor);
    }
    if (only !== null) companies.add(only);
  }
  const access = users.size > 0 ? await loadAccess(tx, [...users]) : new Map<string, UserAccess>();
  const open = sessions.size > 0 ? await aliveSessions(tx, [...sessions]) : new Set<string>();
  const rows = companies.size > 0 ? await listCompanies(tx, [...companies]) : [];
  const alive = new Set(rows.map((company) => company.id));
  const gone = keys.length > 0 ? await endedKeys(tx, keys.map(heldKey)) : new Set<string>();
  const ended = ({ actor }: Subscriber) =>
    'key_id' in actor
      ? actor.key_id !== null && gone.has(actor.key_id)
      : actor.kind === 'user' && actor.session_id !== null && !open.has(actor.session_id);
  return new Map(subscribers.map((each) => [each, ended(each) ? null : verified(each, access, alive)]));
}

const heldKey = (actor: AgentActor | BoardUserActor) =>
  actor.kind === 'agent'
    ? { key_id: actor.key_id, agent_id: actor.agent_id, run_id: actor.run_id }
    : { key_id: actor.key_id };

function verified(
  { actor, only }: Subscriber,
  access: ReadonlyMap<string, UserAccess>,
  alive: ReadonlySet<string>,
): Access | null {
  if (only !== null && !alive.has(only)) return null;
  if (actor.kind === 'agent' || actor.kind === 'board_user') {
    return alive.has(actor.company_id) ? ownCompany(actor) : null;
  }
  const user = actor.kind === 'user' ? access.get(actor.user_id) : undefined;
  if (!user) return null;
  const admin = user.instance_role === 'admin';
  if (only === null) return companiesOf(user, Object.keys(user.roles));
  return admin || Object.hasOwn(user.roles, only) ? companiesOf(user, [only]) : null;
}
