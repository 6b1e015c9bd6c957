/**
 * Executes an agent's turn: a task in, a stream of events out. Knows no database, runs or verbs; interpreting the events is up
 * to the scheduler.
 */
export { AdapterError } from './adapter-error.ts';
export { labelledContainers, removeRunContainers } from './container/container-call.ts';
export { removeContainer } from './container/engine.ts';
export { runShell } from './process/run-shell.ts';
export { makeRunFolder } from './process/run-folder.ts';
export { startEgressProxy } from './sandbox/egress-proxy.ts';
export { routeOf } from './sandbox/route.ts';
export type { Route } from './sandbox/route.ts';
export { sweepRunFolders } from './process/run-folder.ts';
export { permissionsOf } from './cli/execute-cli.ts';
export { execute } from './execute.ts';
export { containerSpec } from './operator/container-spec.ts';
export { isCli, passedSecrets, programEnvironment } from './operator/environment.ts';
export { localSandbox } from './operator/local-sandbox.ts';
export { shutIn, type ShutInConfig } from './operator/sandbox-limits.ts';
export { Reach, refusalWords } from './sandbox/reach.ts';
export { fetchFor } from './operator/provider-fetch.ts';
export type { ReachConfig } from './operator/provider-fetch.ts';
export { secretsOf } from './operator/provider-secrets.ts';
export { inline, quoted } from './words/untrusted.ts';
export type { Tag } from './words/untrusted.ts';
export { embedTexts } from './llm/embed.ts';
export { takesImages } from './llm/sight.ts';
export { callLimit } from './llm/usage.ts';
export { ProcessorShare } from './process/processor-share.ts';
export { makeProgramGroup } from './process/program-group.ts';
export { tailOf } from './process/tail.ts';
export type { Tail } from './process/tail.ts';
export { memoryBytes, tooMuch, usageBelow } from './process/tree-usage.ts';
export { killMarked, markedProcesses } from './process/marked.ts';
export { fallbackModel } from './fallback-model.ts';
export { probeModels } from './probe-models.ts';
export { probeIdentity } from './probe-identity.ts';
export type { Probe } from './probed.ts';
export { visibleFiles } from './sandbox/visible-files.ts';
export { smokeTest } from './smoke-test.ts';
export type {
  AdapterEvent,
  AdapterTask,
  CliSession,
  ContainerSpec,
  ProgramSpec,
  ProviderSpec,
  SandboxSpec,
  SessionTotals,
  TaskImage,
  UsageEvent,
} from './task.ts';
