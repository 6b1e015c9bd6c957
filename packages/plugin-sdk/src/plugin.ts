/** The parts of a plugin. */
import type { PluginEvents } from './event-data.ts';
import type { FromSchema, ObjectSchema } from './from-schema.ts';
import type { Host } from './host.ts';
import type { PluginMessages } from './protocol.ts';
import type { WebhookRequest } from './webhook-request.ts';

/** Passed to all of the plugin's handlers. */
export interface PluginContext {
  plugin_id: string;
  company_id: string;
  /** As set by the company's admins, with secrets filled in; empty if they set nothing. */
  config: Readonly<Record<string, unknown>>;
  /** The granted host services; all others respond with an error. */
  capabilities: readonly string[];
  /** A folder that belongs to the plugin and outlives its process. */
  workspace: string;
  host: Host;
  /** Aborted when the plugin is to stop; it is killed 5 s later. */
  signal: AbortSignal;
}

type Act<Input, Output = unknown> = (input: Input, context: PluginContext) => Output | Promise<Output>;

export interface Tool {
  namespace: string;
  name: string;
  description: string;
  input_schema: ObjectSchema;
  run: Act<never>;
}

export interface PluginEvent<Type extends string = string, Data = Record<string, unknown>> {
  type: Type;
  data: Data;
  /** Identical if the event is delivered again, which may happen. */
  id: string | null;
  occurred_at: string | null;
}

/** Types that a pattern with at most one `*` can match. */
type Matched<Pattern extends string> = Pattern extends '*'
  ? keyof PluginEvents
  : Pattern extends `${infer Before}*${infer After}`
    ? Extract<keyof PluginEvents, `${Before}${string}${After}`>
    : Extract<keyof PluginEvents, Pattern>;

/** The pattern's events as a union, discriminated by `type`. */
export type EventOf<Pattern extends string> = [Matched<Pattern>] extends [never]
  ? PluginEvent
  : { [Type in Matched<Pattern>]: PluginEvent<Type, PluginEvents[Type]> }[Matched<Pattern>];

export interface Subscription {
  pattern: string;
  handle: Act<never>;
}

export interface JobTick {
  name: string;
  /** The tick that is due, RFC 3339. */
  scheduled_at: string;
  config: Readonly<Record<string, unknown>>;
}

export interface Job {
  name: string;
  /** A cron expression with five fields, UTC. */
  schedule: string;
  config?: Readonly<Record<string, unknown>>;
  run: Act<JobTick>;
}

export interface Webhook {
  path: string;
  handle: Act<WebhookRequest>;
}

export interface Plugin {
  name: string;
  tools?: readonly Tool[];
  events?: readonly Subscription[];
  /** Events were lost because they were not delivered within their retention; receives the maximum number. */
  missed?: Act<number>;
  jobs?: readonly Job[];
  webhooks?: readonly Webhook[];
  /** Runs first; an error fails the start. */
  start?: (context: PluginContext) => void | Promise<void>;
  /** Throws if something is wrong; without it the plugin counts as healthy as long as it responds. */
  health?: (context: PluginContext) => void | Promise<void>;
  /** Runs last, within 4 s. */
  stop?: (context: PluginContext) => void | Promise<void>;
}

/** A tool whose input type is derived from its schema. The host validates the input; an error from `run` is the tool's error. */
export function tool<const S extends ObjectSchema>(
  of: Omit<Tool, 'input_schema' | 'run'> & { input_schema: S; run: Act<FromSchema<S>> },
): Tool {
  // The schema that types `run` is also the one that the host validates against.
  return of;
}

/** A subscription: `issue.created`, `issue.*`, `*.created`, `*`. Events are delivered in order, one at a time. */
export function on<const Pattern extends string>(
  pattern: Pattern,
  handle: Act<EventOf<Pattern>>,
): Subscription {
  return { pattern, handle };
}

export const job = (of: Job): Job => of;

/** A path below `/api/companies/{companyId}/plugins/webhooks/`. */
export const webhook = (path: string, handle: Webhook['handle']): Webhook => ({ path, handle });

export function manifestOf(plugin: Plugin): PluginMessages['ready']['manifest'] {
  const { name, tools = [], events = [], jobs = [], webhooks = [] } = plugin;
  return {
    name,
    tools: tools.map(({ run: _run, ...described }) => described),
    events: [...new Set(events.map(({ pattern }) => pattern))],
    jobs: jobs.map(({ run: _run, ...described }) => described),
    webhooks: webhooks.map(({ path }) => ({ path })),
  };
}

/** Same rules as the host's: a bare `*` matches everything, otherwise segments are compared, and `*` matches any one. */
export function matches(pattern: string, type: string): boolean {
  if (pattern === '*') return true;
  const [wanted, given] = [pattern.split('.'), type.split('.')];
  return wanted.length === given.length && wanted.every((word, at) => word === '*' || word === given[at]);
}
