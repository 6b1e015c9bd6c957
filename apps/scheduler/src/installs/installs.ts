import { CreateAgent, CreateNote, CreateRoutine, CreateSkill, createValidator } from '@acp/contract';
import { createAgent, createNote, createRoutine, createSkill } from '@acp/core';
import type { InstallAppliers } from '@acp/core';
import { invalid } from '@acp/kernel';

const agent = createValidator(CreateAgent, 'body');
const note = createValidator(CreateNote, 'body');
const skill = createValidator(CreateSkill, 'body');
const routine = createValidator(CreateRoutine, 'body');

/** What carries out an approved install, by its kind: the command behind that resource's POST, with its body checked. */
export const installAppliers: InstallAppliers = {
  agent: (tx, actor, { company_id, body }) => createAgent(tx, actor, company_id, agent(fields(body))),
  note: (tx, actor, { company_id, body }) => createNote(tx, actor, company_id, note(fields(body))),
  memory: (tx, actor, { company_id, body }) =>
    createNote(tx, actor, company_id, note({ ...fields(body), kind: 'memory' })),
  // A skill may come as the text of its SKILL.md.
  skill: (tx, actor, { company_id, body }) =>
    createSkill(tx, actor, company_id, skill(typeof body === 'string' ? { content: body } : body)),
  routine: (tx, actor, { company_id, body }) => createRoutine(tx, actor, company_id, routine(fields(body))),
};

function fields(body: Record<string, unknown> | string): Record<string, unknown> {
  if (typeof body === 'string') throw invalid('body must be an object');
  return body;
}
