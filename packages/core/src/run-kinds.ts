// The table of kinds, installed when the package is loaded. A kind is a row here and in the scheduler
// (docs/adding-a-kind.md); a test compares the two.
import { chatReplyKind, chatSummaryKind } from './chats/index.ts';
import { councilTurnKind } from './councils/index.ts';
import { compileKind } from './compiled-index/index.ts';
import { evolutionStepKind } from './evolutions/index.ts';
import { findingsKind, heartbeatKind } from './heartbeats/index.ts';
import { registerRunKind, type RunKind } from './runs/index.ts';

export const kindTable: readonly RunKind[] = [
  heartbeatKind,
  findingsKind,
  chatReplyKind,
  chatSummaryKind,
  councilTurnKind,
  evolutionStepKind,
  compileKind,
];

for (const kind of kindTable) registerRunKind(kind);
