import { isObject } from '../process/lines.ts';

// The CLIs' formats change between releases: what is not as expected counts as absent.

export function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

export function count(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) && value > 0 ? value : 0;
}

export function object(value: unknown): Record<string, unknown> {
  return isObject(value) ? value : {};
}

export function objects(value: unknown): Record<string, unknown>[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

const SHOWN = 4000;

/** For the transcript: long texts are cut, also within. */
export function shown(value: unknown): unknown {
  if (typeof value === 'string') return cut(value, SHOWN);
  const json = JSON.stringify(value) ?? 'null';
  return json.length <= SHOWN ? value : cut(json, SHOWN);
}

export function cut(value: string, limit: number): string {
  return value.length <= limit ? value : `${value.slice(0, limit).toWellFormed()}…`;
}
