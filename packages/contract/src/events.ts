/** The event table: names of the live stream, with the dotted form that plugins subscribe to (decisions 4). */
import { Type, type Static, type TSchema } from 'typebox';
import { Agent } from './agents.ts';
import { ApprovalSummary } from './approvals.ts';
import { BudgetIncident } from './budgets.ts';
import { Comment } from './comments.ts';
import { IssueSummary } from './issues.ts';
import { ProjectSummary } from './projects.ts';
import { RoutineFired } from './routines.ts';
import { Run } from './runs.ts';
import { Nullable, OneOf, Timestamp, Uuid } from './schema-kit.ts';

interface EventRow {
  readonly data: TSchema;
  /** Dotted type for plugins; null where plugins do not see it. */
  readonly plugin_type: string | null;
  /** Name on the live stream where it is not the event's own; null where it is not sent there. */
  readonly live?: string | null;
  /** Sent to the company's admins only; one without a company goes to instance admins anyway. */
  readonly admins_only?: true;
  readonly doc: string;
}

/** Events carry list projections: no bodies, text up to 2 KB. */
export const AgentSummary = Type.Omit(Agent, ['system_prompt', 'adapter_config', 'description']);
export type AgentSummary = Static<typeof AgentSummary>;

/** A message to admins (specification, Events and observability 7). */
export const Notification = Type.Object({
  /** `budget`, `backup` …: what it is about. */
  topic: Type.String(),
  level: OneOf(['info', 'warning', 'error']),
  message: Type.String(),
  entity_type: Nullable(Type.String()),
  entity_id: Nullable(Uuid),
});
export type Notification = Static<typeof Notification>;

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
  approval_created: {
    data: ApprovalSummary,
    plugin_type: 'approval.created',
    doc: 'An approval was asked for, or asked for again.',
  },
  approval_resolved: {
    data: ApprovalSummary,
    plugin_type: 'approval.resolved',
    doc: 'An approval was decided, or what it asked for was carried out.',
  },
  budget_incident: {
    data: BudgetIncident,
    plugin_type: null,
    doc: 'A budget warned, or an incident was resolved.',
  },
  budget_breached: {
    data: BudgetIncident,
    plugin_type: 'budget.breached',
    live: 'budget_incident',
    doc: 'A budget was breached.',
  },
  notification: { data: Notification, plugin_type: null, admins_only: true, doc: 'An alert, for admins.' },
  routine_fired: {
    data: RoutineFired,
    plugin_type: 'routine.fired',
    live: null,
    doc: 'A routine was fired; for plugins only.',
  },
} as const satisfies Record<string, EventRow>;

/** Whether live streams of others than admins leave the event out. */
export function adminsOnly(type: string): boolean {
  const row: EventRow | undefined = Object.hasOwn(eventTable, type)
    ? eventTable[type as EventType]
    : undefined;
  return row?.admins_only === true;
}

/** The event's name on the live stream; null for what is not sent there. */
export function liveName(type: string): string | null {
  const row: EventRow | undefined = Object.hasOwn(eventTable, type)
    ? eventTable[type as EventType]
    : undefined;
  return row?.live === undefined ? type : row.live;
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
