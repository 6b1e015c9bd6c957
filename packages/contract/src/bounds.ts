/**
 * How many of a kind there may be, so that no member, agent or script fills the database. Generous: whoever works normally never
 * meets one. Operators raise or lower them by the instance setting `bounds` (docs/adr/0052).
 */
import { type Static, Type } from 'typebox';

interface Bound {
  readonly most: number;
  readonly per: 'company' | 'issue' | 'agent' | 'routine';
  /** Plural, for messages. */
  readonly what: string;
}

export const bounds = {
  agents: { most: 10_000, per: 'company', what: 'agents' },
  projects: { most: 5000, per: 'company', what: 'projects' },
  goals: { most: 20_000, per: 'company', what: 'goals' },
  labels: { most: 2000, per: 'company', what: 'labels' },
  skills: { most: 5000, per: 'company', what: 'skills' },
  notes: { most: 50_000, per: 'company', what: 'notes' },
  routines: { most: 5000, per: 'company', what: 'routines' },
  chats: { most: 50_000, per: 'company', what: 'chats' },
  secrets: { most: 5000, per: 'company', what: 'secrets' },
  providers: { most: 500, per: 'company', what: 'providers' },
  budget_policies: { most: 5000, per: 'company', what: 'budget policies' },
  /** Every run loads all of them. */
  model_prices: { most: 200, per: 'company', what: 'prices' },
  webhooks: { most: 50, per: 'company', what: 'webhooks' },
  a2a_peers: { most: 50, per: 'company', what: 'peers' },
  mcp_servers: { most: 50, per: 'company', what: 'MCP servers' },
  channels: { most: 20, per: 'company', what: 'channels' },
  plugins: { most: 100, per: 'company', what: 'plugins' },
  members: { most: 10_000, per: 'company', what: 'members' },
  invites: { most: 1000, per: 'company', what: 'invites that nobody has accepted' },
  board_user_keys: { most: 1000, per: 'company', what: 'keys of integrations' },
  /** Those still to be decided. */
  approvals: { most: 5000, per: 'company', what: 'pending approvals' },
  agent_keys: { most: 100, per: 'agent', what: 'keys' },
  routine_triggers: { most: 100, per: 'routine', what: 'triggers' },
  documents: { most: 500, per: 'issue', what: 'documents' },
  attachments: { most: 2000, per: 'issue', what: 'attachments' },
  work_products: { most: 2000, per: 'issue', what: 'work products' },
  execution_decisions: { most: 2000, per: 'issue', what: 'decisions' },
  relations: { most: 2000, per: 'issue', what: 'relations' },
  saved_views: { most: 20_000, per: 'company', what: 'saved views' },
} as const satisfies Record<string, Bound>;

export type BoundKind = keyof typeof bounds;

export const boundKinds = Object.keys(bounds) as readonly BoundKind[];

const value = Type.Integer({ minimum: 1, maximum: 10_000_000 });

/** The instance setting: kinds that are missing have their default. */
export const BoundSettings = Type.Partial(
  Type.Object(Object.fromEntries(boundKinds.map((kind) => [kind, value])) as Record<BoundKind, typeof value>),
  { additionalProperties: false },
);
export type BoundSettings = Static<typeof BoundSettings>;
