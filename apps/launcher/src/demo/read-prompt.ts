/** The scripted model's parser for prompts: knows only the text of apps/scheduler/src/execution/prompt.ts. */

export interface ChatMessage {
  role: string;
  content: string;
}

export interface Colleague {
  name: string;
  role: string;
}

/** An issue mentioned in a line of another issue's prompt. */
interface NamedIssue {
  identifier: string;
  status: string;
  assignee: string | null;
  title: string;
}

export interface PromptIssue {
  identifier: string;
  title: string;
  status: string;
  body: string;
  /** A council's comment says how to proceed. */
  decided: boolean;
  parent: NamedIssue | null;
  children: NamedIssue[];
}

export interface Reading {
  agent: Colleague;
  colleagues: Colleague[];
  /** Why the agent was woken: `assignment`, `unblocked` … */
  reasons: string[];
  issue: PromptIssue | null;
  /** Slugs of the skills offered in the prompt. */
  skills: string[];
  /** Starts at 1: read verbs give an agent further turns. */
  turn: number;
}

export function readPrompt(messages: readonly ChatMessage[]): Reading {
  const system = joined(messages, 'system');
  // Later user messages are results of verbs; the first one is the prompt.
  const prompt = messages.find(({ role }) => role === 'user')?.content ?? '';
  const [, name = 'Agent', role = 'general'] = /^You are (.+?) \(role: ([a-z]+)/m.exec(system) ?? [];
  return {
    agent: { name, role },
    colleagues: readColleagues(section(prompt, 'Colleagues')),
    reasons: [...section(prompt, 'Why you were woken').matchAll(/^- ([a-z]+),/gm)].map((match) => match[1]!),
    issue: readIssue(section(prompt, 'Your issue')),
    skills: [...section(prompt, 'Your skills').matchAll(/^- ([a-z0-9-]+):/gm)].map((match) => match[1]!),
    turn: messages.filter((message) => message.role === 'assistant').length + 1,
  };
}

function joined(messages: readonly ChatMessage[], wanted: string): string {
  return messages
    .filter(({ role }) => role === wanted)
    .map(({ content }) => content)
    .join('\n\n');
}

const titles =
  'Why you were woken|Goals|Project|Colleagues|Your skills|Who asks for it|Your issue|Done already|Verbs of your last run|Now';

/** The text below `# title`, up to the engine's next heading; headings inside users' text don't count. */
function section(prompt: string, title: string): string {
  const start = new RegExp(`^# ${title}.*$`, 'm').exec(prompt);
  if (start === null) return '';
  const rest = prompt.slice(start.index + start[0].length);
  const end = new RegExp(`^# (?:${titles})`, 'm').exec(rest);
  return rest.slice(0, end?.index).trim();
}

function readColleagues(text: string): Colleague[] {
  return [...text.matchAll(/^- (.+?) \(role: ([a-z]+)\)/gm)].map(([, name, role]) => ({
    name: name!,
    role: role!,
  }));
}

function readIssue(text: string): PromptIssue | null {
  const head = /^([^\s:]+-\d+): (.+)$/m.exec(text);
  if (head === null) return null;
  const body = /^<issue_body>\n([\s\S]*?)\n<\/issue_body>$/m.exec(text)?.[1] ?? '';
  // Between the description and the comments, all text is the engine's.
  const below = text.slice(text.indexOf('</issue_body>') + 1).split(/^Comments, oldest first/m)[0]!;
  return {
    identifier: head[1]!,
    title: head[2]!,
    status: /^Status: ([a-z_]+)$/m.exec(text)?.[1] ?? 'todo',
    body,
    decided: /^_Council of .+_$/m.test(text),
    parent: readNamed(/^Parent: (.+)$/m.exec(below)?.[1] ?? ''),
    children: list(below, 'Children').flatMap((line) => readNamed(line) ?? []),
  };
}

function list(text: string, title: string): string[] {
  const block = new RegExp(`^${title}:\n((?:- .*\n?)+)`, 'm').exec(text)?.[1] ?? '';
  return block.split('\n').flatMap((line) => (line.startsWith('- ') ? [line.slice(2)] : []));
}

function readNamed(line: string): NamedIssue | null {
  const match = /^(\S+-\d+) \[([a-z_]+)(?:, assigned to (.+?))?\] (.+)$/.exec(line);
  if (match === null) return null;
  return { identifier: match[1]!, status: match[2]!, assignee: match[3] ?? null, title: match[4]! };
}
