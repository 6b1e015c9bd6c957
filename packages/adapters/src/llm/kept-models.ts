/**
 * Caches the library's models: creating one builds all of its validation schemas, which took longer than everything else a
 * scheduler does for a short call. Calls only differ in their fetch, which is passed along with the call.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { LanguageModel } from 'ai';
import type { Connection } from './connection.ts';
import { loadModel } from './families.ts';

/** A few dozen kilobytes each. */
const MOST = 100;

type Fetch = typeof globalThis.fetch;

const fetches = new AsyncLocalStorage<Fetch>();
/** Least recently used first. */
const models = new Map<string, Promise<LanguageModel>>();

const fetchOfCall: Fetch = async (input, init) => {
  const own = fetches.getStore();
  if (own === undefined) throw new Error('a model is called outside of callingBy');
  return own(input, init);
};

/** Calls a model: all of its requests use `fetch`, which belongs to this call alone. */
export function callingBy<T>(fetch: Fetch, call: () => T): T {
  return fetches.run(fetch, call);
}

/** The connection's model, for use within `callingBy`. Another key, address or header results in another model. */
export async function modelOf(connection: Connection, model: string): Promise<LanguageModel> {
  const { family, base_url, query, api_key, headers, credentials } = connection;
  // Their keys may be temporary.
  if (credentials !== null) return loadModel(connection, model, fetchOfCall);
  const named = JSON.stringify([family, model, base_url, query, api_key, headers]);
  const kept = models.get(named) ?? loadModel(connection, model, fetchOfCall);
  models.delete(named);
  models.set(named, kept);
  if (models.size > MOST) models.delete(models.keys().next().value!);
  try {
    return await kept;
  } catch (err) {
    models.delete(named);
    throw err;
  }
}
