/** Agents' own skills and files (specification, Agents; decisions 6 and 7.5). */
import { Type, type Static } from 'typebox';
import { BEARER, endpoint } from './endpoint.ts';
import { PageQuery, Timestamp } from './schema-kit.ts';
import { SkillSlug } from './skills.ts';

export const FsSkill = Type.Object({
  slug: Type.String(),
  name: Type.String(),
  description: Type.String(),
  /** The complete SKILL.md. */
  content: Type.String(),
  updated_at: Timestamp,
});
export type FsSkill = Static<typeof FsSkill>;

const content = Type.String({ minLength: 1, maxLength: 200_000, pattern: '^[^\\u0000]*$' });

export const CreateFsSkill = Type.Object({ slug: SkillSlug, content });
export type CreateFsSkill = Static<typeof CreateFsSkill>;
/** The path determines the slug; a slug in the body must match it. */
export const PutFsSkill = Type.Object({ slug: Type.Optional(SkillSlug), content });
export type PutFsSkill = Static<typeof PutFsSkill>;

export const AgentFile = Type.Object({
  /** Relative to the folder `files` in the agent's home. */
  path: Type.String(),
  size_bytes: Type.Integer(),
  updated_at: Timestamp,
});
export type AgentFile = Static<typeof AgentFile>;

const ofAgent = { auth: BEARER, scope: { by: 'agent', param: 'agentId' } } as const;
const read = { ...ofAgent, role: 'viewer', method: 'GET', status: 200, tx: 'none' } as const;
const change = { ...ofAgent, role: 'member', permission: 'files.write' } as const;
/** Core also asks for `files.write`: a skill is a file of the agent. */
const teach = { ...ofAgent, role: 'member', permission: 'skills.manage' } as const;
const skills = '/api/agents/{agentId}/fs-skills';
const files = '/api/agents/{agentId}/files';

export const agentFileEndpoints = {
  listSkills: endpoint({
    ...read,
    id: 'agent-files.list-skills',
    path: skills,
    query: Type.Object(PageQuery),
    response: Type.Array(FsSkill),
    paged: true,
    doc: 'The agent’s own skills by slug; at most 1,000 or 4 MB unless a limit is given.',
  }),
  createSkill: endpoint({
    ...teach,
    id: 'agent-files.create-skill',
    method: 'POST',
    path: skills,
    body: CreateFsSkill,
    response: FsSkill,
    status: 201,
    tx: 'write',
    example: {
      slug: 'knots',
      content: '---\nname: knots\ndescription: Ties.\n---\nTie a bowline.',
    },
    doc: 'Adds a skill from its SKILL.md; 409 if the slug is taken, 400 for an invalid SKILL.md.',
  }),
  getSkill: endpoint({
    ...read,
    id: 'agent-files.get-skill',
    path: `${skills}/{slug}`,
    response: FsSkill,
    doc: 'One of the agent’s own skills.',
  }),
  putSkill: endpoint({
    ...teach,
    id: 'agent-files.put-skill',
    method: 'PUT',
    path: `${skills}/{slug}`,
    body: PutFsSkill,
    response: FsSkill,
    status: 200,
    tx: 'none',
    example: { content: '---\nname: knots\ndescription: Ties.\n---\nTie a bowline.' },
    doc: 'Creates or replaces a skill.',
  }),
  deleteSkill: endpoint({
    ...teach,
    id: 'agent-files.delete-skill',
    method: 'DELETE',
    path: `${skills}/{slug}`,
    response: null,
    status: 204,
    tx: 'none',
    doc: 'Deletes a skill.',
  }),
  list: endpoint({
    ...read,
    id: 'agent-files.list',
    path: files,
    query: Type.Object(PageQuery),
    response: Type.Array(AgentFile),
    paged: true,
    doc: 'The agent’s files by path; at most 1,000 or 4 MB unless a limit is given.',
  }),
  upload: endpoint({
    ...change,
    id: 'agent-files.upload',
    method: 'POST',
    path: files,
    body: Type.Object({ path: Type.Optional(Type.String({ maxLength: 2000 })) }),
    body_kind: 'multipart',
    files: { field: 'file', into: { folder: 'agents', under: 'subject' }, limit: 'upload', required: true },
    response: AgentFile,
    status: 201,
    tx: 'write',
    doc: 'Stores the `file` at `path`, or under its own name, replacing an existing file. A path that is absolute, hidden, or leads elsewhere in any spelling is 400.',
  }),
  download: endpoint({
    ...read,
    id: 'agent-files.download',
    path: `${files}/{path*}`,
    response: null,
    also: [206],
    streams: 'bytes',
    doc: 'The bytes, always as a download; supports `Range` and `If-None-Match`. The rest of the URL is the path.',
  }),
  delete: endpoint({
    ...change,
    id: 'agent-files.delete',
    method: 'DELETE',
    path: `${files}/{path*}`,
    response: null,
    status: 204,
    tx: 'none',
    doc: 'Deletes a file.',
  }),
};
