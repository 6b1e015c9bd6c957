import {
  type Actor,
  type AgentPermission,
  CreateAgent,
  CreateNote,
  CreateSkill,
  createValidator,
  type InstallKind,
  InstallRoutine,
} from '@acp/contract';
import {
  attachSkill,
  createAgent,
  createNote,
  createRoutine,
  createScheduledRoutine,
  createSkill,
  findAgent,
} from '@acp/core';
import type { InstallAppliers } from '@acp/core';
import type { Tx } from '@acp/db';
import { invalid } from '@acp/kernel';

type Body = Record<string, unknown> | string;

/** One kind of thing that agents install: by a verb, or by an approval where the permission is withheld. */
export interface Install {
  permission: AgentPermission;
  /** Fields that its body may have, for telling what was not understood. */
  fields: readonly string[];
  /** Throws `invalid` for a body that can't be carried out. */
  check: (body: Body) => void;
  /**
   * Makes it, by the command behind that resource's POST. @returns what it is called
   * @param asker the agent that wanted it
   */
  make: (tx: Tx, actor: Actor, company_id: string, body: Body, asker: string | null) => Promise<string>;
}

const agent = createValidator(CreateAgent, 'body');
const note = createValidator(CreateNote, 'body');
const skill = createValidator(CreateSkill, 'body');
const routine = createValidator(InstallRoutine, 'body');

const memory = (body: Body) => note({ ...fields(body), kind: 'memory' });
// A skill may come as the text of its SKILL.md.
const skillOf = (body: Body) => skill(typeof body === 'string' ? { content: body } : body);
const fieldsOf = (schema: { properties: object }) => Object.keys(schema.properties);

export type InstallableKind = Exclude<InstallKind, 'federation'>;

export const installs: Readonly<Record<InstallableKind, Install>> = {
  note: {
    permission: 'notes.write',
    fields: fieldsOf(CreateNote),
    check: (body) => note(fields(body)),
    make: async (tx, actor, company_id, body) =>
      (await createNote(tx, actor, company_id, note(fields(body)))).title,
  },
  memory: {
    permission: 'notes.write',
    fields: fieldsOf(CreateNote),
    check: memory,
    make: async (tx, actor, company_id, body) =>
      (await createNote(tx, actor, company_id, memory(body))).title,
  },
  skill: {
    permission: 'skills.manage',
    fields: fieldsOf(CreateSkill),
    check: skillOf,
    make: makeSkill,
  },
  routine: {
    permission: 'routines.manage',
    fields: fieldsOf(InstallRoutine),
    check: (body) => routine(fields(body)),
    make: makeRoutine,
  },
  agent: {
    permission: 'agents.create',
    fields: fieldsOf(CreateAgent),
    check: (body) => agent(fields(body)),
    make: async (tx, actor, company_id, body) => {
      const hired = await createAgent(tx, actor, company_id, agent(fields(body)));
      return 'agent' in hired ? hired.agent.name : hired.name;
    },
  },
};

/** What carries out an approved install. */
export const installAppliers: InstallAppliers = Object.fromEntries(
  Object.entries(installs).map(([kind, { make }]): [string, NonNullable<InstallAppliers[InstallKind]>] => [
    kind,
    async (tx, actor, { company_id, agent_id, body }) => make(tx, actor, company_id, body, agent_id),
  ]),
);

/** Who asked for a skill gets it: it would be of no use to that agent otherwise. */
async function makeSkill(
  tx: Tx,
  actor: Actor,
  company_id: string,
  body: Body,
  asker: string | null,
): Promise<string> {
  const { id, slug } = await createSkill(tx, actor, company_id, skillOf(body));
  const user = asker === null ? undefined : await findAgent(tx, asker);
  if (user !== undefined) await attachSkill(tx, actor, user, id);
  return slug;
}

async function makeRoutine(tx: Tx, actor: Actor, company_id: string, body: Body): Promise<string> {
  const { cron_expression, timezone, ...input } = routine(fields(body));
  const made =
    cron_expression === undefined
      ? await createRoutine(tx, actor, company_id, input)
      : await createScheduledRoutine(tx, actor, company_id, { ...input, cron_expression, timezone });
  return made.name;
}

function fields(body: Body): Record<string, unknown> {
  if (typeof body === 'string') throw invalid('body must be an object');
  return body;
}
