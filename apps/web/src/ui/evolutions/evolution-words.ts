import type { PromptEvolutionSummary } from '@acp/contract';
import { written } from '@acp/kernel';
import { currentLocale, t, texts } from '../kit/language.ts';

const TWO_DIGITS = { minimumFractionDigits: 2, maximumFractionDigits: 2 };

export const scoreText = (score: number): string => written(score, currentLocale(), TWO_DIGITS);

export const candidateName = (number: number): string =>
  number === 0 ? t`The initial prompt` : t`Candidate ${number}`;

const watched = texts({
  watching: ', activated automatically',
  kept: ', activated automatically and kept',
  rolled_back: ', rolled back',
  superseded: ', activated automatically, then changed',
});

/** What became of the winner, as a suffix to the outcome. */
export const promotionWords = ({ watch }: Pick<PromptEvolutionSummary, 'watch'>): string =>
  watch === null ? '' : watched[watch];
