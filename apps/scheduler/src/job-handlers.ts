import { jobNames } from '@acp/contract';
import type { JobName } from '@acp/contract';
import { keyLedger } from '@acp/core';
import type { ConsumeOptions, JobHandler } from '@acp/queue';
import { FileStore } from '@acp/storage';
import type { SchedulerContext } from './context.ts';
import { actOnWorkspaceJob } from './jobs/act-on-workspace.ts';
import { advanceCouncilJob } from './jobs/advance-council.ts';
import { advanceCompileJob } from './jobs/advance-compile.ts';
import { advanceEvolutionJob } from './jobs/advance-evolution.ts';
import { answerPasswordResetJob } from './jobs/answer-password-reset.ts';
import { applyApprovalJob } from './jobs/apply-approval.ts';
import { applyRemoteResultJob } from './jobs/apply-remote-result.ts';
import { dispatchAgentJob } from './jobs/dispatch-agent.ts';
import { executeRunJob } from './jobs/execute-run.ts';
import { extractTextJob } from './jobs/extract-text.ts';
import { commandHandlers } from './jobs/run-command.ts';
import { lookAtPullRequestJob } from './jobs/look-at-pull-request.ts';
import { settleAgentJob } from './jobs/settle-agent.ts';
import { settleBudgetsJob } from './jobs/settle-budgets.ts';
import { settleCompanyJob } from './jobs/settle-company.ts';
import { settleIssueJob } from './jobs/settle-issue.ts';
import { settleSubagentsJob } from './jobs/settle-subagents.ts';
import { wakeSnoozedJob } from './jobs/wake-snoozed.ts';

type Register = (context: SchedulerContext) => void;

function consumer<N extends JobName>(
  job: N,
  make: (context: SchedulerContext) => JobHandler<N>,
  options: (context: SchedulerContext) => ConsumeOptions,
): Register {
  return (context) => {
    const handle = make(context);
    context.counters.declare(job, null);
    context.queue.consume(job, options(context), async (payload, job_context) =>
      context.counters.count(job, async () => handle(payload, job_context)),
    );
  };
}

const few = () => ({ concurrency: 2 });

/** One for each row of the job catalogue: the type enforces it, and a test checks the files. */
export const jobHandlers: Readonly<Record<JobName, Register>> = {
  'dispatch-agent': consumer('dispatch-agent', dispatchAgentJob, () => ({ concurrency: 4 })),
  // Claims take milliseconds and slots belong to the pool: never fetches more jobs than runs can start.
  'execute-run': consumer('execute-run', executeRunJob, ({ pool }) => ({
    concurrency: pool.size,
    slots: () => pool.free(),
  })),
  'settle-agent': consumer('settle-agent', settleAgentJob, few),
  'settle-issue': consumer('settle-issue', settleIssueJob, few),
  'wake-snoozed': consumer('wake-snoozed', wakeSnoozedJob, few),
  'settle-company': consumer('settle-company', settleCompanyJob, few),
  'settle-budgets': consumer('settle-budgets', settleBudgetsJob, few),
  'advance-council': consumer('advance-council', advanceCouncilJob, few),
  'advance-compile': consumer('advance-compile', advanceCompileJob, few),
  'advance-evolution': consumer('advance-evolution', advanceEvolutionJob, few),
  'settle-subagents': consumer('settle-subagents', settleSubagentsJob, few),
  // Each company has two at most (`claimWorkspaceAction`).
  'act-on-workspace': consumer('act-on-workspace', actOnWorkspaceJob, () => ({ concurrency: 6 })),
  'look-at-pull-request': consumer('look-at-pull-request', lookAtPullRequestJob, few),
  'answer-password-reset': consumer('answer-password-reset', answerPasswordResetJob, few),
  'apply-approval': consumer('apply-approval', applyApprovalJob, few),
  // Each runs in a process of its own: a second one can overtake a slow file, and the rest of the machine is for the runs.
  'extract-text': consumer('extract-text', extractTextJob, few),
  // Calls no model: the time is spent on the verbs' statements.
  'apply-remote-result': consumer('apply-remote-result', applyRemoteResultJob, () => ({ concurrency: 4 })),
  'run-command': (context) =>
    context.queue.serveCommands({
      handlers: commandHandlers(context),
      leases: () => [...context.plugins.leases(), ...context.mcp_servers.leases()],
      bodies: new FileStore({ ...context, ledger: keyLedger(context.database.db) }).passing('commands'),
    }),
};

export function registerJobs(context: SchedulerContext): void {
  for (const name of jobNames) jobHandlers[name](context);
}
