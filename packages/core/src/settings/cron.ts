import { invalid, said, type Said } from '@acp/kernel';
import { type CronExpression, CronExpressionParser } from 'cron-parser';

/** For the five fields in order: the largest meaningful step, and names that stand for numbers. */
const fields = [
  { largestStep: 59, names: [] },
  { largestStep: 23, names: [] },
  { largestStep: 31, names: [] },
  {
    largestStep: 12,
    names: ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'],
  },
  { largestStep: 7, names: ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] },
] as const;

const item = /^(?:\*|([a-z]{3}|\d{1,2})(?:-([a-z]{3}|\d{1,2}))?)(?:\/(\d{1,2}))?$/;

export interface ParsedCron {
  /** Fields separated by single spaces. */
  expression: string;
  /** The hour field begins with `*`: the schedule follows elapsed time rather than the wall clock. */
  every_hour: boolean;
  /** Iterates over matching wall-clock times after the given one, both expressed as if in UTC. */
  after(wall: Date): CronExpression;
}

/**
 * Parses five fields of numbers, names, lists, ranges and steps. The underlying parser would also accept six fields, `@daily`,
 * `L`, `#`, `?` and the random `H`; anything beyond the agreed syntax is rejected.
 * @param field name of the value, for messages
 * @throws invalid
 */
export function parseCron(text: string, field = 'cron_expression'): ParsedCron {
  const words = text.trim().toLowerCase().split(/\s+/);
  if (words.length !== fields.length) throw invalid(said`${field}: five fields are required`);
  for (const [index, word] of words.entries()) assertField(word, fields[index]!, field);
  const expression = text.trim().replaceAll(/\s+/g, ' ');
  const after = (wall: Date) => {
    try {
      return CronExpressionParser.parse(expression, { currentDate: wall, tz: 'UTC' });
    } catch (err) {
      throw invalid(refused(field, err instanceof Error ? err.message : ''));
    }
  };
  after(new Date(0));
  return { expression, every_hour: words[1]!.startsWith('*'), after };
}

/** What is left for the library to refuse. @param message the library's */
function refused(field: string, message: string): Said {
  if (message.startsWith('Constraint error'))
    return said`${field}: a number is beyond the range of its field`;
  if (message.startsWith('Invalid range')) return said`${field}: a range ends before it begins`;
  if (message.startsWith('Invalid explicit day of month')) return said`${field}: no month has such a day`;
  return said`${field}: ${message}`;
}

function assertField(word: string, { largestStep, names }: (typeof fields)[number], field: string): void {
  const known: readonly string[] = names;
  for (const part of word.split(',')) {
    const [whole, from, to, step] = item.exec(part) ?? [];
    const unknownName = [from, to].some((value) => value && /[a-z]/.test(value) && !known.includes(value));
    const badStep = step !== undefined && (Number(step) < 1 || Number(step) > largestStep);
    if (whole === undefined || unknownName || badStep) {
      throw invalid(said`${field}: ${JSON.stringify(part)} is not valid in its field`);
    }
  }
}
