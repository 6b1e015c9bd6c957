/** Agent cards: what strangers may know of an agent, in the shape of 1.0, or of both versions at once. */
import type { AvailableAgent } from '@acp/core';
import { serviceVersion } from '@acp/kernel';

type Listed = Omit<AvailableAgent, 'skills'>;

export const endpointOf = (public_url: string, { company_id, id }: Listed): string =>
  `${public_url}/companies/${company_id}/agents/${id}/a2a`;

const INPUT_MODES = ['text/plain', 'text/markdown', 'application/json', 'application/octet-stream'];
export const OUTPUT_MODES = ['text/markdown', 'text/plain', 'application/json', 'application/octet-stream'];

const scheme = {
  description: 'A key of the agent: `Authorization: Bearer sk_…`',
  location: 'header',
  name: 'Authorization',
};

/** The service as strangers see it. */
export interface Place {
  public_url: string;
  /** Credentials of push notifications can be kept. */
  pushes: boolean;
}

interface Card {
  name: string;
  description: string;
  company_name: string;
  /** Where it is called, the preferred one first. */
  urls: readonly string[];
  skills: readonly { id: string; name: string; description: string; tags: string[] }[];
}

/** @param version what the client asked for by `A2A-Version` */
export function cardOfAgent(agent: AvailableAgent, place: Place, version: string | undefined): object {
  const { public_url } = place;
  const { role, title, company_name, skills } = agent;
  const own = { id: role, name: title ?? role, description: describe(agent), tags: [role] };
  const card: Card = {
    name: agent.name,
    description: describe(agent),
    company_name,
    urls: [endpointOf(public_url, agent)],
    skills:
      skills.length === 0
        ? [own]
        : skills.map(({ slug, name, description }) => ({ id: slug, name, description, tags: [role] })),
  };
  return shaped(card, place, version);
}

/** Each agent is a skill of it under the agent's id; clients that know 0.3 read `agents`. */
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
  const { name, description, company_name, urls, skills } = card;
  const first = {
    name,
    description,
    supportedInterfaces: ['1.0', '0.3'].flatMap((protocolVersion) =>
      urls.map((url) => ({ url, protocolBinding: 'JSONRPC', protocolVersion })),
    ),
    provider: { organization: company_name, url: public_url },
    version: serviceVersion().version,
    capabilities: { streaming: true, pushNotifications: pushes, extendedAgentCard: false },
    securitySchemes: { apiKey: { apiKeySecurityScheme: scheme } },
    securityRequirements: [{ schemes: { apiKey: { list: [] } } }],
    defaultInputModes: INPUT_MODES,
    defaultOutputModes: OUTPUT_MODES,
    skills,
  };
  if (isFirst(version)) return first;
  const { description: about, location, name: header } = scheme;
  return {
    ...first,
    protocolVersion: '1.0',
    url: urls[0] ?? `${public_url}/`,
    preferredTransport: 'JSONRPC',
    additionalInterfaces: urls.map((url) => ({ url, transport: 'JSONRPC' })),
    securitySchemes: {
      apiKey: {
        ...first.securitySchemes.apiKey,
        type: 'apiKey',
        in: location,
        name: header,
        description: about,
      },
    },
    security: [{ apiKey: [] }],
    supportsAuthenticatedExtendedCard: false,
  };
}
