/** SKILL.md: YAML front matter with `name` and `description`, then Markdown (the open Agent Skills format). Pure. */
import { createRequire } from 'node:module';
import { createValidator, SkillDescription, SkillName } from '@acp/contract';
import { invalid, said } from '@acp/kernel';
import type * as Yaml from 'yaml';

interface SkillMarkdown {
  name: string;
  description: string;
  /** Everything after the front matter. */
  body_markdown: string;
}

const readName = createValidator(SkillName, 'SKILL.md: name');
const readDescription = createValidator(SkillDescription, 'SKILL.md: description');

/** Two lines `---`, the first at the very beginning; a byte order mark and Windows line endings are accepted. */
const frontMatter = /^\uFEFF?---[ \t]*\r?\n([\s\S]*?)\r?\n---[ \t]*(?:\r?\n|$)/;

/** The YAML parser may take up to 15 ms for a thousand maliciously chosen characters. */
const MAX_FRONT_MATTER = 8000;
const MAX_YAML = 50_000;

/** Loaded with the first YAML: a megabyte that most processes never need. */
const yaml = (): typeof Yaml => require('yaml') as typeof Yaml;
const require = createRequire(import.meta.url);

export function hasFrontMatter(text: string): boolean {
  return frontMatter.test(text);
}

/** @throws invalid that says what is missing or wrong */
export function parseSkillMarkdown(text: string): SkillMarkdown {
  const match = frontMatter.exec(text);
  if (!match) throw invalid('SKILL.md: it must begin with front matter between two lines "---"');
  if (match[1]!.length > MAX_FRONT_MATTER) throw invalid('SKILL.md: the front matter is too long');
  const fields = readYaml(match[1]!, 'SKILL.md: the front matter');
  return {
    name: readName(fields.name),
    description: readDescription(fields.description),
    body_markdown: text.slice(match[0].length).replace(/^(?:[ \t]*\r?\n)+/, ''),
  };
}

/**
 * Parses a map of fields from YAML, of which JSON is a subset. Without aliases: they expand a little into a lot, and the parser's
 * own limit does not count empty values.
 * @param what what it is, for the error @throws invalid
 */
export function readYaml(text: string, what: string): Record<string, unknown> {
  const json = fromJson(text);
  if (json === undefined && text.length > MAX_YAML)
    throw invalid(said`${what}: YAML may be ${MAX_YAML} characters long, more is taken as JSON only`);
  const value = json ?? parseYaml(text, what);
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw invalid(said`${what} must be a map of fields`);
  return value as Record<string, unknown>;
}

/** Most long texts are JSON, which is cheap to parse. */
function fromJson(text: string): unknown {
  if (!text.trimStart().startsWith('{')) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function parseYaml(text: string, what: string): unknown {
  try {
    const { parseDocument, visit } = yaml();
    const document = parseDocument(text, { schema: 'core' });
    const [error] = document.errors;
    if (error) throw error;
    visit(document, {
      Alias: () => {
        throw new Error('aliases are not allowed');
      },
    });
    return document.toJS();
  } catch (err) {
    const [why] = err instanceof Error ? err.message.split('\n') : [];
    throw invalid(said`${what}: ${why ?? 'malformed YAML'}`);
  }
}

/** `Write Release Notes` → `write-release-notes`. Empty if the name has no letters or digits. */
export function slugOf(name: string): string {
  return name
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
    .slice(0, 64)
    .replace(/-+$/, '');
}
