/** Agent cards: an agent's public description, in the shape of 1.0 or of both versions at the same time. */
import type { AvailableAgent } from '@acp/core';
import { serviceVersion } from '@acp/kernel';
import type { Services } from '../http/services.ts';

type Listed = Omit<AvailableAgent, 'skills'>;

const endpointOf = (public_url: string, { company_id, id }: Listed): string =>
  `${public_url}/companies/${company_id}/agents/${id}/a2a`;

const INPUT_MODES = ['text/plain', 'text/markdown', 'application/json', 'application/octet-stream'];
export const OUTPUT_MODES = ['text/markdown', 'text/plain', 'application/json', 'application/octet-stream'];

/** The preferred one, so that clients prefix the key with `Bearer`. */
const scheme = { description: 'A key of the agent', scheme: 'Bearer' };

/** The same header, for clients that look for an API key; 1.0 has one way to say it, 0.3 another. */
const apiKey = { description: 'A key of the agent, after the word Bearer', name: 'Authorization' };

/** The service as seen from outside. */
export interface Place {
  public_url: string;
  /** Whether credentials of push notifications can be stored. */
  pushes: boolean;
}

export const placeOf = ({ public_url, vault }: Pick<Services, 'public_url' | 'vault'>): Place => ({
  public_url,
  pushes: vault.available,
});

/** The service's limits, published in extended cards. */
const LIMITS_EXTENSION = 'urn:acp:a2a:limits:1';
export interface Limits {
  waitSeconds: number;
  maxRequestBytes: number;
  maxHistoryMessages: number;
  maxArtifacts: number;
}

interface Card {
  name: string;
  description: string;
  company_name: string;
  /** Endpoint URLs, the preferred one first. */
  urls: readonly string[];
  skills: readonly { id: string; name: string; description: string; tags: string[] }[];
  limits?: Limits | undefined;
}

/** @param version the client's `A2A-Version` @param limits for extended cards only */
export function cardOfAgent(
  agent: AvailableAgent,
  place: Place,
  version: string | undefined,
  limits?: Limits,
): object {
  const { public_url } = place;
  const { role, title, company_name, skills } = agent;
  const own = { id: role, name: title ?? role, description: describe(agent), tags: [role] };
  const card: Card = {
    name: agent.name,
    description: describe(agent),
    company_name,
    urls: [endpointOf(public_url, agent)],
    limits,
    skills:
      skills.length === 0
        ? [own]
        : skills.map(({ slug, name, description }) => ({ id: slug, name, description, tags: [role] })),
  };
  return shaped(card, place, version);
}

/** Lists each agent as a skill under the agent's id; clients that know 0.3 read `agents`. */
export function directoryCard(
  { company_name, agents }: { company_name: string; agents: readonly Listed[] },
  place: Place,
  version: string | undefined,
): object {
  const { public_url } = place;
  const card: Card = {
    name: company_name,
    description: `Agents of ${company_name}`,
    company_name,
    urls: agents.map((agent) => endpointOf(public_url, agent)),
    skills: agents.map((agent) => ({
      id: agent.id,
      name: agent.name,
      description: describe(agent),
      tags: [agent.role],
    })),
  };
  const shape = shaped(card, place, version);
  if (isFirst(version)) return shape;
  return {
    ...shape,
    agents: agents.map((agent) => ({
      id: agent.id,
      name: agent.name,
      description: describe(agent),
      role: agent.role,
      url: endpointOf(public_url, agent),
      cardUrl: `${public_url}/companies/${agent.company_id}/agents/${agent.id}/agent-card.json`,
    })),
  };
}

const describe = ({ description, title, role }: Listed): string => description?.trim() || title || role;

const isFirst = (version: string | undefined): boolean => version?.trim().startsWith('1.') ?? false;

function shaped(card: Card, { public_url, pushes }: Place, version: string | undefined): object {
  const { name, description, company_name, urls, skills, limits } = card;
  const about = 'What a request and its answer may come to, and how long a message waits for its task.';
  const extensions = [{ uri: LIMITS_EXTENSION, description: about, required: false, params: limits }];
  const first = {
    name,
    description,
    supportedInterfaces: ['1.0', '0.3'].flatMap((protocolVersion) =>
      urls.map((url) => ({ url, protocolBinding: 'JSONRPC', protocolVersion })),
    ),
    provider: { organization: company_name, url: public_url },
    version: serviceVersion().version,
    // A reader of the directory calls no agent: extended cards belong to single agents.
    capabilities: {
      streaming: true,
      pushNotifications: pushes,
      extendedAgentCard: urls.length === 1,
      ...(limits && { extensions }),
    },
    securitySchemes: { bearer: { httpAuthSecurityScheme: scheme } },
    securityRequirements: [{ schemes: { bearer: { list: [] } } }],
    defaultInputModes: INPUT_MODES,
    defaultOutputModes: OUTPUT_MODES,
    skills,
  };
  if (isFirst(version)) return first;
  return {
    ...first,
    protocolVersion: '1.0',
    url: urls[0] ?? `${public_url}/`,
    preferredTransport: 'JSONRPC',
    additionalInterfaces: urls.map((url) => ({ url, transport: 'JSONRPC' })),
    securitySchemes: {
      bearer: { ...first.securitySchemes.bearer, type: 'http', ...scheme },
      api_key: {
        apiKeySecurityScheme: { ...apiKey, location: 'header' },
        type: 'apiKey',
        in: 'header',
        ...apiKey,
      },
    },
    security: [{ bearer: [] }, { api_key: [] }],
    supportsAuthenticatedExtendedCard: first.capabilities.extendedAgentCard,
  };
}
