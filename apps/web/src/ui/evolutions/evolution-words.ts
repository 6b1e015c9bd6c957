import type { PromptEvolutionSummary } from '@acp/contract';
import { texts } from '../kit/language.ts';

const watched = texts({
  watching: ', activated by itself',
  kept: ', activated by itself and kept',
  rolled_back: ', rolled back',
  superseded: ', activated by itself, then changed',
});

/** What became of the winner, as a suffix to the outcome. */
export const promotionWords = ({ watch }: Pick<PromptEvolutionSummary, 'watch'>): string =>
  watch === null ? '' : watched[watch];
