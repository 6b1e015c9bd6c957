/** The event table: names of the live stream, with the dotted form that plugins subscribe to (decisions 4). */
import { Type, type Static, type TSchema } from 'typebox';
import { Agent } from './agents.ts';
import { Comment } from './comments.ts';
import { IssueSummary } from './issues.ts';
import { ProjectSummary } from './projects.ts';
import { Run } from './runs.ts';
import { Timestamp, Uuid } from './schema-kit.ts';

interface EventRow {
  readonly data: TSchema;
  /** Dotted type for plugins; null where plugins do not see it. */
  readonly plugin_type: string | null;
  /** Name on the live stream where it is not the event's own. */
  readonly live?: string;
  readonly doc: string;
}

/** Events carry list projections: no bodies, text up to 2 KB. */
export const AgentSummary = Type.Omit(Agent, ['system_prompt', 'adapter_config', 'description']);
export type AgentSummary = Static<typeof AgentSummary>;

export const eventTable = {
  heartbeat_started: { data: Run, plugin_type: 'agent.started', doc: 'A run began.' },
  heartbeat_completed: { data: Run, plugin_type: 'agent.finished', doc: 'A run reached a final status.' },
  issue_created: { data: IssueSummary, plugin_type: 'issue.created', doc: 'An issue was created.' },
  issue_updated: { data: IssueSummary, plugin_type: 'issue.updated', doc: 'An issue changed.' },
  issue_deleted: {
    data: Type.Object({ id: Uuid }),
    plugin_type: 'issue.deleted',
    doc: 'An issue went to the trash.',
  },
  comment_created: {
    data: Comment,
    plugin_type: 'comment.created',
    doc: 'A comment; its text is cut at 2 KB.',
  },
  agent_created: {
    data: AgentSummary,
    plugin_type: 'agent.created',
    live: 'agent_updated',
    doc: 'An agent was hired.',
  },
  agent_updated: {
    data: AgentSummary,
    plugin_type: 'agent.updated',
    doc: 'An agent changed, its status included.',
  },
  project_created: {
    data: ProjectSummary,
    plugin_type: 'project.created',
    live: 'notification',
    doc: 'A project was created.',
  },
} as const satisfies Record<string, EventRow>;

/** The event's name on the live stream. */
export function liveName(type: string): string {
  const row: EventRow | undefined = Object.hasOwn(eventTable, type)
    ? eventTable[type as EventType]
    : undefined;
  return row?.live ?? type;
}

export type EventType = keyof typeof eventTable;
export type EventData<T extends EventType> = Static<(typeof eventTable)[T]['data']>;

/** One sequenced event, as `data:` of a frame carries it. */
export const LiveEvent = Type.Object({
  id: Uuid,
  type: Type.String(),
  company_id: Type.Union([Uuid, Type.Null()]),
  occurred_at: Timestamp,
  data: Type.Unsafe<Record<string, unknown>>({ type: 'object' }),
});
export type LiveEvent = Static<typeof LiveEvent>;
