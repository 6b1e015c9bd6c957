import type { PromptEvolutionSummary } from '@acp/contract';
import { texts } from '../kit/language.ts';

const watched = texts({
  watching: ', activated automatically',
  kept: ', activated automatically and kept',
  rolled_back: ', rolled back',
  superseded: ', activated automatically, then changed',
});

/** What became of the winner, as a suffix to the outcome. */
export const promotionWords = ({ watch }: Pick<PromptEvolutionSummary, 'watch'>): string =>
  watch === null ? '' : watched[watch];
