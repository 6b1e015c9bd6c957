/** What a plugin consists of. */
import type { PluginEvents } from './event-data.ts';
import type { FromSchema, ObjectSchema } from './from-schema.ts';
import type { Host } from './host.ts';
import type { PluginMessages } from './protocol.ts';
import type { WebhookRequest } from './webhook-request.ts';

/** Handed to whatever the plugin does. */
export interface PluginContext {
  plugin_id: string;
  company_id: string;
  /** As the company's admins set it, with secrets filled in; empty where they set nothing. */
  config: Readonly<Record<string, unknown>>;
  /** Host services that were granted: the others answer with an error. */
  capabilities: readonly string[];
  /** A folder of the plugin's own that outlives it. */
  workspace: string;
  host: Host;
  /** Aborted when the plugin is to end: 5 s later it is killed. */
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
  /** The same whenever the event comes again, which it may. */
  id: string | null;
  occurred_at: string | null;
}

/** Types that a pattern with one `*`, or none, can match. */
type Matched<Pattern extends string> = Pattern extends '*'
  ? keyof PluginEvents
  : Pattern extends `${infer Before}*${infer After}`
    ? Extract<keyof PluginEvents, `${Before}${string}${After}`>
    : Extract<keyof PluginEvents, Pattern>;

/** What a handler of the pattern gets; told apart by `type`. */
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
  /** Five fields of cron, UTC. */
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
  /** Events were lost: nobody delivered them for longer than they are kept. At most so many. */
  missed?: Act<number>;
  jobs?: readonly Job[];
  webhooks?: readonly Webhook[];
  /** Before anything else; what it throws fails the start. */
  start?: (context: PluginContext) => void | Promise<void>;
  /** Throws what is wrong; without it the plugin is well as long as it answers. */
  health?: (context: PluginContext) => void | Promise<void>;
  /** The last thing, within 4 s. */
  stop?: (context: PluginContext) => void | Promise<void>;
}

/** A tool, with the input's type from its schema. The host checks the input; what `run` throws is the tool's error. */
export function tool<const S extends ObjectSchema>(
  of: Omit<Tool, 'input_schema' | 'run'> & { input_schema: S; run: Act<FromSchema<S>> },
): Tool {
  // The schema that types `run` is the one that the host checks the input by.
  return of;
}

/** A subscription: `issue.created`, `issue.*`, `*.created`, `*`. Events come in order, one at a time. */
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

/** As the host matches: a bare `*` is everything, else segments are as many and `*` is any one of them. */
export function matches(pattern: string, type: string): boolean {
  if (pattern === '*') return true;
  const [wanted, given] = [pattern.split('.'), type.split('.')];
  return wanted.length === given.length && wanted.every((word, at) => word === '*' || word === given[at]);
}
