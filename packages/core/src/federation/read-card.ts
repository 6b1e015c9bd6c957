import { createValidator, type PeerAgent } from '@acp/contract';
import { invalid, said } from '@acp/kernel';
import { Type } from 'typebox';

/** The parts of a card that we use; everything else is ignored. From either version, or from a directory's `agents`. */
const Listed = Type.Object({
  id: Type.Optional(Type.String()),
  name: Type.String({ minLength: 1 }),
  description: Type.Optional(Type.String()),
  url: Type.Optional(Type.String()),
});
const Card = Type.Object({
  ...Listed.properties,
  protocolVersion: Type.Optional(Type.String()),
  preferredTransport: Type.Optional(Type.String()),
  supportedInterfaces: Type.Optional(
    Type.Array(
      Type.Object({
        url: Type.String(),
        protocolBinding: Type.Optional(Type.String()),
        protocolVersion: Type.Optional(Type.String()),
      }),
      { maxItems: 1000 },
    ),
  ),
  skills: Type.Optional(Type.Array(Type.Object({ name: Type.Optional(Type.String()) }), { maxItems: 1000 })),
  agents: Type.Optional(Type.Array(Listed, { maxItems: 1000 })),
});

const read = createValidator(Card, 'the card');

const MAX_AGENTS = 200;
const MAX_SKILLS = 20;

/**
 * The agents of a peer's card. Agents at another origin than the card are left out: the peer's key is sent only to the peer.
 * @throws invalid for a malformed card, or one without callable agents
 */
export function readCard(json: unknown, card_url: string): PeerAgent[] {
  const card = read(json);
  const { origin } = new URL(card_url);
  const listed = card.agents === undefined ? [single(card)] : card.agents.map((agent) => of(agent, '1.0'));
  const agents = listed.flatMap((agent) => {
    if (agent === null || !URL.canParse(agent.url) || new URL(agent.url).origin !== origin) return [];
    return [agent];
  });
  if (agents.length === 0 && listed.length > 0)
    throw invalid(said`the card lists no JSON-RPC endpoint at ${origin}`);
  return agents.slice(0, MAX_AGENTS);
}

type CardShape = ReturnType<typeof read>;

function single(card: CardShape): PeerAgent | null {
  const spoken = (card.supportedInterfaces ?? []).filter(
    ({ protocolBinding = 'JSONRPC' }) => protocolBinding.toUpperCase() === 'JSONRPC',
  );
  const first = spoken.find(({ protocolVersion }) => protocolVersion?.startsWith('1.'));
  const chosen = first ?? spoken[0];
  const url = chosen?.url ?? (card.preferredTransport?.toUpperCase() === 'GRPC' ? undefined : card.url);
  if (url === undefined) return null;
  const skills = (card.skills ?? []).flatMap(({ name }) => name ?? []).slice(0, MAX_SKILLS);
  return of({ ...card, url }, first ? '1.0' : '0.3', skills);
}

const of = (
  { id, name, description = '', url = '' }: Pick<CardShape, 'id' | 'name' | 'description' | 'url'>,
  protocol_version: PeerAgent['protocol_version'],
  skills: string[] = [],
): PeerAgent => ({
  id: text(id ?? name, 200),
  name: text(name, 200),
  description: text(description, 1000),
  url: url.slice(0, 2000),
  protocol_version,
  skills: skills.map((skill) => text(skill, 100)),
});

/** Text that PostgreSQL can store. */
const text = (value: string, length: number): string =>
  value.slice(0, length).replaceAll('\0', '').toWellFormed();
