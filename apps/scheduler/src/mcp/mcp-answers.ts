import { LONGEST_SCHEMA } from '@acp/contract';
import type { ListedMcpTool } from '@acp/core';
import { bounded, mapTexts, type Scrubber, storableText } from '@acp/kernel';
import type { CallToolResult, Tool } from '@modelcontextprotocol/client';

/** Maximum number of tools of one server; the company's prompts have a limit of their own. */
const MOST_TOOLS = 500;
/** In characters of JSON: every process keeps a company's tools in memory. */
const LONGEST_LIST = 500_000;
const LONGEST_NAME = 128;
const LONGEST_DOC = 1000;
const LONGEST_CALLED = 64;

/**
 * The server's tools as they are stored: within limits, storable, without secrets. Tools that can't be called are dropped; one whose
 * name is another's is noted there.
 */
export function listedTools(tools: readonly Tool[], scrubber: Scrubber): ListedMcpTool[] {
  const kept = new Map<string, ListedMcpTool>();
  let length = 0;
  for (const tool of tools) {
    if (kept.size >= MOST_TOOLS) break;
    const listed = listedTool(tool, scrubber);
    if (listed === null) continue;
    const { name, called } = listed;
    const holder = kept.get(called);
    length += JSON.stringify(holder === undefined ? listed : name).length;
    if (length > LONGEST_LIST) break;
    if (holder === undefined) kept.set(called, listed);
    else (holder.left_out ??= []).push(name);
  }
  return [...kept.values()];
}

function listedTool(
  { name, description, title, inputSchema, annotations }: Tool,
  scrubber: Scrubber,
): ListedMcpTool | null {
  // The server knows the tool by exactly this name: if it can't be stored unchanged, it can't be called.
  if (name === '' || name.length > LONGEST_NAME || name !== clean(name, scrubber)) return null;
  const input_schema = storable(inputSchema, scrubber);
  if (input_schema === null || JSON.stringify(input_schema).length > LONGEST_SCHEMA) return null;
  return {
    name,
    called: name.replaceAll(/[^\w-]/g, '_').slice(0, LONGEST_CALLED),
    description: bounded(clean(description ?? title ?? '', scrubber), LONGEST_DOC),
    input_schema,
    read_only: annotations?.readOnlyHint === true,
  };
}

const clean = (text: string, scrubber: Scrubber): string => storableText(scrubber.scrub(text));

function storable(value: object, scrubber: Scrubber): Record<string, unknown> | null {
  try {
    return mapTexts(value, (text) => clean(text, scrubber)) as Record<string, unknown>;
  } catch {
    // Nested too deeply.
    return null;
  }
}

/**
 * What a caller receives: the structured content if there is any, else the text. Content that a model can't read is
 * mentioned, not included.
 */
export function answerOf({ structuredContent, content }: CallToolResult, scrubber: Scrubber): unknown {
  if (structuredContent !== undefined) return storable({ structuredContent }, scrubber)?.structuredContent;
  const { text, left_out } = readable(content);
  const said = clean(text, scrubber);
  return left_out.length === 0
    ? said
    : { text: said, left_out: left_out.map((each) => clean(each, scrubber)) };
}

/** The message of a result that is marked as an error. */
export function errorOf({ content }: CallToolResult, scrubber: Scrubber): string {
  return bounded(clean(readable(content).text, scrubber).trim() || 'the tool failed', 2000);
}

function readable(content: CallToolResult['content']): { text: string; left_out: string[] } {
  const texts: string[] = [];
  const left_out: string[] = [];
  for (const block of content) {
    if (block.type === 'text') texts.push(block.text);
    else if (block.type === 'resource' && 'text' in block.resource) texts.push(block.resource.text);
    else if (block.type === 'resource') left_out.push(`resource ${block.resource.uri}`);
    else if (block.type === 'resource_link') texts.push(`${block.name}: ${block.uri}`);
    else left_out.push(`${block.type} ${block.mimeType}`);
  }
  return { text: texts.join('\n'), left_out };
}
