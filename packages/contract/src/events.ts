/** The event table: live stream names and the dotted types that plugins subscribe to (decisions 4). */
import { Type, type Static, type TSchema } from 'typebox';
import { Agent } from './agents.ts';
import { ApprovalSummary } from './approvals.ts';
import { BudgetIncident } from './budgets.ts';
import { ChatMessageEvent } from './chats.ts';
import { Comment } from './comments.ts';
import { CreatedCounts } from './company-bundle.ts';
import { CouncilSummary } from './councils.ts';
import { CompiledIndexSummary } from './compiled-index.ts';
import { PromptEvolutionSummary } from './evolutions.ts';
import { InboxChanged } from './inbox.ts';
import { IssueSummary } from './issues.ts';
import { JoinRequestSummary } from './invites.ts';
import { issueTopic, type ListTopic, type Topic } from './live-topics.ts';
import { PluginSummary } from './plugins.ts';
import { ProjectSummary } from './projects.ts';
import { RoutineFired } from './routines.ts';
import { Run } from './runs.ts';
import { Nullable, OneOf, Timestamp, Uuid } from './schema-kit.ts';
import { WorkerUpdated } from './workers.ts';

interface EventRow {
  readonly data: TSchema;
  /** What the event is about, derived from its data: a stream with topics gets it if one of these matches. */
  readonly topics: (data: never) => Topic[];
  /** Dotted type for plugins; null if plugins don't get it. */
  readonly plugin_type: string | null;
  /** Name on the live stream if different from the event's; null if it is not sent there. */
  readonly live?: string | null;
  /** Sent only to the company's admins; events without a company go to instance admins in any case. */
  readonly admins_only?: true;
  /** From its data, the only user who may see it; null: everyone who can see the company. */
  readonly private_to?: (data: never) => string | null;
  readonly doc: string;
}

/** Events carry list projections: no bodies, text up to 2 KB. */
export const AgentSummary = Type.Omit(Agent, ['system_prompt', 'adapter_config', 'description']);
export type AgentSummary = Static<typeof AgentSummary>;

/** A message to admins (specification, Events and observability 7). */
export const Notification = Type.Object({
  /** Its subject: `budget`, `backup` … */
  topic: Type.String(),
  level: OneOf(['info', 'warning', 'error']),
  message: Type.String(),
  entity_type: Nullable(Type.String()),
  entity_id: Nullable(Uuid),
});
export type Notification = Static<typeof Notification>;

/** One for the whole import, however much it has created. */
export const CompanyImported = Type.Object({
  /** The company. */
  id: Uuid,
  created: CreatedCounts,
});
export type CompanyImported = Static<typeof CompanyImported>;

const importedLists: readonly (readonly [keyof CreatedCounts, ListTopic])[] = [
  ['issues', 'issues'],
  ['issues', 'comments'],
  ['agents', 'agents'],
  ['projects', 'projects'],
  ['notes', 'knowledge'],
  ['budget_policies', 'budgets'],
];

const ofRun = (run: Run): Topic[] => [
  'runs',
  `run:${run.id}`,
  `agent:${run.agent_id}`,
  ...issueTopic(run.issue_id),
];
const ofIssue = ({ id }: { id: string }): Topic[] => ['issues', `issue:${id}`];
const ofAgent = ({ id }: { id: string }): Topic[] => ['agents', `agent:${id}`];
const ofApproval = ({ id, issue_id }: ApprovalSummary): Topic[] => [
  'approvals',
  `approval:${id}`,
  ...issueTopic(issue_id),
];
const ofBudget = (): Topic[] => ['budgets'];

export const eventTable = {
  heartbeat_started: { data: Run, topics: ofRun, plugin_type: 'agent.started', doc: 'A run started.' },
  heartbeat_completed: {
    data: Run,
    topics: ofRun,
    plugin_type: 'agent.finished',
    doc: 'A run reached a final status.',
  },
  issue_created: {
    data: IssueSummary,
    topics: ofIssue,
    plugin_type: 'issue.created',
    doc: 'An issue was created.',
  },
  issue_updated: {
    data: IssueSummary,
    topics: ofIssue,
    plugin_type: 'issue.updated',
    doc: 'An issue changed.',
  },
  issue_deleted: {
    data: Type.Object({ id: Uuid }),
    topics: ofIssue,
    plugin_type: 'issue.deleted',
    doc: 'An issue was moved to the trash.',
  },
  comment_created: {
    data: Comment,
    topics: ({ issue_id }: Comment) => ['comments', ...issueTopic(issue_id)],
    plugin_type: 'comment.created',
    doc: 'A comment; its text is cut at 2 KB.',
  },
  agent_created: {
    data: AgentSummary,
    topics: ofAgent,
    plugin_type: 'agent.created',
    live: 'agent_updated',
    doc: 'An agent was hired.',
  },
  agent_updated: {
    data: AgentSummary,
    topics: ofAgent,
    plugin_type: 'agent.updated',
    doc: 'An agent changed, its status included.',
  },
  project_created: {
    data: ProjectSummary,
    topics: () => ['projects'],
    plugin_type: 'project.created',
    live: 'notification',
    doc: 'A project was created.',
  },
  approval_created: {
    data: ApprovalSummary,
    topics: ofApproval,
    plugin_type: 'approval.created',
    doc: 'An approval was requested, or requested again.',
  },
  approval_resolved: {
    data: ApprovalSummary,
    topics: ofApproval,
    plugin_type: 'approval.resolved',
    doc: 'An approval was decided, or carried out.',
  },
  budget_incident: {
    data: BudgetIncident,
    topics: ofBudget,
    plugin_type: null,
    doc: 'A budget warned, or an incident was resolved.',
  },
  budget_breached: {
    data: BudgetIncident,
    topics: ofBudget,
    plugin_type: 'budget.breached',
    live: 'budget_incident',
    doc: 'A budget was breached.',
  },
  chat_message: {
    data: ChatMessageEvent,
    topics: ({ chat_id }: ChatMessageEvent) => [`chat:${chat_id}`],
    private_to: ({ private_to_user_id }: ChatMessageEvent) => private_to_user_id,
    plugin_type: null,
    doc: 'A chat message or a change of its state; for those who may see the chat. Its text is cut at 2 KB.',
  },
  council_updated: {
    data: CouncilSummary,
    topics: ({ id, issue_id }: CouncilSummary) => [`council:${id}`, ...issueTopic(issue_id)],
    plugin_type: null,
    doc: 'A council started, advanced or ended; without its texts.',
  },
  compiled_index_updated: {
    data: CompiledIndexSummary,
    topics: () => ['knowledge'],
    plugin_type: null,
    doc: 'A version of the compiled index was started, advanced or changed its status; without its statements.',
  },
  evolution_updated: {
    data: PromptEvolutionSummary,
    topics: ({ agent_id }: PromptEvolutionSummary) => [`agent:${agent_id}`],
    plugin_type: null,
    doc: 'A prompt evolution started, advanced or ended; without the prompts.',
  },
  inbox_changed: {
    data: InboxChanged,
    topics: ({ issue_id, approval_id }: InboxChanged) =>
      approval_id === undefined ? issueTopic(issue_id ?? null) : [`approval:${approval_id}`],
    private_to: ({ reader_id }: InboxChanged) => reader_id,
    plugin_type: null,
    doc: 'Someone snoozed an issue or an approval, or the snooze ended; for that person only.',
  },
  join_request: {
    data: JoinRequestSummary,
    topics: () => ['admin'],
    plugin_type: null,
    doc: 'Someone asked to join the company, or an admin decided; without the message.',
  },
  notification: {
    data: Notification,
    topics: () => ['admin'],
    plugin_type: null,
    admins_only: true,
    doc: 'An alert, for admins.',
  },
  plugin_state: {
    data: PluginSummary,
    topics: ({ id }: PluginSummary) => ['plugins', `plugin:${id}`],
    plugin_type: null,
    doc: 'A plugin changed its state or its approval.',
  },
  worker_updated: {
    data: WorkerUpdated,
    topics: () => ['workers'],
    plugin_type: null,
    admins_only: true,
    doc: 'A remote worker registered, changed, went online or offline, or took or finished a task; for instance admins.',
  },
  company_imported: {
    data: CompanyImported,
    topics: ({ created }: CompanyImported) =>
      importedLists.filter(([list]) => created[list] > 0).map(([, topic]) => topic),
    plugin_type: null,
    doc: 'An import has created entities in the company: the only event about them.',
  },
  routine_fired: {
    data: RoutineFired,
    topics: () => [],
    plugin_type: 'routine.fired',
    live: null,
    doc: 'A routine was fired; for plugins only.',
  },
} as const satisfies Record<string, EventRow>;

const rowOf = (type: string): EventRow | undefined =>
  Object.hasOwn(eventTable, type) ? eventTable[type as EventType] : undefined;

/** Whether the event is withheld from live streams of non-admins. */
export const adminsOnly = (type: string): boolean => rowOf(type)?.admins_only === true;

/** The only user who may see the event; null: everyone who can see its company. */
export function privateTo(type: string, data: unknown): string | null {
  const owner = rowOf(type)?.private_to as ((data: unknown) => string | null) | undefined;
  return owner?.(data) ?? null;
}

/** The event's name on the live stream; null if it is not sent there. */
export function liveName(type: string): string | null {
  const name = rowOf(type)?.live;
  return name === undefined ? type : name;
}

/** @param data as published under this type */
export function topicsOf(type: string, data: unknown): Topic[] {
  const topics = rowOf(type)?.topics as ((data: unknown) => Topic[]) | undefined;
  return topics?.(data) ?? [];
}

export type EventType = keyof typeof eventTable;
export type EventData<T extends EventType> = Static<(typeof eventTable)[T]['data']>;

/** One sequenced event, as in the `data:` of a frame. */
export const LiveEvent = Type.Object({
  id: Uuid,
  type: Type.String(),
  company_id: Type.Union([Uuid, Type.Null()]),
  occurred_at: Timestamp,
  data: Type.Unsafe<Record<string, unknown>>({ type: 'object' }),
});
export type LiveEvent = Static<typeof LiveEvent>;
