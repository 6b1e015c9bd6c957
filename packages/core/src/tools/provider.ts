import type { Actor, AgentPermission, LeastRole } from '@acp/contract';
import type { Tx } from '@acp/db';

/** A tool that callers of a company have. */
export interface Tool {
  /** Of a plugin, a server, a peer; empty for the service's own, which are called by their bare names. */
  namespace: string;
  /** 1 to 64 letters, digits, `_` and `-`, as is the namespace. */
  name: string;
  doc: string;
  /** JSON Schema of an object. Of outside providers it is hostile input, and compiled as such. */
  input_schema: Record<string, unknown>;
  role: LeastRole;
  /** Needed by agents only. */
  permission?: AgentPermission;
  /** Ids of the only agents that have it; absent: all of the company. People are not bound by it. */
  agents?: readonly string[];
  /** Changes nothing, also not at the provider: it may be asked twice. */
  read_only: boolean;
  /** In place of a check by `input_schema`, where the schema is the service's own and compiled already. */
  validate?: (input: unknown) => unknown;
}

/** Checked: the caller has the tool's rights, the input its shape. */
export interface ToolCall {
  company_id: string;
  actor: Actor;
  tool: Tool;
  input: unknown;
  /** The same for each attempt of one call: a provider that knows it does nothing twice. */
  call_id: string;
}

/**
 * Where tools come from: a row of the provider table. A call has two halves, of which a provider has one or both:
 * `prepare` talks to others and never holds a transaction; `commit` writes here, in the transaction that records the call.
 */
export interface ToolProvider {
  /** For the log. */
  name: string;
  /** Those of the company, from the database or from memory: asked at most once in a while, never slow. */
  list(tx: Tx, company_id: string): Promise<readonly Tool[]>;
  /** Whether it will soon have more of the company's tools than it lists: some are just being moved from place to place. */
  coming?(tx: Tx, company_id: string): Promise<boolean>;
  /**
   * The answer, or what `commit` makes it of; JSON, bounded by the provider. Stops when `signal` aborts: the run was
   * called off, or the time is over. Refuses by a ServiceError, whose message the caller reads.
   */
  prepare?(call: ToolCall, signal: AbortSignal): Promise<unknown>;
  /** Of `prepare`, in milliseconds; a minute unless told. */
  timeout_ms?: number;
  /** Without it what `prepare` came to is the answer. May be repeated after a rollback, `prepare` is not. */
  commit?(tx: Tx, call: ToolCall, prepared: unknown): Promise<unknown>;
}

/** Between a namespace and a name: the only separator that every client of MCP admits. */
const SEPARATOR = '__';

/** Whether it is one of an outside provider, there or not. */
export const isQualified = (name: string): boolean => name.includes(SEPARATOR);

/** What a tool is called by. */
export function qualifiedName({ namespace, name }: Pick<Tool, 'namespace' | 'name'>): string {
  return namespace === '' ? name : `${namespace}${SEPARATOR}${name}`;
}
