// The scheduler's half of the table of kinds (docs/adding-a-kind.md); a test compares it with core's.
import { chatReply, chatSummary } from './chat/index.ts';
import { councilTurn } from './council/index.ts';
import { compile } from './compile/index.ts';
import { evolutionStep } from './evolution/index.ts';
import type { ExecutionKind } from './execution-kind.ts';
import { findings } from './findings/index.ts';
import { heartbeat } from './heartbeat/index.ts';

const table = new Map<string, ExecutionKind>();

/** Adds a kind to the table, replacing one of the same name. */
function registerExecutionKind(kind: ExecutionKind): void {
  table.set(kind.name, kind);
}

for (const kind of [heartbeat, findings, chatReply, chatSummary, councilTurn, evolutionStep, compile])
  registerExecutionKind(kind);

export function kindOfRun(name: string): ExecutionKind {
  const kind = table.get(name);
  if (kind === undefined) throw new Error(`no executor for runs of the kind ${name}`);
  return kind;
}

export function executionKinds(): string[] {
  return [...table.keys()];
}
