/** Patterns of event types for subscriptions by plugins and webhooks (specification, Events 3). */
import { Type } from 'typebox';

/** `*`, or segments separated by dots, each a word or `*`. One that no event matches is no error. */
export const EventPattern = Type.String({
  maxLength: 200,
  pattern: '^(\\*|[\\w-]+)(\\.(\\*|[\\w-]+))*$',
});

/** A bare `*` matches everything; otherwise the number of segments must match, and `*` matches any one of them. */
export function matchesPattern(pattern: string, type: string): boolean {
  if (pattern === '*') return true;
  const [wanted, given] = [pattern.split('.'), type.split('.')];
  return (
    wanted.length === given.length && wanted.every((word, index) => word === '*' || word === given[index])
  );
}
