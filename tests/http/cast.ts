/** All kinds of callers: two companies and each kind of credential, created by the same commands as in production. */
import {
  addMember,
  createAgent,
  createAgentKey,
  createCompany,
  createUser,
  createWorker,
  mintBoardUserKey,
  openSession,
  systemActor,
} from '@acp/core';
import type { CompanyRole } from '@acp/contract';
import { transaction } from '@acp/db';
import type { Database, Tx } from '@acp/db';
import { newId } from '@acp/kernel';

export interface Caller {
  headers: Record<string, string>;
}
export interface Person extends Caller {
  user_id: string;
}
/** The value of the person's session cookie. */
export const sessionOf = ({ headers }: Person): string =>
  /service_session=([^;]+)/.exec(headers.Cookie ?? '')![1]!;

export interface Machine extends Caller {
  key_id: string;
  raw_key: string;
}

export interface Cast {
  company_id: string;
  other_company_id: string;
  agent_id: string;
  other_agent_id: string;
  anonymous: Caller;
  /** Belongs to no company; its key is valid for worker routes only. */
  worker: Caller & { worker_id: string };
  instance_admin: Person;
  admin: Person;
  member: Person;
  viewer: Person;
  /** Admin of the other company. */
  stranger: Person;
  agent: Machine;
  /** An agent and an integration (admin) of the other company. */
  foreign_agent: Machine;
  foreign_board: Machine;
  board_admin: Machine;
  board_member: Machine;
  board_viewer: Machine;
}

const director = systemActor('tests');

export async function createCast(database: Database): Promise<Cast> {
  return transaction(database, async (tx) => {
    const company_id = await company(tx);
    const other_company_id = await company(tx);
    const own = await agent(tx, company_id);
    const foreign = await agent(tx, other_company_id);
    return {
      company_id,
      other_company_id,
      agent_id: own.agent_id,
      other_agent_id: foreign.agent_id,
      anonymous: { headers: {} },
      worker: await worker(tx),
      instance_admin: await person(tx, 'admin'),
      admin: await person(tx, 'member', company_id, 'admin'),
      member: await person(tx, 'member', company_id, 'member'),
      viewer: await person(tx, 'member', company_id, 'viewer'),
      stranger: await person(tx, 'member', other_company_id, 'admin'),
      agent: own.machine,
      foreign_agent: foreign.machine,
      foreign_board: await board(tx, other_company_id, 'admin'),
      board_admin: await board(tx, company_id, 'admin'),
      board_member: await board(tx, company_id, 'member'),
      board_viewer: await board(tx, company_id, 'viewer'),
    };
  });
}

export function bearer(key: string): Record<string, string> {
  return { Authorization: `Bearer ${key}` };
}

async function company(tx: Tx): Promise<string> {
  const slug = `c-${newId()}`;
  return (await createCompany(tx, director, { name: slug, slug })).id;
}

export async function person(
  tx: Tx,
  instance_role: 'admin' | 'member',
  company_id?: string,
  role?: CompanyRole,
): Promise<Person> {
  const email = `${newId()}@test.example`;
  const { id } = await createUser(tx, { email, display_name: email, password_hash: null, instance_role });
  if (company_id !== undefined) await addMember(tx, director, company_id, { user_id: id, role });
  const { token } = await openSession(tx, id);
  return { user_id: id, headers: { Cookie: `service_session=${token}` } };
}

async function agent(tx: Tx, company_id: string): Promise<{ agent_id: string; machine: Machine }> {
  const created = await createAgent(tx, director, company_id, {
    name: `Agent ${newId()}`,
    externally_available: true,
  });
  const agent_id = 'agent' in created ? created.agent.id : created.id;
  const key = await createAgentKey(tx, director, company_id, { agent_id });
  return { agent_id, machine: machine(key) };
}

async function board(tx: Tx, company_id: string, role: CompanyRole): Promise<Machine> {
  return machine(await mintBoardUserKey(tx, director, company_id, { role, label: role }));
}

async function worker(tx: Tx): Promise<Cast['worker']> {
  const { worker_id, api_key } = await createWorker(tx, director, { name: 'Worker' });
  return { worker_id, headers: bearer(api_key) };
}

function machine({ id, raw_key }: { id: string; raw_key: string }): Machine {
  return { key_id: id, raw_key, headers: bearer(raw_key) };
}
