/** Patterns of event types, as plugins and webhooks subscribe by (specification, Events 3). */
import { Type } from 'typebox';

/** `*`, or words and `*` with dots between them. */
export const EventPattern = Type.String({
  maxLength: 200,
  pattern: '^(\\*|[a-z][a-z_]*)(\\.(\\*|[a-z][a-z_]*))*$',
});

/** A bare `*` is everything; else the segments are as many, and `*` stands for any one of them. */
export function matchesPattern(pattern: string, type: string): boolean {
  if (pattern === '*') return true;
  const [wanted, given] = [pattern.split('.'), type.split('.')];
  return (
    wanted.length === given.length && wanted.every((word, index) => word === '*' || word === given[index])
  );
}
