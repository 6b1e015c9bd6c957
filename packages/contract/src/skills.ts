/** A company's skills: SKILL.md texts for agents (decisions 3, Skill). */
import { Type, type Static } from 'typebox';
import { BEARER, endpoint } from './endpoint.ts';
import { Name, Patch, SearchQuery, Text, Timestamp, Uuid } from './schema-kit.ts';

/** A name in the open format: lower-case letters, digits and single hyphens. */
export const SkillSlug = Type.String({
  minLength: 1,
  maxLength: 64,
  pattern: '^[a-z0-9]+(-[a-z0-9]+)*$',
});
export const SkillName = Type.String({
  minLength: 1,
  maxLength: 200,
  pattern: '^[^\\u0000]*\\S[^\\u0000]*$',
});
export const SkillDescription = Type.String({
  minLength: 1,
  maxLength: 1024,
  pattern: '^[^\\u0000]*\\S[^\\u0000]*$',
});

export const Skill = Type.Object({
  id: Uuid,
  company_id: Uuid,
  slug: Type.String(),
  name: Type.String(),
  description: Type.String(),
  body_markdown: Type.String(),
  version: Type.Integer(),
  enabled: Type.Boolean(),
  company_wide: Type.Boolean(),
  created_at: Timestamp,
  updated_at: Timestamp,
});
export type Skill = Static<typeof Skill>;

const settable = {
  slug: SkillSlug,
  name: Name,
  description: SkillDescription,
  body_markdown: Text,
  /** A complete SKILL.md: its front matter provides name and description unless the request's body does. */
  content: Text,
  enabled: Type.Boolean(),
  /** Part of every agent's skills, attached or not. */
  company_wide: Type.Boolean(),
};
export const UpdateSkill = Patch(settable);
export type UpdateSkill = Static<typeof UpdateSkill>;
export const CreateSkill = UpdateSkill;
export type CreateSkill = UpdateSkill;

const ofCompany = {
  path: '/api/companies/{companyId}/skills',
  auth: BEARER,
  scope: { by: 'company', param: 'companyId' },
} as const;
const one = {
  path: '/api/skills/{skillId}',
  auth: BEARER,
  scope: { by: 'skill', param: 'skillId' },
} as const;
const attachment = {
  path: '/api/agents/{agentId}/skills/{skillId}',
  auth: BEARER,
  scope: { by: 'agent', param: 'agentId' },
  response: null,
  status: 204,
} as const;
const write = { role: 'member', permission: 'skills.manage', tx: 'write' } as const;
const read = { method: 'GET', role: 'viewer', status: 200, tx: 'none' } as const;

export const skillEndpoints = {
  list: endpoint({
    ...ofCompany,
    ...read,
    id: 'skills.list',
    query: Type.Object(SearchQuery),
    response: Type.Array(Skill),
    paged: true,
    doc: 'Skills of the company, newest first.',
  }),
  create: endpoint({
    ...ofCompany,
    ...write,
    id: 'skills.create',
    method: 'POST',
    body: CreateSkill,
    response: Skill,
    status: 201,
    example: { slug: 'knots', name: 'Knots', description: 'Ties.', body_markdown: 'Tie a bowline.' },
    doc: 'Creates a skill from its fields, or from a SKILL.md in `content`; 409 if the slug is taken.',
  }),
  get: endpoint({ ...one, ...read, id: 'skills.get', response: Skill, doc: 'The skill.' }),
  update: endpoint({
    ...one,
    ...write,
    id: 'skills.update',
    method: 'PATCH',
    body: UpdateSkill,
    response: Skill,
    status: 200,
    example: { description: 'Ties and unties.' },
    doc: 'Changes a skill; a different text creates a new version.',
  }),
  delete: endpoint({
    ...one,
    ...write,
    id: 'skills.delete',
    method: 'DELETE',
    response: null,
    status: 204,
    doc: 'Moves the skill to the trash.',
  }),
  attach: endpoint({
    ...attachment,
    ...write,
    id: 'skills.attach',
    method: 'POST',
    doc: 'Attaches the skill to the agent; idempotent.',
  }),
  detach: endpoint({
    ...attachment,
    ...write,
    id: 'skills.detach',
    method: 'DELETE',
    doc: 'Detaches the skill from the agent; 404 if it is not attached.',
  }),
};
