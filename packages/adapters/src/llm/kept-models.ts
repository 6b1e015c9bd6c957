/**
 * The library's models are kept: making one makes all the schemas that it checks answers by, which took longer than all else
 * that a scheduler does for a short call. What differs from call to call is the fetch alone, and that goes with the call.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { LanguageModel } from 'ai';
import type { Connection } from './connection.ts';
import { loadModel } from './families.ts';

/** Some tens of kilobytes each. */
const MOST = 100;

type Fetch = typeof globalThis.fetch;

const fetches = new AsyncLocalStorage<Fetch>();
/** Ordered by when they were last asked for. */
const models = new Map<string, Promise<LanguageModel>>();

const fetchOfCall: Fetch = async (input, init) => {
  const own = fetches.getStore();
  if (own === undefined) throw new Error('a model is called outside of callingBy');
  return own(input, init);
};

/** Calls a model: whatever it sends meanwhile goes out by `fetch`, which is of this call alone. */
export function callingBy<T>(fetch: Fetch, call: () => T): T {
  return fetches.run(fetch, call);
}

/** The model of that connection, to be called by `callingBy`. Another key, address or header makes another one. */
export async function modelOf(connection: Connection, model: string): Promise<LanguageModel> {
  const { family, base_url, query, api_key, headers, credentials } = connection;
  // Their keys may be lent for a while only.
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
