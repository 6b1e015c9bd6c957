/** The scripted model in a chat: cites the best passage of the company's knowledge. Undefined for other prompts. */
import type { ChatMessage } from './read-prompt.ts';

const PASSAGE = /<knowledge source="[^"]*" title="([^"]*)" url="([^"]*)">\n([^]*?)\n<\/knowledge>/;
const SENTENCES = 3;

export function chatAnswer(messages: readonly ChatMessage[]): string | undefined {
  const system = messages.find(({ role }) => role === 'system')?.content ?? '';
  if (!system.includes('You chat with a human')) return undefined;
  const [, title = '', url = '', text = ''] = PASSAGE.exec(system) ?? [];
  if (url === '') return 'Nothing that we have written down speaks of it.';
  const sentences = withoutMarkup(text).match(/[^.!?]+[.!?]+/g) ?? [withoutMarkup(text)];
  return `${sentences.slice(0, SENTENCES).join('').trim()}\n\nIt stands in [${title}](${url}).`;
}

/** Strips headings and links. */
export function withoutMarkup(markdown: string): string {
  return markdown
    .split('\n')
    .filter((line) => !line.startsWith('#'))
    .join(' ')
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/\s+/g, ' ');
}
