/** Finds every user-visible text of the pages in the code: the messages that language files must translate. */
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parse } from '@babel/parser';
import { keyOf } from '../../apps/web/src/ui/kit/catalogue.ts';
import { terms } from '../../apps/web/src/ui/kit/terms.ts';
import { cutTemplate, messagesOf } from '../../apps/web/src/ui/kit/template-texts.ts';
import { type Node, valuesIn } from './syntax.ts';

export const root = resolve(import.meta.dirname, '../..');

export interface Found {
  id: string;
  /** Plural form of a counted text; `id` is the singular. */
  plural?: string;
  /** `value` for words that stand for values in the code. */
  context?: string;
  /** Descriptions of its placeholders, for translators. */
  notes: Set<string>;
  files: Set<string>;
}

/** Properties whose literals the kit translates, and arguments of its functions. */
const SAID_PROPERTIES = new Set(['label', 'hint', 'confirm']);
const SAID_ARGUMENTS = new Map([
  ['say', 0],
  ['emptyState', 0],
  ['moreLink', 2],
  ['notice', 0],
  ['postButton', 1],
  ['shownOnce', 0],
  ['table', 0],
  ['tabs', 0],
  ['toast', 0],
]);
/** Functions that translate a value of the code. */
const OF_VALUES = new Set(['status', 'translateValue', 'words']);

/** Texts of other packages shown on pages: for each file those of one property, or all. */
const ELSEWHERE: readonly (readonly [path: string, property: string | null])[] = [
  ['packages/contract/src/settings.ts', 'description'],
  ['packages/contract/src/bounds.ts', 'what'],
  ['packages/core/src/alerts/advice.ts', null],
];

/** Refusals and their reasons: pages show them as in the API, but in the reader's language. */
const REFUSALS = {
  folders: [
    'packages/core/src',
    'apps/web/src/api',
    'apps/web/src/http',
    'apps/web/src/oauth',
    'apps/web/src/ui',
    'packages/contract/src',
    'packages/kernel/src',
    'apps/scheduler/src/commands',
    'apps/scheduler/src/mcp',
    'apps/scheduler/src/plugins',
  ],
  /** Which of the arguments is the message. */
  calls: new Map([
    ['conflict', 0],
    ['forbidden', 0],
    ['invalid', 0],
    ['notFound', 0],
    ['rateLimited', 0],
    ['tooLarge', 0],
    ['unauthenticated', 0],
    ['unavailable', 0],
    ['unsupported', 0],
    ['ServiceError', 1],
  ]),
};

/** What agents meet by their verbs and tools, and what plugins, workers, peers and clients of the API do, but nobody at a page. */
const FOR_PROGRAMS = [
  'packages/core/src/budgets/report-cost.ts',
  'packages/core/src/federation/cancel-task.ts',
  'packages/core/src/federation/delegate.ts',
  'packages/core/src/federation/push-configs.ts',
  'packages/core/src/federation/receive-message.ts',
  'packages/core/src/knowledge/user-models.ts',
  'packages/core/src/plugins/issue-services.ts',
  'packages/core/src/plugins/kv.ts',
  'packages/core/src/plugins/read.ts',
  'packages/core/src/skills/read-skills.ts',
  'packages/core/src/subagents/',
  'packages/core/src/task-sessions/',
  'packages/core/src/tools/',
  'packages/core/src/webhooks/task-webhooks.ts',
  'packages/core/src/workers/own-task.ts',
  'packages/core/src/workers/register-worker.ts',
  'packages/core/src/workers/task-events.ts',
  'packages/contract/src/comma-list.ts',
  'packages/contract/src/live-topics.ts',
  'packages/contract/src/shared-models.ts',
  'packages/kernel/src/one-named.ts',
  'apps/web/src/http/idempotency.ts',
  'apps/web/src/http/json-body.ts',
  'apps/scheduler/src/plugins/host-services.ts',
  'apps/scheduler/src/plugins/http-fetch.ts',
  'apps/scheduler/src/plugins/line-process.ts',
  'apps/scheduler/src/plugins/plugin-metrics.ts',
];

/** Whose message says why a run failed. */
const FAILURES = new Set(['AdapterError', 'RunFailure']);
/**
 * Sentences of alerts, mails and refusals with values, by the tag `said`; those that are stored for pages, by `stated`, and why runs
 * failed, where that is a constant of the error.
 */
const SENTENCES = [...REFUSALS.folders, 'packages/adapters/src', 'apps/scheduler/src'];

const folders = ['apps/web/src/ui', 'apps/web/assets/js'];

export function findMessages(): Map<string, Found> {
  const found = new Map<string, Found>();
  for (const path of sourcePaths(folders)) new Reader(path, found).read();
  for (const [path, property] of ELSEWHERE) new Reader(path, found).readConstants(property);
  for (const path of refusalPaths()) new Reader(path, found).readRefusals();
  for (const path of sourcePaths(SENTENCES)) new Reader(path, found).readSentences();
  for (const term of terms)
    add(found, { id: term.replaceAll('_', ' '), context: 'value' }, 'apps/web/src/ui/kit/terms.ts', []);
  return found;
}

/** Refusals on pages whose message is put together: no translator sees it. */
export const unsaidRefusals = (): string[] =>
  refusalPaths().flatMap((path) => new Reader(path, new Map()).readRefusals());

const refusalPaths = (): string[] =>
  sourcePaths(REFUSALS.folders).filter((path) => !FOR_PROGRAMS.some((start) => path.startsWith(start)));

function sourcePaths(of: readonly string[]): string[] {
  return of.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.(?:ts|js)$/.test(name) && !/\.(?:test|d)\.ts$/.test(name))
      .toSorted()
      .map((name) => `${folder}/${name}`),
  );
}

function add(
  found: Map<string, Found>,
  { id, plural, context }: Pick<Found, 'id' | 'plural' | 'context'>,
  path: string,
  notes: readonly string[],
): void {
  const key = keyOf(id, context ?? '');
  const entry: Found = found.get(key) ?? { id, notes: new Set(), files: new Set() };
  if (plural !== undefined) entry.plural = plural;
  if (context !== undefined) entry.context = context;
  entry.files.add(path);
  for (const note of notes) entry.notes.add(note);
  found.set(key, entry);
}

class Reader {
  readonly #path: string;
  readonly #text: string;
  readonly #found: Map<string, Found>;

  constructor(path: string, found: Map<string, Found>) {
    this.#path = path;
    this.#text = readFileSync(join(root, path), 'utf8');
    this.#found = found;
  }

  read(): void {
    this.#visit(this.#program());
  }

  #program(): Node {
    return parse(this.#text, { sourceType: 'module', plugins: ['typescript'] }).program as unknown as Node;
  }

  /** @returns those that it can't read */
  readRefusals(): string[] {
    const unsaid: string[] = [];
    const look = (node: Node): void => {
      const at = isCall(node) ? REFUSALS.calls.get(nameOf(node.callee as Node)) : undefined;
      const message = at === undefined ? undefined : (node.arguments as Node[])[at];
      // A single word is for programs.
      if (message?.type !== 'StringLiteral' || String(message.value).includes(' ')) this.#literals(message);
      if (message !== undefined && isPutTogether(message))
        unsaid.push(`${this.#path}: ${this.#source(message)}`);
      valuesIn(node).forEach(look);
    };
    if ([...REFUSALS.calls.keys()].some((name) => this.#text.includes(`${name}(`))) look(this.#program());
    return unsaid;
  }

  readSentences(): void {
    if (!/\bsaid`|\bstated\(|\bsaidText\(|\b(?:AdapterError|RunFailure)\(/.test(this.#text)) return;
    const look = (node: Node): void => {
      if (node.type === 'TaggedTemplateExpression' && nameOf(node.tag as Node) === 'said')
        this.#sentence(node.quasi as Quasis);
      if (node.type === 'CallExpression' && ['saidText', 'stated'].includes(nameOf(node.callee as Node)))
        this.#literals((node.arguments as Node[])[0]);
      if (node.type === 'NewExpression' && FAILURES.has(nameOf(node.callee as Node)))
        this.#literals((node.arguments as Node[])[1]);
      valuesIn(node).forEach(look);
    };
    look(this.#program());
  }

  /** @param property whose values are texts; null: everything but property names */
  readConstants(property: string | null): void {
    const look = (node: Node): void => {
      if (node.type === 'ImportDeclaration') return;
      if (property === null ? node.type === 'ObjectExpression' : isProperty(node, property))
        this.#allIn(node);
      else valuesIn(node).forEach(look);
    };
    look(this.#program());
  }

  #visit(node: Node): void {
    if (node.type === 'TaggedTemplateExpression') this.#template(node);
    else if (node.type === 'CallExpression') this.#call(node);
    else if (node.type === 'ObjectProperty' && SAID_PROPERTIES.has(nameOf(node.key as Node)))
      this.#literals(node.value as Node);
    for (const child of valuesIn(node)) this.#visit(child);
  }

  #template(node: Node): void {
    const { quasis, expressions } = node.quasi as Quasis;
    const sources = expressions.map((each) => this.#source(each));
    if (nameOf(node.tag as Node) === 't') {
      this.#sentence(node.quasi as Quasis);
    } else if (nameOf(node.tag as Node) === 'html') {
      for (const { message, values } of messagesOf(cutTemplate(quasis.map(({ value }) => value.raw))))
        this.#add(
          message,
          values.map(({ value }) => sources[value]!),
        );
    }
  }

  #sentence({ quasis, expressions }: Quasis): void {
    const literals = quasis.map(({ value }) => value.cooked);
    this.#add(
      literals.map((literal, at) => (at === 0 ? literal : `{${at - 1}}${literal}`)).join(''),
      expressions.map((each) => this.#source(each)),
    );
  }

  #call(node: Node): void {
    const name = nameOf(node.callee as Node);
    const given = node.arguments as Node[];
    if (name === 'plural') {
      const [number, one, other, ...values] = given;
      const notes = noted(
        values.map((each) => this.#source(each)),
        `# = ${this.#source(number!)}`,
      );
      if (one?.type === 'StringLiteral' && other?.type === 'StringLiteral')
        add(this.#found, { id: String(one.value), plural: String(other.value) }, this.#path, notes);
    } else if (name === 'texts') this.#allIn(given[0]!);
    else if (OF_VALUES.has(name)) this.#literals(given[0], 'value');
    else this.#literals(given[SAID_ARGUMENTS.get(name) ?? -1]);
  }

  /** Literals of an expression: itself, or the branches of a condition. */
  #literals(node: Node | undefined, context?: string): void {
    if (node?.type === 'StringLiteral') this.#add(String(node.value), [], context);
    else if (node?.type === 'ConditionalExpression')
      for (const way of [node.consequent, node.alternate]) this.#literals(way as Node, context);
    else if (node?.type === 'LogicalExpression') this.#literals(node.right as Node, context);
  }

  /** Literals of constants: all but property names and paths. */
  #allIn(node: Node): void {
    if (node.type === 'StringLiteral' && !String(node.value).startsWith('/'))
      this.#add(String(node.value), []);
    else for (const child of valuesIn(node, { keys: false })) this.#allIn(child);
  }

  #add(text: string, sources: readonly string[], context?: string): void {
    const id = context === undefined ? text : text.replaceAll('_', ' ');
    if (!/\p{L}/u.test(id)) return;
    add(this.#found, { id, ...(context === undefined ? {} : { context }) }, this.#path, noted(sources));
  }

  #source({ start, end }: Node): string {
    return this.#text.slice(start, end).replace(/\s+/g, ' ').slice(0, 60);
  }
}

type Quasis = Node & { quasis: Quasi[]; expressions: Node[] };

interface Quasi {
  value: { raw: string; cooked: string };
}

const noted = (sources: readonly string[], ...first: string[]): string[] => {
  const all = [...first, ...sources.map((source, at) => `{${at}} = ${source}`)];
  return all.length === 0 ? [] : [all.join(', ')];
};

const isCall = ({ type }: Node): boolean => type === 'CallExpression' || type === 'NewExpression';

/** Words and values in one string: neither a constant, nor a sentence by `said` or `t`, nor what was said elsewhere. */
function isPutTogether(message: Node): boolean {
  if (message.type === 'ConditionalExpression')
    return [message.consequent, message.alternate].some((way) => isPutTogether(way as Node));
  return message.type === 'TemplateLiteral' || message.type === 'BinaryExpression';
}

const isProperty = (node: Node, name: string): boolean =>
  node.type === 'ObjectProperty' &&
  nameOf(node.key as Node) === name &&
  (node.value as Node).type === 'StringLiteral';

/** Name of an identifier, a literal, or a called member. */
function nameOf(node: Node): string {
  const named = node.type === 'MemberExpression' ? (node.property as Node) : node;
  return [named.name, named.value].find((name) => typeof name === 'string') ?? '';
}
