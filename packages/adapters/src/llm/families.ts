// One loader per vendor family. Modules are imported when a family is first used: together they cost 0.25 s of startup and
// 55 MB, which a process without agents should not pay.

import type { LanguageModel } from 'ai';
import { AdapterError } from '../adapter-error.ts';
import type { ProviderFamily } from '@acp/contract';
import { signingKeys } from './cloud-credentials.ts';
import type { Connection } from './connection.ts';

type ModelLoader = (
  connection: Connection,
  model: string,
  fetch: typeof globalThis.fetch,
) => Promise<LanguageModel>;

function settings(
  { base_url: baseURL, api_key: apiKey, headers }: Connection,
  fetch: typeof globalThis.fetch,
) {
  return { baseURL, apiKey, headers, fetch };
}

// "Only the chat-vendor model family prefix of that cloud service is supported": with or without a regional profile.
const cloudModel = /^(?:[a-z]+(?:-[a-z]+)*\.)?anthropic\.[\w.:-]+$/;

const loaders: Record<ProviderFamily, ModelLoader> = {
  async family_chat_a(connection, model, fetch) {
    const { createOpenAI } = await import('@ai-sdk/openai');
    return createOpenAI(settings(connection, fetch)).chat(model);
  },
  async family_chat_b(connection, model, fetch) {
    const { createAnthropic } = await import('@ai-sdk/anthropic');
    return createAnthropic(settings(connection, fetch))(model);
  },
  async family_search(connection, model, fetch) {
    const { createPerplexity } = await import('@ai-sdk/perplexity');
    return createPerplexity(settings(connection, fetch))(model);
  },
  async family_compat(connection, model, fetch) {
    const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible');
    const options = {
      ...settings(connection, fetch),
      name: 'compat',
      includeUsage: true,
      queryParams: connection.query,
    };
    return createOpenAICompatible(options).chatModel(model);
  },
  async family_cloud(connection, model, fetch) {
    const { credentials, headers, base_url: baseURL } = connection;
    if (credentials === null) throw new AdapterError('config', 'the provider has no cloud credentials');
    if (!cloudModel.test(model))
      throw new AdapterError('config', `model ${model} is not of the supported family: anthropic.…`);
    // Done here because the library would hide the kind of error.
    const keys = await signingKeys(credentials);
    const { createAmazonBedrock } = await import('@ai-sdk/amazon-bedrock');
    return createAmazonBedrock({
      region: credentials.region,
      baseURL,
      headers,
      fetch,
      // Empty; otherwise a bearer token in the environment would override the provider's keys.
      apiKey: '',
      credentialProvider: async () => keys,
    })(model);
  },
};

export function loadModel(
  connection: Connection,
  model: string,
  fetch: typeof globalThis.fetch,
): Promise<LanguageModel> {
  return loaders[connection.family](connection, model, fetch);
}

/** The cloud family answers in one piece (specification: streaming is unsupported). */
export function canStream(family: ProviderFamily): boolean {
  return family !== 'family_cloud';
}
