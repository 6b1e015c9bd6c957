/**
 * The company's tools as one table: agents call them by `/mcp:TOOL {json}` (decisions 5), clients over MCP. Each does what an
 * endpoint does, with the same rights.
 */
import { type Static, type TObject, Type } from 'typebox';
import type { AgentPermission } from './actor.ts';
import { commentEndpoints, CreateComment } from './comments.ts';
import { documentEndpoints, PutDocument } from './documents.ts';
import type { EndpointRow, LeastRole } from './endpoint.ts';
import { issueEndpoints } from './issue-endpoints.ts';
import { CreateIssue, ListIssues, UpdateIssue } from './issues.ts';
import { knowledgeEndpoints, SearchKnowledge } from './knowledge.ts';
import { CreateNote, ListNotes, noteEndpoints, UpdateNote } from './notes.ts';
import { routineEndpoints } from './routine-endpoints.ts';
import { ListByStatus } from './projects.ts';
import { CreateRoutine } from './routines.ts';
import { PageQuery, SearchQuery } from './schema-kit.ts';
import { CreateSkill, skillEndpoints } from './skills.ts';

export interface ToolRow<I extends TObject = TObject> {
  /** Letters and underscores, valid for every MCP client. */
  readonly name: string;
  readonly doc: string;
  readonly input: I;
  readonly role: LeastRole;
  /** Required of agents only. */
  readonly permission?: AgentPermission;
  /** Changes nothing. */
  readonly read_only: boolean;
}

/** A tool that mirrors an endpoint inherits its rights. */
function tool<const N extends string, I extends TObject>(
  name: N,
  endpoint: Pick<EndpointRow, 'role' | 'permission' | 'method'>,
  input: I,
  doc: string,
): ToolRow<I> & { readonly name: N } {
  const { role, permission, method } = endpoint;
  return { name, doc, input, role, ...(permission && { permission }), read_only: method === 'GET' };
}

const Reference = (what: string) => Type.String({ minLength: 1, maxLength: 500, description: what });
const issue = Reference('Identifier (ABC-12) or id of the issue');
const note = Reference('Id or title of the note');
const skill = Reference('Slug of the skill');
const routine = Reference('Id or name of the routine');
const agent = Reference('Id or name of the agent');
const key = Type.String({ minLength: 1, maxLength: 200, description: 'Key of the document' });

/** The list of agents is open to callers from any company. */
const anyReader = { method: 'GET', role: 'viewer' } as const;

const issueTools = [
  tool('list_issues', issueEndpoints.list, ListIssues, 'Lists issues, newest first.'),
  tool('get_issue', issueEndpoints.get, Type.Object({ issue }), 'Shows an issue.'),
  tool('create_issue', issueEndpoints.create, CreateIssue, 'Creates an issue; an assignee is woken.'),
  tool(
    'update_issue',
    issueEndpoints.update,
    Type.Object({ issue, ...UpdateIssue.properties }),
    'Changes fields of an issue.',
  ),
  tool(
    'list_comments',
    commentEndpoints.list,
    Type.Object({ issue, ...PageQuery }),
    'Lists the comments of an issue.',
  ),
  tool(
    'create_comment',
    commentEndpoints.create,
    Type.Object({ issue, body_markdown: CreateComment.properties.body_markdown }),
    'Comments on an issue; who is mentioned is woken.',
  ),
] as const;

const documentTools = [
  tool(
    'list_documents',
    documentEndpoints.list,
    Type.Object({ issue, ...PageQuery }),
    'Lists the documents of an issue.',
  ),
  tool('get_document', documentEndpoints.get, Type.Object({ issue, key }), 'Shows a document of an issue.'),
  tool(
    'put_document',
    documentEndpoints.put,
    Type.Object({ issue, key, ...PutDocument.properties }),
    'Writes a new revision of a document of an issue.',
  ),
] as const;

const noteTools = [
  tool('list_notes', noteEndpoints.list, ListNotes, 'Lists notes; with q the best matches first.'),
  tool('get_note', noteEndpoints.get, Type.Object({ note }), 'Shows a note.'),
  tool('create_note', noteEndpoints.create, CreateNote, 'Writes a note.'),
  tool(
    'update_note',
    noteEndpoints.update,
    Type.Object({ note, ...UpdateNote.properties }),
    'Changes fields of a note.',
  ),
  tool('archive_note', noteEndpoints.archive, Type.Object({ note }), 'Archives a note.'),
  tool('unarchive_note', noteEndpoints.unarchive, Type.Object({ note }), 'Brings an archived note back.'),
] as const;

const otherTools = [
  tool(
    'search_knowledge',
    knowledgeEndpoints.search,
    SearchKnowledge,
    'Finds what the company knows of a question: passages of notes, findings, documents, files and closed issues.',
  ),
  tool('list_skills', skillEndpoints.list, Type.Object(SearchQuery), 'Lists the skills of the company.'),
  tool('get_skill', skillEndpoints.get, Type.Object({ skill }), 'Shows a skill with its text.'),
  tool('create_skill', skillEndpoints.create, CreateSkill, 'Creates a skill, of its fields or a SKILL.md.'),
  tool('list_routines', routineEndpoints.list, ListByStatus, 'Lists routines.'),
  tool('get_routine', routineEndpoints.get, Type.Object({ routine }), 'Shows a routine.'),
  tool('create_routine', routineEndpoints.create, CreateRoutine, 'Creates a routine, without triggers.'),
  tool(
    'fire_routine',
    routineEndpoints.fire,
    Type.Object({ routine, payload: Type.Optional(Type.Unknown()) }),
    'Fires a routine; its templates know the payload.',
  ),
  tool(
    'list_agents',
    anyReader,
    Type.Object(SearchQuery),
    'Lists the agents of the company, newest first, without prompts and configuration.',
  ),
  tool('get_agent', anyReader, Type.Object({ agent }), 'Shows an agent.'),
] as const;

export const toolTable = [...issueTools, ...documentTools, ...noteTools, ...otherTools] as const;

type Rows = (typeof toolTable)[number];
export type ToolName = Rows['name'];
/** Type of the tool's arguments. */
export type ToolInput<N extends ToolName> = Static<Extract<Rows, { name: N }>['input']>;

/** `title, body_markdown?`: the tool's arguments, optional ones with a question mark. */
export function toolFields({ input }: Pick<ToolRow, 'input'>): string {
  const required = new Set<string>(input.required ?? []);
  return Object.keys(input.properties)
    .map((field) => (required.has(field) ? field : `${field}?`))
    .join(', ');
}
