import { said, tooLarge } from '@acp/kernel';

/** Storage for command bodies that are too large for a row. They are useless after the command; something else deletes them. */
export interface CommandBodies {
  /** @returns the key under which `get` finds it */
  put(text: string): Promise<string>;
  /** Undefined if there is none. */
  get(key: string): Promise<string | undefined>;
}

/** In bytes of JSON (decisions 6). */
const MAX_IN_ROW = 65_536;

/** A body as stored in its row: inline, or a reference. */
export interface StoredBody {
  json: string;
  key: string | null;
}

/** @throws tooLarge for a large body if there is no store */
export async function storeBody(value: unknown, bodies: CommandBodies | undefined): Promise<StoredBody> {
  const json = JSON.stringify(value ?? null);
  if (Buffer.byteLength(json) <= MAX_IN_ROW) return { json, key: null };
  if (bodies === undefined) throw tooLarge(said`a command takes ${MAX_IN_ROW} bytes at most`);
  return { json: 'null', key: await bodies.put(json) };
}

export async function readBody(
  value: unknown,
  key: string | null,
  bodies: CommandBodies | undefined,
): Promise<unknown> {
  if (key === null) return value;
  const text = await bodies?.get(key);
  if (text === undefined) throw new Error(`the body of a command is not in the storage: ${key}`);
  return JSON.parse(text) as unknown;
}
