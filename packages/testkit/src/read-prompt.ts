import type { FakeModelRequest } from './fake-model.ts';

/** What the prompt of a heartbeat says. */
export interface ReadPrompt {
  agent: string;
  issue: ReadIssue | null;
  /** What earlier runs that were lost have done; empty if none was. */
  done_already: string;
}

export interface ReadIssue {
  identifier: string;
  title: string;
  /** All that is said of it, comments included, but nothing of the company's knowledge. */
  text: string;
}

const NO_ISSUE = 'There is no issue at hand.';

/**
 * Reads the prompt of a heartbeat for a model's script. A script that looks for words which the product no longer writes would
 * go on with the wrong answer: here, a prompt that has none of the known forms is an error.
 */
export function readPrompt({ messages }: Pick<FakeModelRequest, 'messages'>): ReadPrompt {
  const [system = '', user = ''] = messages.map(({ content }) => content);
  const agent = /^You are (.+?) \(role/m.exec(system)?.[1];
  if (agent === undefined) throw new Error(`a prompt that names no agent: ${system.slice(0, 200)}`);
  const text = sectionOf(user, 'Your issue');
  const [, identifier, title] = /^(\S+): (.*)/.exec(text) ?? [];
  const issue = identifier === undefined || title === undefined ? null : { identifier, title, text };
  if (issue === null && !user.includes(NO_ISSUE))
    throw new Error(`a prompt neither with an issue nor without one: ${user.slice(-500)}`);
  return { agent, issue, done_already: sectionOf(user, 'Done already') };
}

/** People write headings, too: only those that may follow end a section. */
const FOLLOWING = /\n\n# (?:Your sub-agents|Done already|Verbs of your last run that failed|Now)\n/;

function sectionOf(user: string, heading: string): string {
  const [, found = ''] = `\n${user}`.split(`\n# ${heading}\n`);
  return found.split(FOLLOWING)[0]!;
}
