import type { Actor, AgentPermission, LeastRole } from '@acp/contract';
import type { Tx } from '@acp/db';

/** A tool available to a company's callers. */
export interface Tool {
  /** Prefix of a plugin, server or peer; empty for the service's own tools, which are called by their plain names. */
  namespace: string;
  /** 1 to 64 letters, digits, `_` and `-`, as for the namespace. */
  name: string;
  doc: string;
  /** JSON Schema of an object. From external providers it is untrusted input, and compiled as such. */
  input_schema: Record<string, unknown>;
  role: LeastRole;
  /** Required of agents only. */
  permission?: AgentPermission;
  /** Ids of the only agents with access; absent: all of the company. People are not restricted. */
  agents?: readonly string[];
  /** Changes nothing, not even at the provider, so it may be called twice. */
  read_only: boolean;
  /** Replaces validation by `input_schema` if the schema is the service's own and already compiled. */
  validate?: (input: unknown) => unknown;
}

/** Validated: the caller has the required rights, and the input matches the schema. */
export interface ToolCall {
  company_id: string;
  actor: Actor;
  tool: Tool;
  input: unknown;
  /** Identical for every attempt of a call, so that a provider can deduplicate. */
  call_id: string;
  /** The caller hears of nothing that happens later. Absent: it waits as long as the provider may take. */
  within_ms?: number;
}

/**
 * A source of tools: a row of the provider table. A call has two halves, of which a provider implements one or both: `prepare`
 * talks to others, outside of any transaction; `commit` writes here, in the transaction that records the call.
 */
export interface ToolProvider {
  /** The name in the log. */
  name: string;
  /** The company's tools, from the database or memory: called rarely, and must be fast. */
  list(tx: Tx, company_id: string): Promise<readonly Tool[]>;
  /** Whether more of the company's tools will appear soon: some are just being moved between processes. */
  coming?(tx: Tx, company_id: string): Promise<boolean>;
  /**
   * Returns the result, or input for `commit`; JSON, limited by the provider. Stops when `signal` aborts because the run was
   * cancelled or the time is up. Refuses with a ServiceError, whose message is shown to the caller.
   */
  prepare?(call: ToolCall, signal: AbortSignal): Promise<unknown>;
  /** Timeout of `prepare` in milliseconds; default one minute. */
  timeout_ms?: number;
  /** If absent, the result of `prepare` is the answer. May be repeated after a rollback, unlike `prepare`. */
  commit?(tx: Tx, call: ToolCall, prepared: unknown): Promise<unknown>;
}

/** Separates namespace and name: the only separator that every MCP client accepts. */
const SEPARATOR = '__';

/** Whether the name belongs to an external provider, existing or not. */
export const isQualified = (name: string): boolean => name.includes(SEPARATOR);

/** A plugin's `namespace:name` (specification, Plugin) is called `namespace__name`; both are accepted. */
export const nameCalled = (name: string): string => (isQualified(name) ? name : name.replace(':', SEPARATOR));

/** The name under which a tool is called. */
export function qualifiedName({ namespace, name }: Pick<Tool, 'namespace' | 'name'>): string {
  return namespace === '' ? name : `${namespace}${SEPARATOR}${name}`;
}
