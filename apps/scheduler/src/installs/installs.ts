import {
  type Actor,
  type AgentPermission,
  CreateAgent,
  CreateNote,
  CreateSkill,
  createValidator,
  type InstallKind,
  InstallPeer,
  InstallRoutine,
} from '@acp/contract';
import {
  attachSkill,
  createAgent,
  createNote,
  createPeer,
  createRoutine,
  createScheduledRoutine,
  createSkill,
  findAgent,
} from '@acp/core';
import type { InstallAppliers } from '@acp/core';
import type { Tx } from '@acp/db';
import { invalid } from '@acp/kernel';

type Body = Record<string, unknown> | string;

/** The company that something is installed for, and the agent that wants it. */
interface InstallTarget {
  company_id: string;
  /** The agent that requested it. */
  agent_id: string | null;
}

/** Creates what a body describes, by the command behind that resource's POST. @returns its name */
type Make = (tx: Tx, actor: Actor, target: InstallTarget) => Promise<string>;

/** One kind of thing that agents install: by a verb, or by an approval if they lack the permission. */
export interface Install {
  permission: AgentPermission;
  /** An admin decides, whatever the agent's permissions. */
  admins_only?: true;
  /** Fields that its body may have, to report those that were not understood. */
  fields: readonly string[];
  /** @throws invalid for a body that can't be carried out */
  read: (body: Body) => Make;
}

const agent = createValidator(CreateAgent, 'body');
const note = createValidator(CreateNote, 'body');
const skill = createValidator(CreateSkill, 'body');
const peer = createValidator(InstallPeer, 'body');
const routine = createValidator(InstallRoutine, 'body');

const fieldsOf = (schema: { properties: object }) => Object.keys(schema.properties);

export const installs: Readonly<Record<InstallKind, Install>> = {
  note: { permission: 'notes.write', fields: fieldsOf(CreateNote), read: (body) => readNote(fields(body)) },
  memory: {
    permission: 'notes.write',
    fields: fieldsOf(CreateNote),
    read: (body) => readNote({ ...fields(body), kind: 'memory' }),
  },
  skill: { permission: 'skills.manage', fields: fieldsOf(CreateSkill), read: readSkill },
  routine: { permission: 'routines.manage', fields: fieldsOf(InstallRoutine), read: readRoutine },
  agent: { permission: 'agents.create', fields: fieldsOf(CreateAgent), read: readAgent },
  federation: {
    permission: 'federation.call',
    admins_only: true,
    fields: fieldsOf(InstallPeer),
    read: readPeer,
  },
};

/** Functions that carry out approved installs. */
export const installAppliers: InstallAppliers = Object.fromEntries(
  Object.entries(installs).map(([kind, { read }]): [string, NonNullable<InstallAppliers[InstallKind]>] => [
    kind,
    async (tx, actor, { body, ...target }) => read(body)(tx, actor, target),
  ]),
);

function readNote(body: Record<string, unknown>): Make {
  const input = note(body);
  return async (tx, actor, { company_id }) => (await createNote(tx, actor, company_id, input)).title;
}

/** The requesting agent gets the skill, useless to it otherwise. The body may be the text of its SKILL.md. */
function readSkill(body: Body): Make {
  const input = skill(typeof body === 'string' ? { content: body } : body);
  return async (tx, actor, { company_id, agent_id }) => {
    const { id, slug } = await createSkill(tx, actor, company_id, input);
    const user = agent_id === null ? undefined : await findAgent(tx, agent_id);
    if (user !== undefined) await attachSkill(tx, actor, user, id);
    return slug;
  };
}

function readRoutine(body: Body): Make {
  const { cron_expression, timezone, ...input } = routine(fields(body));
  return async (tx, actor, { company_id }) => {
    const made =
      cron_expression === undefined
        ? await createRoutine(tx, actor, company_id, input)
        : await createScheduledRoutine(tx, actor, company_id, { ...input, cron_expression, timezone });
    return made.name;
  };
}

function readAgent(body: Body): Make {
  const input = agent(fields(body));
  return async (tx, actor, { company_id, agent_id }) => {
    const hired = await createAgent(tx, actor, company_id, input, { requested_by: agent_id });
    return 'agent' in hired ? hired.agent.name : hired.name;
  };
}

/** Creates the peer without a key: an admin sets it once the peer exists. */
function readPeer(body: Body): Make {
  const given = fields(body);
  // The key would be readable by everyone in the approval.
  if ('api_key' in given) throw invalid('api_key: an admin sets the key once the peer exists');
  const input = peer(given);
  const known = Object.fromEntries(
    Object.entries(input).filter(([name]) => Object.hasOwn(InstallPeer.properties, name)),
  );
  return async (tx, actor, { company_id }) =>
    (await createPeer(tx, actor, company_id, known as typeof input, null)).label;
}

function fields(body: Body): Record<string, unknown> {
  if (typeof body === 'string') throw invalid('body must be an object');
  return body;
}
