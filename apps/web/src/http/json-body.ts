/** Reads a request's JSON body: limited in size, and free of values that PostgreSQL or a naive reader can't handle. */
import { invalid, tooLarge } from '@acp/kernel';
import express from 'express';
import type { Request, Response } from 'express';

export const MAX_JSON_BYTES = 1024 * 1024;
// Deeper than any honest adapter_config; JSON.stringify and jsonb recurse.
const MAX_DEPTH = 64;

const parse = express.json({ limit: MAX_JSON_BYTES, strict: false });

/** The parsed body; undefined if there is none. Throws 400 or 413; the parser's errors are mapped in errors.ts. */
export async function readJsonBody(request: Request, response: Response): Promise<unknown> {
  const { 'content-length': length, 'transfer-encoding': transfer } = request.headers;
  if (transfer === undefined && (length === undefined || length === '0')) return undefined;
  // The parser would first read everything that it is going to refuse.
  if (Number(length) > MAX_JSON_BYTES) throw tooLarge('payload too large');
  if (!request.is('json')) throw invalid('the body must be application/json');
  await new Promise<void>((resolve, reject) => {
    parse(request, response, (error?: unknown) => {
      if (error === undefined) resolve();
      else reject(error instanceof Error ? error : new Error('the body parser failed', { cause: error }));
    });
  });
  const body: unknown = request.body;
  checkJson(body, 0);
  return body;
}

/**
 * Throws 400 for text that PostgreSQL can't store (NUL, half a surrogate pair), for excessive depth, and for `__proto__`, which
 * would become a prototype as soon as someone copies the object by assignment.
 */
export function checkJson(value: unknown, depth: number): void {
  if (typeof value === 'string') {
    checkText(value);
  } else if (typeof value === 'object' && value !== null) {
    if (depth >= MAX_DEPTH) throw invalid('the body is nested too deeply');
    if (Array.isArray(value)) {
      for (const item of value) checkJson(item, depth + 1);
      return;
    }
    for (const key of Object.keys(value)) {
      checkText(key);
      if (key === '__proto__') throw invalid('no field is called __proto__');
      checkJson((value as Record<string, unknown>)[key], depth + 1);
    }
  }
}

export function checkText(text: string): void {
  if (text.includes('\0') || !text.isWellFormed()) throw invalid('invalid character in text');
}
