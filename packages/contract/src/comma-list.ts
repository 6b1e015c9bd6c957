import { invalid } from '@acp/kernel';

/**
 * Parses a comma-separated filter; spaces around commas are allowed. Undefined if there is no filter.
 * @throws invalid for an unknown value (decisions 7.17)
 */
export function commaList<T extends string>(
  list: string | undefined,
  known: readonly T[],
  field: string,
): T[] | undefined {
  const words = (list ?? '')
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '');
  if (words.length === 0) return undefined;
  return [...new Set(words)].map((word) => {
    const value = known.find((each) => each === word);
    if (value === undefined) throw invalid(`query.${field}: unknown ${field} ${word}`);
    return value;
  });
}
