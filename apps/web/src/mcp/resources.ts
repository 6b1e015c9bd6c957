/** Resources: what a company has written down, as `service://…`. They are read through the API's endpoints. */
import {
  agentEndpoints,
  type AttachmentText,
  attachmentEndpoints,
  documentEndpoints,
  type EndpointRow,
  issueEndpoints,
  type NamedThing,
  noteEndpoints,
  skillEndpoints,
} from '@acp/contract';
import { decodeCursor, encodeCursor, invalid, isUuid, ServiceError } from '@acp/kernel';
import type { Era } from './era.ts';
import { INVALID_PARAMS, type Params, RpcError } from '../json-rpc/messages.ts';
import { cursorParam, RESOURCE_NOT_FOUND, textParam } from './protocol.ts';
import type { McpCaller } from './session.ts';
import { idOfNamed } from './tools.ts';

interface Resource {
  uri: string;
  name: string;
  title: string;
  description?: string;
  mimeType: string;
}

type Item = Record<string, unknown> & { id: string };

interface Kind {
  thing: NamedThing;
  param: string;
  list: EndpointRow;
  get: EndpointRow;
  /** Extracts the items from the list's answer. */
  items: (result: unknown) => Item[];
  name: (item: Item) => string;
  title: (item: Item) => string;
  description: (item: Item) => string | undefined;
  /** Markdown; null: the whole item as JSON. */
  text: ((item: Item) => string) | null;
}

const MARKDOWN = 'text/markdown';
const JSON_TYPE = 'application/json';
const PAGE = 100;

const array = (result: unknown): Item[] => result as Item[];
const text = (value: unknown): string => (typeof value === 'string' ? value : '');

/** In listing order: small and long-lived kinds first. */
const kinds: Readonly<Record<string, Kind>> = {
  agents: {
    thing: 'agent',
    param: 'agentId',
    list: agentEndpoints.list,
    get: agentEndpoints.get,
    items: (result) => (result as { agents: Item[] }).agents,
    name: ({ name }) => text(name),
    title: ({ name, title }) => (title ? `${text(name)}, ${text(title)}` : text(name)),
    description: ({ description, role }) => text(description) || text(role),
    text: null,
  },
  skills: {
    thing: 'skill',
    param: 'skillId',
    list: skillEndpoints.list,
    get: skillEndpoints.get,
    items: array,
    name: ({ slug }) => text(slug),
    title: ({ name }) => text(name),
    description: ({ description }) => text(description),
    text: ({ body_markdown }) => text(body_markdown),
  },
  notes: {
    thing: 'note',
    param: 'noteId',
    list: noteEndpoints.list,
    get: noteEndpoints.get,
    items: array,
    name: ({ title }) => text(title),
    title: ({ title }) => text(title),
    description: ({ kind }) => text(kind),
    text: ({ title, body_markdown }) => `# ${text(title)}\n\n${text(body_markdown)}`,
  },
  issues: {
    thing: 'issue',
    param: 'issueId',
    list: issueEndpoints.list,
    get: issueEndpoints.get,
    items: array,
    name: ({ identifier, id }) => text(identifier) || id,
    title: ({ title }) => text(title),
    description: ({ status, priority }) => `${text(status)}, ${text(priority)}`,
    text: null,
  },
};
const kindNames = Object.keys(kinds);

/** `{argument}` is the name that identifies the resource, as in the tools' arguments. */
export const templates = [
  ...Object.entries(kinds).map(([plural, { thing, text: read }]) => ({
    uriTemplate: `service://${plural}/{${thing}}`,
    name: thing,
    title: `${thing.charAt(0).toUpperCase()}${thing.slice(1)} of the company`,
    mimeType: read === null ? JSON_TYPE : MARKDOWN,
  })),
  {
    uriTemplate: 'service://issues/{issue}/documents/{key}',
    name: 'document',
    title: 'Document of an issue',
    description: 'The documents of an issue are named in the issue’s own resource.',
    mimeType: MARKDOWN,
  },
  {
    uriTemplate: 'service://attachments/{attachment}',
    name: 'attachment',
    title: 'Text of a file on an issue',
    description: 'The files of an issue are named in the issue’s own resource, with where their bytes are.',
    mimeType: 'text/plain',
  },
];

const documentUri = (issue: string, key: string): string =>
  `service://issues/${issue}/documents/${encodeURIComponent(key)}`;

/** Lists at most one kind per page; skips kinds without items. */
export async function listResources(caller: McpCaller, params: Params) {
  const given = cursorParam(params);
  const [from, at] = given === undefined ? [0, null] : decodeCursor(given, ['integer', 'text?']);
  let cursor = at;
  for (let index = Number(from); index >= 0 && index < kindNames.length; index += 1) {
    const plural = kindNames[index]!;
    const kind = kinds[plural]!;
    const { result, next_cursor } = await caller.act(kind.list, {
      params: { companyId: caller.company_id },
      query: { limit: PAGE, ...(cursor !== null && { cursor }) },
    });
    const resources = kind.items(result).map((item) => resourceOf(plural, kind, item));
    const more = next_cursor !== null || index + 1 < kindNames.length;
    const next = next_cursor === null ? [index + 1, null] : [index, next_cursor];
    if (resources.length > 0) return { resources, ...(more && { nextCursor: encodeCursor(next) }) };
    cursor = null;
  }
  return { resources: [] };
}

function resourceOf(plural: string, kind: Kind, item: Item): Resource {
  const description = kind.description(item);
  return {
    uri: `service://${plural}/${item.id}`,
    name: kind.name(item),
    title: kind.title(item),
    ...(description && { description }),
    mimeType: kind.text === null ? JSON_TYPE : MARKDOWN,
  };
}

/** @throws RpcError for an unknown resource, with the era's code */
export async function readResource(caller: McpCaller, params: Params, era: Era) {
  const uri = textParam(params, 'uri');
  try {
    const content = await contentOf(caller, uri);
    if (content !== null) return { contents: [{ uri, ...content }] };
  } catch (error) {
    if (!(error instanceof ServiceError) || error.kind !== 'not_found') throw error;
  }
  const code = era === 'sessions' ? RESOURCE_NOT_FOUND : INVALID_PARAMS;
  throw new RpcError(code, 'Resource not found', { data: { uri: uri.slice(0, 2000) } });
}

interface Content {
  mimeType: string;
  text: string;
}

async function contentOf(caller: McpCaller, uri: string): Promise<Content | null> {
  const document = /^service:\/\/issues\/([^/]+)\/documents\/([^/]+)$/.exec(uri);
  if (document) return documentOf(caller, unescaped(document[1]!), unescaped(document[2]!));
  const attachment = /^service:\/\/attachments\/([^/]+)$/.exec(uri);
  if (attachment) return attachmentOf(caller, unescaped(attachment[1]!));
  const [, plural = '', word = ''] = /^service:\/\/([a-z]+)\/([^/]+)$/.exec(uri) ?? [];
  const kind = Object.hasOwn(kinds, plural) ? kinds[plural]! : null;
  if (kind === null) return null;
  const id = await idOf(caller, kind.thing, unescaped(word));
  const { result } = await caller.act(kind.get, { params: { [kind.param]: id } });
  const item = result as Item;
  if (kind.text !== null) return { mimeType: MARKDOWN, text: kind.text(item) };
  const more =
    kind.thing === 'issue'
      ? { documents: await documentsOf(caller, id), attachments: await attachmentsOf(caller, id) }
      : {};
  return { mimeType: JSON_TYPE, text: JSON.stringify({ ...item, ...more }) };
}

async function documentOf(caller: McpCaller, issue: string, key: string): Promise<Content> {
  const params = { issueId: await idOf(caller, 'issue', issue), key };
  const { result } = await caller.act(documentEndpoints.get, { params });
  const { title, latest_body } = result as Item;
  return { mimeType: MARKDOWN, text: `# ${text(title)}\n\n${text(latest_body)}` };
}

/** Describes anything but text, with the URL of the bytes. */
async function attachmentOf(caller: McpCaller, attachmentId: string): Promise<Content> {
  const { result } = await caller.act(attachmentEndpoints.text, { params: { attachmentId } });
  const { text: found, ...about } = result as AttachmentText;
  if (found !== null) return { mimeType: 'text/plain', text: found };
  const download = `${caller.services.public_url}${about.download_path}`;
  return { mimeType: JSON_TYPE, text: JSON.stringify({ ...about, download }) };
}

async function attachmentsOf(caller: McpCaller, issueId: string) {
  const { result } = await caller.act(attachmentEndpoints.list, {
    params: { issueId },
    query: { limit: PAGE },
  });
  return (result as Item[]).map(({ id, filename, content_type, size_bytes }) => ({
    uri: `service://attachments/${id}`,
    filename,
    content_type,
    size_bytes,
    download: `${caller.services.public_url}/api/attachments/${id}/download`,
  }));
}

async function documentsOf(caller: McpCaller, issueId: string) {
  const { result } = await caller.act(documentEndpoints.list, {
    params: { issueId },
    query: { limit: PAGE },
  });
  return (result as Item[]).map(({ key, title }) => ({ uri: documentUri(issueId, text(key)), title }));
}

export const idOf = async (caller: McpCaller, thing: NamedThing, word: string): Promise<string> =>
  isUuid(word) ? word : idOfNamed[thing](caller.tx, caller.company_id, word);

function unescaped(part: string): string {
  let value = part;
  try {
    value = decodeURIComponent(part);
  } catch {
    // Kept as is: it then refers to nothing.
  }
  if (value.includes('\0') || !value.isWellFormed()) throw invalid('invalid character in uri');
  return value;
}
