/** The scripted model's behaviour: a chief who breaks work down, or a colleague who does a part of it. */
import { chatAnswer } from './chat-answers.ts';
import { councilAnswer } from './council-answers.ts';
import { indexAnswer } from './index-answers.ts';
import {
  readPrompt,
  type ChatMessage,
  type Colleague,
  type PromptIssue,
  type Reading,
} from './read-prompt.ts';

/** Words in a task that indicate the role it is for; a stem is enough. */
const wordsOfRole: Record<string, readonly string[]> = {
  engineer: ['build', 'page', 'code', 'fix', 'site', 'shop', 'speed', 'faster', 'test', 'automat', 'server'],
  designer: ['design', 'draw', 'layout', 'logo', 'look', 'picture', 'colour', 'poster'],
  researcher: ['find', 'ask', 'research', 'compare', 'measure', 'interview', 'choose', 'survey', 'read'],
};

const ROUTING_ROLES = ['ceo', 'pm', 'triage'];
const isOver = (status: string): boolean => status === 'done' || status === 'cancelled';

/** The response to a conversation: what the agent says and the verbs it writes. */
export function answer(messages: readonly ChatMessage[]): string {
  const reading = readPrompt(messages);
  const said = councilAnswer(messages, reading.agent) ?? chatAnswer(messages) ?? indexAnswer(messages);
  if (said !== undefined) return said;
  const { issue } = reading;
  if (issue === null) return 'There is nothing on my desk.';
  if (issue.decided && !isOver(issue.status))
    return 'The council has decided, and I go by it: the pick-up point is in the plan for spring.\n\n/status done';
  if (isOver(issue.status)) return `${issue.identifier} is closed; there is nothing left to do on it.`;
  return ROUTING_ROLES.includes(reading.agent.role) ? lead(reading, issue) : work(reading, issue);
}

/** Breaks down, waits or closes, depending on the state of the parts. */
function lead({ colleagues, agent }: Reading, issue: PromptIssue): string {
  const others = colleagues.filter(({ name }) => name !== agent.name);
  const parts = partsOf(issue.body);
  const missing = parts.filter((part) => !issue.children.some((child) => child.title === titleOf(part)));
  if (others.length === 0) return work({ turn: 2, skills: [] }, issue);
  if (missing.length > 0) return breakDown(issue, missing, others);
  if (issue.children.length === 0) return handOver(issue, others);
  return issue.children.every(({ status }) => isOver(status)) ? sumUp(issue) : stillOpen(issue);
}

/** One part per item of the list in the description. */
function partsOf(body: string): string[] {
  return [...body.matchAll(/^[-*] +(.+)$/gm)].map((match) => match[1]!.trim());
}

/** A valid title on a verb's line: no `key=value`, no full stop. */
function titleOf(part: string): string {
  const sentence = part.split(/[.;:] /)[0]!;
  return sentence.replaceAll(/[="]/g, '').replace(/\.$/, '').trim();
}

function breakDown(issue: PromptIssue, parts: readonly string[], others: readonly Colleague[]): string {
  const helpers = parts.map((part, index) => fittest(part, others, index));
  const orders = parts.map((part, index) => {
    const body = `A part of ${issue.identifier}, "${issue.title}".\n\nDone when: ${part}`;
    return [
      `/create-issue ${titleOf(part)} assignee=${word(helpers[index]!.name)} parent=${issue.identifier}`,
      fenced(body),
    ].join('\n');
  });
  const names = [...new Set(helpers.map(({ name }) => name))].join(' and ');
  return [
    `I break "${issue.title}" into ${count(parts.length, 'part')} for ${names}, each with an outcome that can be checked.`,
    // Before the parts exist; otherwise a part that finishes immediately would have nothing to unblock.
    '/status blocked',
    ...orders,
    'This issue waits until they are done; then I look at the whole.',
  ].join('\n\n');
}

/** The colleague whose role matches most words of the task; ties are broken in turn. */
function fittest(task: string, others: readonly Colleague[], turn: number): Colleague {
  const text = task.toLowerCase();
  const score = ({ role }: Colleague): number =>
    (wordsOfRole[role] ?? []).filter((stem) => text.includes(stem)).length;
  const best = Math.max(...others.map(score));
  const fitting = others.filter((each) => score(each) === best);
  return fitting[turn % fitting.length]!;
}

function handOver(issue: PromptIssue, others: readonly Colleague[]): string {
  const { name, role } = fittest(`${issue.title} ${issue.body}`, others, 0);
  return [
    `One sitting's work, and ${role} work at that: ${name} takes it over as it stands.`,
    `/assign ${word(name)}`,
  ].join('\n\n');
}

function sumUp(issue: PromptIssue): string {
  const lines = issue.children.map(
    ({ identifier, title, assignee }) => `- ${identifier}: ${title}${assignee ? ` (${assignee})` : ''}`,
  );
  return [
    'All parts are there, and together they give what was asked for:',
    lines.join('\n'),
    `/report ${titleOf(issue.title)}\n${fenced(lines.join('\n'))}`,
    ...(/every year/.test(issue.body) ? everyYear(issue) : []),
    'I have checked the whole against the issue and close it.',
    '/status done',
  ].join('\n\n');
}

/** It recurs automatically, and anything sent to customers is reviewed by a person first. */
function everyYear({ identifier }: PromptIssue): string[] {
  return [
    'Next year it is to begin in time, in the first days of March.',
    '/promote-routine 0 9 1 3 *',
    `/request-approval action Tell our customers of ${identifier}\n${fenced('A letter to all who have asked for it last year.')}`,
  ];
}

function stillOpen(issue: PromptIssue): string {
  const open = issue.children.filter(({ status }) => !isOver(status)).map(({ identifier }) => identifier);
  return [`Still open: ${open.join(', ')}. I wait.`, '/status blocked'].join('\n\n');
}

interface Result {
  /** Matches words of the title. */
  named: RegExp;
  text: string;
  /** What the work leaves behind: a verb's line with the text as its body. */
  left?: (title: string) => string;
}

/** Outcomes of tasks. */
const results: readonly Result[] = [
  {
    named: /fix|fast|slow|speed/i,
    text: 'The slow part was one query too many. It is gone, the step takes a fifth of the time, and a test guards it.',
  },
  {
    named: /build|page|site|code/i,
    text: 'Built in the smallest form that works, with a test for each of its promises, and tried on a phone and on a desktop.',
    left: (title) => `/write-file what-was-built/${slug(title)}.md`,
  },
  {
    named: /measure|ask|survey|interview|want/i,
    text: 'Asked twelve people, nine answered. Seven of them name the same thing, and it is the cheapest one to change.',
    left: (title) => `/record-finding ${titleOf(title)}`,
  },
  {
    named: /choose|find|compare/i,
    text: 'Went through thirty candidates by the same four questions; what is left stands below in the order of the answers.',
    left: (title) => `/report ${titleOf(title)}`,
  },
];

/** Reads up on the issue's context and the house rules, then does the work. */
function work({ turn, skills }: Pick<Reading, 'turn' | 'skills'>, issue: PromptIssue): string {
  if (turn === 1 && issue.parent !== null) {
    return [
      `I take this on. First I read what it belongs to, ${issue.parent.identifier}.`,
      '/status in_progress',
      `/get-issue ${issue.parent.identifier}`,
      ...skills.map((skill) => `/use-skill ${skill}`),
    ].join('\n\n');
  }
  const wanted = /Done when: (.+)/.exec(issue.body)?.[1] ?? issue.title;
  const result = results.find(({ named }) => named.test(issue.title));
  const text = result?.text ?? 'Done as described, and checked against the description.';
  return [
    ...(issue.status === 'todo' && turn === 1 ? ['/status in_progress'] : []),
    `**${issue.title}**`,
    text,
    `What was asked for ("${wanted}") is there.`,
    ...(result?.left === undefined ? [] : [`${result.left(issue.title)}\n${fenced(text)}`]),
    '/status done',
  ].join('\n\n');
}

function slug(title: string): string {
  return title
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '');
}

function word(name: string): string {
  return /\s/.test(name) ? `"${name}"` : name;
}

function fenced(body: string): string {
  const fence = body.includes('```') ? '````' : '```';
  return `${fence}\n${body}\n${fence}`;
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}
