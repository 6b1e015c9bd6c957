import { conflict, notFound } from './errors.ts';

/**
 * Finds the item with the given name, ignoring case; the exact spelling wins.
 * @param what the kind of item, for the error: `agent`
 * @throws notFound, conflict if several items match
 */
export function oneNamed<T>(what: string, word: string, found: readonly T[], nameOf: (one: T) => string): T {
  const exact = found.filter((one) => nameOf(one) === word);
  const [one, second] = exact.length > 0 ? exact : found;
  const quoted = JSON.stringify(word.slice(0, 100).toWellFormed());
  if (one === undefined) throw notFound(`there is no ${what} ${quoted}`);
  if (second !== undefined) throw conflict(`several ${what}s are called ${quoted}: use the id`);
  return one;
}
