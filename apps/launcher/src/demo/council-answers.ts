/** The scripted model in a council; undefined for other prompts. */
import type { ChatMessage, Colleague } from './read-prompt.ts';

/** By role: the initial view, and the revised one after reading the others. */
const views: Record<string, { first: string; later: string }> = {
  ceo: {
    first:
      'A second shop is a promise to the town. I would open it if the first season pays for itself; else we have a story and no money.',
    later: 'KEEP',
  },
  engineer: {
    first:
      'Before any lease: put the quay on the web shop as a pick-up point. It costs a week, and the orders tell us what a shop there would sell.',
    later: 'KEEP',
  },
  researcher: {
    first:
      'Open it. Four of ten visitors of the quay read the sign of a bookshop as the first thing that they miss there.',
    later:
      'The pick-up point first: what visitors say they miss and what they buy are two things, and the orders will show which. Then the shop.',
  },
};
const general = { first: 'I would try it small and look at the numbers.', later: 'KEEP' };

export function councilAnswer(messages: readonly ChatMessage[], { role }: Colleague): string | undefined {
  const system = messages.find((message) => message.role === 'system')?.content ?? '';
  if (!system.includes('You take part in a council')) return undefined;
  const prompt = messages.findLast((message) => message.role === 'user')?.content ?? '';
  const now = prompt.slice(prompt.lastIndexOf('# Now'));
  if (now.includes('You have the chair')) return conclusion(prompt);
  if (now.includes('Rank the answers'))
    return `${/^RANKING: .+$/m.exec(now)?.[0] ?? 'RANKING: A'}\nThe first one can be undone, the last one can't.`;
  const { first, later } = views[role] ?? general;
  return now.includes('KEEP') ? later : first;
}

function conclusion(prompt: string): string {
  const dissent = /<answer by="([^"]+)" role="ceo">/.exec(prompt)?.[1] ?? 'Nobody';
  return [
    'We put a pick-up point on the quay this spring, and decide on the shop by its orders in autumn.',
    'It can be undone, it costs a week, and it answers what a survey can not: whether visitors of the quay buy books there.',
    `## Dissent\n${dissent} would open the shop at once if its first season paid for itself.`,
  ].join('\n\n');
}
