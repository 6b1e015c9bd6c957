import { type Actor, LONGEST_SCHEMA, outsideValidator, requireRole } from '@acp/contract';
import type { Listener, Tx } from '@acp/db';
import { WILDCARD } from '@acp/db';
import { notFound, ServiceError } from '@acp/kernel';
import type { Logger } from '@acp/kernel';
import { builtInToolList, builtInTools } from './built-in-tools.ts';
import { isQualified, nameCalled, qualifiedName } from './provider.ts';
import type { Tool, ToolCall, ToolProvider } from './provider.ts';

/** A tool and its provider. */
interface FoundTool {
  tool: Tool;
  provider: ToolProvider;
}

type Named = ReadonlyMap<string, FoundTool>;

const TOOL_NAME = /^[\w-]{1,64}$/;
/** Maximum number of external tools per company, since all of them are in every prompt. */
const MOST_TOOLS = 200;
const LONGEST_DOC = 1000;
const MOST_COMPANIES = 200;
/** Fallback: changes are announced on the channel `tools`. */
const KEPT_MS = 60_000;
const KEPT_AFTER_FAILURE_MS = 5000;

const COMING_SEC = 2;

/** The tool does not exist now, but may in a moment: the caller should try again. */
export class ToolComing extends ServiceError {
  constructor() {
    super('unavailable', 'what may have this tool is just being started', { retry_after_sec: COMING_SEC });
  }
}

/** Everything a company's callers can call, from any provider. External tools are listed and compiled once per company. */
export class ToolRegistry {
  readonly #builtIn: Named;
  readonly #outside: readonly ToolProvider[];
  readonly #logger: Logger;
  /** Least recently used first, for eviction. */
  readonly #companies = new Map<string, { found: Promise<Named>; until: number }>();

  /**
   * @param outside providers besides the service's own; of two tools with the same name the first counts.
   * @param search answers `search_knowledge` where more than full-text search is available
   */
  constructor(outside: readonly ToolProvider[], logger: Logger, search?: ToolProvider) {
    this.#outside = outside;
    this.#logger = logger;
    const searching = builtInToolList.filter(({ name }) => name === 'search_knowledge');
    this.#builtIn = new Map([
      ...named(builtInTools, builtInToolList),
      ...(search === undefined ? [] : named(search, searching)),
    ]);
  }

  /** Drops what other processes report as changed. Returns the unsubscribe function. */
  listenTo(listener: Listener): () => void {
    const offItems = listener.on('tools', (companies) => this.forget(companies));
    const offReconnect = listener.onReconnect(() => this.forget([WILDCARD]));
    return () => {
      offItems();
      offReconnect();
    };
  }

  /** @param companies whose providers' tools have changed; `*`: all. */
  forget(companies: readonly string[]): void {
    if (companies.includes(WILDCARD)) this.#companies.clear();
    for (const id of companies) this.#companies.delete(id);
  }

  /** The actor's tools, without the service's own. */
  async outside(tx: Tx, company_id: string, actor: Actor): Promise<Tool[]> {
    const found = await this.#ofCompany(tx, company_id);
    return [...found.values()].map(({ tool }) => tool).filter((tool) => has(actor, tool));
  }

  /**
   * Checks a call: rights first, then the input.
   * @throws notFound for an unknown tool, ToolComing for one that may appear soon, forbidden, invalid for bad input
   */
  async resolve(
    tx: Tx,
    caller: Omit<ToolCall, 'tool' | 'input'>,
    called: string,
    input: unknown,
  ): Promise<{ call: ToolCall; provider: ToolProvider }> {
    const name = nameCalled(called);
    const found = this.#builtIn.get(name) ?? (await this.#ofCompany(tx, caller.company_id)).get(name);
    if (found === undefined && isQualified(name) && (await this.#isComing(tx, caller.company_id)))
      throw new ToolComing();
    if (found === undefined || !has(caller.actor, found.tool))
      throw notFound(`there is no tool ${JSON.stringify(name.slice(0, 200))}`);
    const { tool, provider } = found;
    requireRole(tool, caller.actor, caller.company_id);
    const checked = tool.validate === undefined ? input : tool.validate(input);
    return { call: { ...caller, tool, input: checked }, provider };
  }

  /** A plugin's tools are unknown until it runs. */
  async #isComing(tx: Tx, company_id: string): Promise<boolean> {
    for (const provider of this.#outside) if (await provider.coming?.(tx, company_id)) return true;
    return false;
  }

  async #ofCompany(tx: Tx, company_id: string): Promise<Named> {
    if (this.#outside.length === 0) return new Map();
    const known = this.#companies.get(company_id);
    if (known !== undefined && performance.now() < known.until) {
      this.#companies.delete(company_id);
      this.#companies.set(company_id, known);
      return known.found;
    }
    const entry = { found: this.#list(tx, company_id, () => (entry.until = refreshAt())), until: Infinity };
    entry.until = performance.now() + KEPT_MS;
    this.#companies.set(company_id, entry);
    const [oldest] = this.#companies.keys();
    if (this.#companies.size > MOST_COMPANIES && oldest !== undefined) this.#companies.delete(oldest);
    return entry.found;
  }

  /** A failing provider has no tools for a while; the others keep theirs. */
  async #list(tx: Tx, company_id: string, onFailure: () => void): Promise<Named> {
    const all = new Map<string, FoundTool>();
    for (const provider of this.#outside) {
      try {
        const tools = await provider.list(tx, company_id);
        const usable = tools.filter(isUsable).slice(0, MOST_TOOLS - all.size);
        if (usable.length < tools.length)
          this.#logger.warn('tools were left out', {
            provider: provider.name,
            company_id,
            left_out: tools.length - usable.length,
          });
        for (const [name, found] of named(
          provider,
          usable.map((tool) => guarded(company_id, tool)),
        ))
          if (!all.has(name)) all.set(name, found);
      } catch (error) {
        this.#logger.warn('a provider of tools failed', { provider: provider.name, company_id, error });
        onFailure();
      }
    }
    return all;
  }
}

function has(actor: Actor, { agents }: Tool): boolean {
  return agents === undefined || actor.kind !== 'agent' || agents.includes(actor.agent_id);
}

function refreshAt(): number {
  return performance.now() + KEPT_AFTER_FAILURE_MS;
}

/** Of two tools with the same name the first counts. */
function named(provider: ToolProvider, tools: readonly Tool[]): Named {
  const found = new Map<string, FoundTool>();
  for (const tool of tools) {
    const name = qualifiedName(tool);
    if (!found.has(name)) found.set(name, { tool, provider });
  }
  return found;
}

/** Only the service's own tools have no namespace; no one else may impersonate them. */
function isUsable({ namespace, name, input_schema }: Tool): boolean {
  if (!TOOL_NAME.test(namespace) || !TOOL_NAME.test(name)) return false;
  try {
    return JSON.stringify(input_schema).length <= LONGEST_SCHEMA;
  } catch {
    return false;
  }
}

function guarded(owner: string, tool: Tool): Tool {
  const doc = tool.doc.slice(0, LONGEST_DOC).toWellFormed();
  return { ...tool, doc, validate: tool.validate ?? outsideValidator(tool.input_schema, { owner }) };
}
