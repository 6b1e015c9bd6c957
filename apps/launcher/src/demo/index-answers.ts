/** The scripted model compiling the company's knowledge: the outcome of each piece of work in a sentence. */
import { withoutMarkup } from './chat-answers.ts';
import type { ChatMessage } from './read-prompt.ts';

const SOURCE = /<knowledge id="(K\d+)" title="([^"]*)">\n([^]*?)\n<\/knowledge>/g;

/** Recognises sentences of use to others: an outcome, and how it is known. */
const TELLING =
  /^(?:We put|Before any|Built in|The slow part|Asked|Seven of|Went through|Customers ask|One order|Next year|The lease)/;

/** The first topic mentioned in a source is its topic. */
const topics: readonly (readonly [named: RegExp, topic: string])[] = [
  [/quay/i, 'Second shop'],
  [/checkout/i, 'Checkout'],
  [/list/i, 'Reading list'],
  [/newsletter|readers/i, 'Newsletter'],
];

/** Undefined for prompts other than a compilation's. */
export function indexAnswer(messages: readonly ChatMessage[]): string | undefined {
  const system = messages.find(({ role }) => role === 'system')?.content ?? '';
  if (!system.includes('You keep the index of what a company knows')) return undefined;
  const prompt = messages.findLast(({ role }) => role === 'user')?.content ?? '';
  const sources = [...prompt.matchAll(SOURCE)].map(([, id = '', title = '', text = '']) => ({
    id,
    topic: topics.find(([named]) => named.test(title))?.[1] ?? 'How we work',
    sentences: sentencesOf(text),
  }));
  const told = new Set(sources.flatMap(({ sentences }) => sentences));
  const statements = [...told].map((text) => {
    const saying = sources.filter(({ sentences }) => sentences.includes(text));
    return { topic: saying[0]!.topic, text, sources: saying.map(({ id }) => id) };
  });
  return JSON.stringify({ statements });
}

function sentencesOf(markdown: string): string[] {
  const sentences = withoutMarkup(markdown).match(/[^.!?]+[.!?]+/g) ?? [];
  return sentences.map((sentence) => sentence.trim()).filter((sentence) => TELLING.test(sentence));
}
