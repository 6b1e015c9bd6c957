import type { PromptEvolutionSummary } from '@acp/contract';

const watched = {
  watching: ', activated by itself',
  kept: ', activated by itself and kept',
  rolled_back: ', rolled back',
  superseded: ', activated by itself, then changed',
} as const;

/** What became of the winner, after the words for it. */
export const promotionWords = ({ watch }: Pick<PromptEvolutionSummary, 'watch'>): string =>
  watch === null ? '' : watched[watch];
