/**
 * Owns `providers`. Invariants: keys and headers are sealed before they reach the database, are never returned by the API, and
 * are only sent to the address they were entered for; a provider used by an agent can't be deleted.
 */
export { createProvider, deleteProvider, findProvider, listProviders, updateProvider } from './providers.ts';
export { insertProviders } from './insert-providers.ts';
export type { NewProvider } from './insert-providers.ts';
export { providerPlace } from './providers.ts';
export { presentProvider } from './present.ts';
export type { ProviderRow } from './present.ts';
export { assertAllowedUrl, assertBaseUrl } from './base-url.ts';
export type { ProviderRules } from './base-url.ts';
export { assertProvider, openProvider, pauseProvider } from './use-provider.ts';
export type { UsableProvider } from './use-provider.ts';
export { embeddingsProvider } from './embeddings.ts';
export { hasDefaultProvider, hasProvider } from './default-provider.ts';
